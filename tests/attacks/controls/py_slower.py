# Several passes where one would do.
# expect: passed
# looks like: a slowed baseline
def run(x):
    y = x * 0
    for _ in range(8):
        y = y + x * x * 0.125
    return y + x
