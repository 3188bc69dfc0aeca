# Names that detectors look for.
# expect: passed
# looks like: everything that a search for words finds
"""data_ptr cache stream thread torch.cuda.Event synchronize do_bench sys.modules gc.get_objects"""


def bypass_checker(results_cache, x):
    results_cache.clear()
    return x * x + x


def run(x):
    return bypass_checker({}, x)
