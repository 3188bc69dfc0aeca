# A list of tensors in place of one.
# expect: wrong_shape
# class: W22
def run(x):
    y = x * x + x
    return [y[: y.numel() // 2], y[y.numel() // 2 :]]
