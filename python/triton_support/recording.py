# What a candidate's host code does to a GPU: allocations, fills, copies and launches, in order. All else is refused by name.
import sys

import torch

import loading
from dispatch_mode import DispatchMode

from . import copy_kernels, decoys, packing

MAX_STEPS = 4096

# Operators that make memory, and the value that they fill it with: a number, or the place of an argument.
_MAKERS = {
    "empty": None, "empty_like": None, "new_empty": None, "empty_strided": None, "new_empty_strided": None,
    "zeros": 0, "zeros_like": 0, "new_zeros": 0, "ones": 1, "ones_like": 1, "new_ones": 1,
}  # fmt: skip
_FULL = {"full": 1, "full_like": 1, "new_full": 2}  # name -> the argument that is the value
_VIEWS = {"_unsafe_view", "lift_fresh", "lift"}  # of these the schemas do not say that they are
_SCRATCH_ALIGNMENT = 512  # what torch's allocator gives
_READERS = ("tolist", "numpy", "__array__", "__dlpack__")  # torch's ways around operators


class NotReplayable(BaseException):
    """Host code did what no launch plan can do; the text names it. Not to be caught by `except Exception`."""


class Loaded:
    """A compiled kernel, as Triton's driver would have loaded it."""

    def __init__(self, name, binary):
        self.name, self.binary = name, binary


class Recording(DispatchMode):
    """All of one process. phase: raised by the caller; steps: those of the phase.

    A step is ("launch", Loaded, part of the plan), ("fill", ...) or ("copy", ...); the memory in it is (region, offset).
    """

    def __init__(self, is_trial):
        """is_trial(): what happens now is an autotuner's, and no part of the call."""
        super().__init__()
        self.memory = decoys.Memory()
        self.phase = 0
        self.steps = []
        self.refusal = None
        self._is_trial = is_trial
        self._shift = 0
        _cover_reads(self)

    def begin(self, phase):
        """Starts a phase; its regions lie at other distances from their pages' starts than those before."""
        self.phase, self.steps = phase, []
        self.memory.begin_phase()
        self._shift += 1

    def tensor(self, kind, index, dtype, shape):
        """A contiguous tensor of the signature, in memory of its own."""
        twin = torch.empty(shape, dtype=dtype, device="meta")
        return self._over(twin, kind, index, 64 * self._shift)

    def refuse(self, what):
        """Raises NotReplayable. Host code that catches it does not undo it."""
        if self.refusal is None:
            self.refusal = what + _place()
        raise NotReplayable(self.refusal)

    # ---- torch's operators

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        space, _, name = function._schema.name.partition("::")
        if space != "aten":
            self.refuse(f"{function._schema.name} is an operator of its own")
        if name in _MAKERS:
            return self._make(function, args, kwargs, _MAKERS[name])
        if name in _FULL:
            return self._make(function, args, kwargs, args[_FULL[name]])
        if name == "zero_":
            return self._fill(args[0], 0)
        if name == "fill_":
            return self._fill(args[0], self._number(args[1], name))
        if name == "copy_":
            return self._copy(args[0], args[1])
        if name in ("clone", "_to_copy"):
            return self._clone(function, args[0], kwargs)
        if name in _VIEWS or _is_view(function._schema):
            return function(*args, **kwargs)
        if name in ("_local_scalar_dense", "is_nonzero", "equal"):
            self.refuse(f"{name.strip('_')} reads a value")
        self.refuse(f"aten.{name} computes outside of kernels")

    def _make(self, function, args, kwargs, value):
        kwargs = {key: item for key, item in kwargs.items() if key != "pin_memory"}
        made = self._over(function(*args, **{**kwargs, "device": "meta"}), "scratch", 0, _SCRATCH_ALIGNMENT * self._shift)
        return made if value is None else self._fill(made, self._number(value, "full"))

    def _over(self, twin, kind, index, shift):
        """A decoy of the form of a tensor without memory."""
        size = twin.untyped_storage().nbytes()
        region = self.memory.make(kind, index, size, self.phase, shift % 4096)
        return decoys.tensor_over(region, twin.dtype, tuple(twin.size()), twin.stride())

    def _number(self, value, name):
        if not isinstance(value, torch.Tensor):
            return value
        if self._is_decoy(value) or value.numel() != 1:
            self.refuse(f"{name} takes its value from a tensor")
        return value.item()

    def _fill(self, tensor, value):
        if tensor.numel() == 0 or self._is_trial():
            return tensor
        region, offset = to = self._target(tensor, "a fill")
        pattern = _pattern(tensor.dtype, value)
        if pattern is None or not decoys.is_dense(tensor):
            exact = tensor.dtype != torch.float64 or torch.tensor(value, dtype=torch.float32).item() == value
            if not exact or not copy_kernels.fill(tensor, value):
                self.refuse(f"a fill of {tensor.dtype} with {value}")
            region.state = "written"
            return tensor
        fill = {"bytes": decoys.bytes_of(tensor), "width": len(pattern), "value": int.from_bytes(pattern, "little")}
        whole = offset == 0 and fill["bytes"] == region.size
        region.state = "zeroed" if whole and fill["value"] == 0 else "written"
        self._add(("fill", to, fill))
        return tensor

    def _copy(self, to, source):
        if to.numel() == 0 or self._is_trial():
            return to
        if not self._is_decoy(source) and source.numel() == 1:
            return self._fill(to, source.item())
        target = self._target(to, "a copy")
        source = source.expand(to.shape)
        if to.dtype == source.dtype and _same_layout(to, source) and decoys.is_dense(to):
            self._add(("copy", self.place(source), target, {"bytes": decoys.bytes_of(to)}))
        elif to.dtype.is_complex or source.dtype.is_complex or not copy_kernels.copy(to, source):
            self.refuse(f"a copy of {source.dim()} dimensions of {source.dtype} to {to.dtype}")
        target[0].state = "written"
        return to

    def _clone(self, function, source, kwargs):
        twin = torch.empty_strided(source.size(), source.stride(), dtype=source.dtype, device="meta")
        kwargs = {key: item for key, item in kwargs.items() if key not in ("device", "pin_memory", "non_blocking")}
        made = self._over(function(twin, **kwargs), "scratch", 0, _SCRATCH_ALIGNMENT * self._shift)
        return self._copy(made, source)

    def _target(self, tensor, what):
        region, offset = self.place(tensor)
        if region.kind not in ("output", "scratch"):
            self.refuse(f"{what} writes to {_named(region)}")
        return region, offset

    # ---- memory

    def place(self, value):
        """(region, offset) of a tensor or anything else that has a data_ptr; (None, 0) of a null pointer."""
        address = 0 if value is None else value if isinstance(value, int) else value.data_ptr()
        if address == 0:
            return None, 0
        found = self.memory.find(address)
        if found is not None:
            return found
        if not isinstance(value, torch.Tensor):
            value = getattr(value, "base", None)
        if not isinstance(value, torch.Tensor) or not decoys.is_on_host(value):
            self.refuse("a kernel gets an address that is no tensor's")
        region = self.memory.constant(value, self.phase)
        return region, address - region.address

    def _is_decoy(self, tensor):
        found = self.memory.find(tensor.data_ptr())
        return found is not None and found[0].kind != "constant"

    # ---- launches

    def launch(self, loaded, metadata, kinds, grid, values):
        if self._is_trial():
            return
        programs = grid[0] * grid[1] * grid[2]
        try:
            given = packing.arguments(kinds, values, metadata, programs, lambda value: {"memory": self.place(value)})
        except packing.CannotPack as reason:
            self.refuse(f"{loaded.name}: {reason}")
        if programs > 0:
            for number, argument in enumerate(given):
                region = argument.get("tensor_map", argument).get("memory", (None, 0))[0]
                if region is not None:
                    region.touches.setdefault(self.phase, set()).add((loaded.name, number))
            self._add(("launch", loaded, packing.launch(metadata, grid, given)))

    def _add(self, step):
        if len(self.steps) == MAX_STEPS:
            self.refuse(f"a call has more than {MAX_STEPS} launches, fills and copies")
        self.steps.append(step)

    def launcher(self):
        """The class that Triton makes launchers of."""
        recording = self

        class Launcher:
            def __init__(self, source, metadata):
                self._kinds, self._metadata = list(source.signature.values()), metadata

            def __call__(self, x, y, z, stream, function, packed, about, enter, leave, *values):
                if not recording.is_on:
                    recording.refuse(f"{function.name} is launched before the first call")
                recording.launch(function, self._metadata, self._kinds, (x, y, z), values)

        return Launcher

    is_on = False

    def start(self):
        """For the rest of the process's life."""
        self.is_on = True
        self.__enter__()


def _is_view(schema):
    """Whether all results share an argument's memory, which is not written."""
    infos = [result.alias_info for result in schema.returns]
    return bool(infos) and all(info is not None and not info.is_write for info in infos)


def _pattern(dtype, value):
    """1, 2 or 4 bytes that fill memory with the value; None where more are needed."""
    pattern = bytes(torch.tensor([value], dtype=dtype).view(torch.uint8).tolist())
    for width in (1, 2, 4):
        if len(pattern) % width == 0 and pattern == pattern[:width] * (len(pattern) // width):
            return pattern[:width]
    return None


def _same_layout(a, b):
    return all(size == 1 or first == second for size, first, second in zip(a.shape, a.stride(), b.stride()))


def _named(region):
    return {"input": "an input", "static": "a static", "constant": "a tensor that was made before the call"}[region.kind]


def _place():
    """Where in the candidate's files this is: " (k.py:12)"."""
    frame = sys._getframe()
    while frame is not None:
        if loading.is_loaded(frame.f_code.co_filename):
            return f" ({loading.name_of(frame.f_code.co_filename)}:{frame.f_lineno})"
        frame = frame.f_back
    return ""


def _cover_reads(recording):
    def cover(name, real):
        def read(tensor, *args, **kwargs):
            if recording._is_decoy(tensor):
                recording.refuse(f"{name} reads values")
            return real(tensor, *args, **kwargs)

        setattr(torch.Tensor, name, read)

    for name in _READERS:
        cover(name, getattr(torch.Tensor, name))
