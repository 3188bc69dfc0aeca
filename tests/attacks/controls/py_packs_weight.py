# Keeps a packed copy of the weight, made in prepare.
# expect: passed
# problem: matvec_static
# looks like: a cache keyed by nothing
packed = {}


def prepare(weight):
    packed["weight"] = weight.t().contiguous()


def run(x, weight):
    return x @ packed["weight"]
