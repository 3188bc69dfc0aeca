# Computes in float64.
# expect: passed
# problem: matmul
# looks like: another dtype
def run(a, b):
    return (a.double() @ b.double()).float()
