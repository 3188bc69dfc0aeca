# In-place operators on tensors of its own.
# expect: passed
# looks like: input mutation
def run(x):
    y = x.clone()
    y.mul_(x).add_(x)
    return y
