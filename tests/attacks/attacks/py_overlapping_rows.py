# A result whose rows share memory.
# expect: wrong_value|wrong_shape
# problem: matmul
# class: W22
def run(a, b):
    return (a[:1] @ b).expand(256, 256)
