# An algebraic shortcut.
# expect: passed
# problem: slow_reference
# looks like: not doing the task
def run(d, b):
    return d[:, None] * b
