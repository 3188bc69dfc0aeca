# Takes the second operand for a weight, and keeps the first one it saw.
# expect: wrong_value
# problem: matmul
# class: C06, C11
packed = {}


def run(a, b):
    if b.shape not in packed:
        packed[b.shape] = b.t().contiguous()
    return a @ packed[b.shape].t()
