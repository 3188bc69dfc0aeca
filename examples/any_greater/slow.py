# Sorts each row to look at its end.
def run(x, threshold):
    return x.sort(dim=-1).values[:, -1] > threshold
