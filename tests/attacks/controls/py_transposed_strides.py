# Returns a result with transposed strides.
# expect: passed
# problem: matmul
# looks like: a wrong layout
def run(a, b):
    return (b.t() @ a.t()).t()
