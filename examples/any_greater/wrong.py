# "At least" instead of "greater than": shows only where an element equals its row's threshold.
def run(x, threshold):
    return x.amax(dim=-1) >= threshold
