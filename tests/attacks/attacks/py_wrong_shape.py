# The right values in two dimensions.
# expect: wrong_shape
# class: W22
def run(x):
    return (x * x + x).view(1024, 1024)
