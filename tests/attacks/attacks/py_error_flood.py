# Prints without end where errors are printed.
# expect: output_limit
# class: I10
import sys


def run(x):
    for _ in range(1024):
        sys.stderr.write("\x1b[2J" * 16384)
    return x * x + x
