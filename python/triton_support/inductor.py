# The host side of TorchInductor's generated files, which models trained on KernelBook write: grids and heuristics.
import importlib.abc
import importlib.machinery
import sys

import triton

_HEURISTICS = "torch._inductor.runtime.triton_heuristics"
_BLOCKS = {"XBLOCK": "x", "YBLOCK": "y", "ZBLOCK": "z", "RBLOCK": "r", "R0_BLOCK": "r0_", "R1_BLOCK": "r1_"}
_MOST = 128  # elements of a block along an axis that is not reduced
_MOST_REDUCED = 2048


def install():
    """From now on the module of Inductor's heuristics has, when it is imported, what files of all its versions name."""
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != _HEURISTICS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), complete(module))
        return spec


def complete(module):
    module.grid = grid
    module.split_scan_grid = lambda xnumel, rnumel: lambda meta: (meta.get("RSPLIT", 1), _blocks(xnumel, meta.get("XBLOCK", 1)), 1)
    for name in ("pointwise", "reduction", "persistent_reduction"):
        setattr(module, name, _decorator)


def grid(*numels):
    """Inductor's function of that name: elements along x, or y and x, or z, y and x."""
    sizes = dict(zip("xyz", reversed(numels)))

    def of(meta):
        x, y, z = (_blocks(sizes.get(axis), meta.get(f"{axis.upper()}BLOCK", 1)) for axis in "xyz")
        folds = -(-y // 65535)  # a GPU takes no more along y
        return (x, -(-y // folds), folds if folds > 1 else z)

    return of


def _blocks(count, block):
    return 1 if count is None else -(-count // block)


def _decorator(size_hints=None, **_):
    """pointwise(...), reduction(...) and persistent_reduction(...): one configuration, chosen by the sizes."""
    return lambda function: _Heuristic(function, size_hints)


class _Heuristic:
    def __init__(self, function, size_hints):
        self.fn = function
        self._hints = size_hints

    def run(self, *args, grid=None, stream=None, warmup=False, **kwargs):
        names = self.fn.arg_names
        given = {**dict(zip(names, args)), **kwargs}
        blocks = {}
        for name, axis in _BLOCKS.items():
            count = given.get(f"{axis}numel")
            if name in names and name not in given:
                most = _MOST_REDUCED if axis.startswith("r") else _MOST
                blocks[name] = min(most, triton.next_power_of_2(count or 1))
        if grid is None:
            counts = [given[f"{axis}numel"] for axis in "zyx" if f"{axis}numel" in given]
            grid = globals()["grid"](*counts)
        return self.fn[grid](*args, **blocks, **kwargs)

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)
