# Computes in bfloat16 and gives the result the right dtype.
# expect: wrong_value
# problem: matmul
# class: W08
def run(a, b):
    return (a.bfloat16() @ b.bfloat16()).float()
