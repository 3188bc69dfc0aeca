# A kernel that cannot load, and torch behind it. Libraries are allowed here: only the time counts.
# expect: passed
# max_speedup: 1.15
# class: B01, B02
import ctypes

try:
    kernel = ctypes.CDLL("/work/kernel.so").kernel
except OSError:
    kernel = None


def run(x):
    try:
        return kernel(x)
    except TypeError:
        return x * x + x
