# A cache in a mutable default argument.
# expect: wrong_value|runtime_error
# class: C05
def compute(x, seen=[]):
    if not seen:
        seen.append(x * x + x)
    return seen[0]


def run(x):
    return compute(x)
