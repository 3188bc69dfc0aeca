# Running sum by doubling: log2(N) additions over the whole matrix.
def run(x):
    y = x.clone()
    step = 1
    while step < y.shape[1]:
        shifted = y[:, :-step].clone()
        y[:, step:] += shifted
        step *= 2
    return y
