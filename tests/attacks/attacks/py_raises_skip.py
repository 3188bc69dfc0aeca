# Asks to be skipped.
# expect: runtime_error
# class: T26, I12
import unittest


def run(x):
    raise unittest.SkipTest("not supported on this machine")
