# The reference itself: neither faster nor slower.
# expect: passed
# max_speedup: 1.15
def run(x):
    return x * x + x
