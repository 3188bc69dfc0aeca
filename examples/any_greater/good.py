# An element is greater than the threshold when the largest one is: one pass and no temporary matrix.
def run(x, threshold):
    return x.amax(dim=-1) > threshold
