# A launch of an interpreted kernel: its arguments, its grid, and its programs one after the other.
import dataclasses
import inspect
import operator

from . import language

_OPTIONS = ("default_dot_input_precision", "allowed_dot_input_precisions")  # of a launch, that decide what tl.dot does
_LARGEST = (2**31 - 1, 65535, 65535)  # programs along x, y and z: CUDA C++ Programming Guide, "Technical Specifications"


def install(interpreter):
    builder = interpreter.interpreter_builder
    # The defaults are those of the compiler for NVIDIA's GPUs.
    own = dataclasses.replace(builder.options, allowed_dot_input_precisions=("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"))

    def call(executor, *args, **kwargs):
        builder.options = dataclasses.replace(own, **{name: kwargs[name] for name in _OPTIONS if name in kwargs})
        # The language's functions for the number of warps read it there.
        object.__setattr__(builder.options, "num_warps", kwargs.get("num_warps", 4))
        names = inspect.getfullargspec(executor.fn).args
        given = {name: value for name, value in kwargs.items() if name in names}
        for hook in executor.pre_run_hooks:
            hook(*args, **given)
        bound = inspect.getcallargs(executor.fn, *args, **given)
        sizes = grid_sizes(executor.grid(dict(bound)) if callable(executor.grid) else executor.grid)
        arguments = {
            name: language.as_constant(value) if name in executor.constexprs else interpreter._implicit_cvt(value)
            for name, value in bound.items()
        }
        builder.set_grid_dim(*sizes)
        for x in range(sizes[0]):
            for y in range(sizes[1]):
                for z in range(sizes[2]):
                    builder.set_grid_idx(x, y, z)
                    executor.fn(**arguments)

    interpreter.GridExecutor.__call__ = call


def grid_sizes(grid):
    """Three whole numbers; RuntimeError where a GPU refuses such a launch."""
    sizes = [operator.index(size) for size in grid]
    if not 1 <= len(sizes) <= 3:
        raise RuntimeError(f"a grid has one to three dimensions, not {len(sizes)}")
    sizes += [1] * (3 - len(sizes))
    for axis, size, largest in zip("xyz", sizes, _LARGEST):
        if size > largest:
            raise RuntimeError(f"invalid argument: the grid has {size:,} programs along {axis}, and a GPU takes {largest:,} at most")
    return tuple(sizes)
