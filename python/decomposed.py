# Operators as torch decomposes them into smaller ones.
import functools
import types


def _enclosed_by(function):
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            pass  # it is not set yet


def _spare_dynamo(functions):
    """Lets what torch wraps against torch.compile, within these functions, run as it is: the wrapper would import torch.compile's modules at its first call,
    which takes 4 s in each process."""
    left, seen = list(functions), set()
    while left:
        function = left.pop()
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        function.__dict__.setdefault("__dynamo_disable", function)  # what torch._disable_dynamo keeps there
        left += _enclosed_by(function)


def _functions_of_torch(table):
    import torch
    from torch._decomp import decompositions
    from torch._library import custom_ops

    refs = torch._refs
    modules = (refs, refs.nn.functional, refs.special, refs.linalg, refs.fft, torch._prims, decompositions)
    functions = [*table.values(), *(value for module in modules for value in vars(module).values())]
    for operator in list(custom_ops.OPDEFS.values()):  # refs are made of such
        functions += operator._backend_fns.values()
    return functions


@functools.cache
def _table():
    from torch._decomp import decomposition_table

    try:
        _spare_dynamo(_functions_of_torch(decomposition_table))
    except (AttributeError, ImportError):
        pass  # a torch without these names imports what it likes
    return decomposition_table


def decomposition_of(function):
    """A callable with the arguments of this overload, which may return NotImplemented; None: torch knows none."""
    return _table().get(function)
