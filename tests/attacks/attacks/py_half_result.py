# The result in half precision, which comparisons would promote.
# expect: wrong_dtype
# class: W22, W08
def run(x):
    return (x * x + x).half()
