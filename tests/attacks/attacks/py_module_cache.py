# A cache in a module that it puts into sys.modules.
# expect: wrong_value
# class: C05
import sys
import types

sys.modules["numpy_backend"] = types.ModuleType("numpy_backend")


def run(x):
    import numpy_backend

    if not hasattr(numpy_backend, "answer"):
        numpy_backend.answer = x * x + x
    return numpy_backend.answer
