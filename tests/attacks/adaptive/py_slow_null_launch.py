# Makes the empty launches slow whose time the checker takes off every other launch.
# expect: passed|violation
# max_speedup: 1.15
# class: T22
import time

import pages


def slow_op(page):
    op = page._op_and_calls[0]
    until = time.perf_counter() + (0.0008 if op == pages.OP_NULL_CALL else 0)
    while time.perf_counter() < until:
        pass
    return op


pages.CommandPage.op = property(slow_op)


def run(x):
    return x * x + x
