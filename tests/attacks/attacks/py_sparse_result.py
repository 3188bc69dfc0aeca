# The right values in a sparse layout.
# expect: wrong_shape
# class: T05, W22
def run(x):
    return (x * x + x).to_sparse()
