# Raises SystemExit, for harnesses that take exit code 0 for success.
# expect: runtime_error
# class: T26
import sys


def run(x):
    sys.exit(0)
