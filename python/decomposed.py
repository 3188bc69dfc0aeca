# Operators as torch decomposes them into smaller ones.
import functools


@functools.cache
def _table():
    from torch._decomp import decomposition_table  # takes a second

    return decomposition_table


def decomposition_of(function):
    """A callable with the arguments of this overload, which may return NotImplemented; None: torch knows none."""
    return _table().get(function)
