# What a candidate computes outside its kernels: torch operators, and the ways by which tensors leave torch.
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import failures

# Operators that allocate, fill with a constant, look at the same memory in another way, or copy it unchanged.
_FREE = frozenset(
    """empty empty_like empty_strided empty_permuted new_empty new_empty_strided
    zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full fill_ fill zero_ zero
    arange scalar_tensor lift_fresh lift_fresh_copy lift resize_ set_
    view _unsafe_view view_as _reshape_alias reshape as_strided as_strided_ transpose transpose_ t t_ numpy_T permute
    expand expand_as select slice narrow squeeze squeeze_ unsqueeze unsqueeze_ unbind split split_with_sizes
    chunk tensor_split detach detach_ alias unfold diagonal movedim swapaxes flatten unflatten
    view_as_real view_as_complex real imag
    clone copy_ copy contiguous record_stream is_pinned _local_scalar_dense item equal is_same_size
    sym_size sym_stride sym_numel sym_storage_offset stride size""".split()
)
_HOST_READS = ("numpy", "tolist", "__array__", "__dlpack__", "from_numpy", "frombuffer", "asarray", "from_dlpack")
_MAX_ITEMS = 64  # single elements read in one call; more is a computation in Python


class Census:
    """Counts; `calls` is what the library policy judges. Each operator is named once in the log."""

    def __init__(self):
        self.calls = 0
        self.paused = 0
        self._items = 0
        self._named = set()

    def begin_call(self):
        self._items = 0

    def found(self, name):
        if self.paused:
            return
        self.calls += 1
        if name not in self._named:
            self._named.add(name)
            failures.log(f"outside the kernels: {name}")

    def read_item(self):
        if not self.paused:
            self._items += 1
            if self._items > _MAX_ITEMS:
                self.found("single elements of a tensor, read one by one")


class Operators(TorchDispatchMode):
    """Everything that reaches torch's dispatcher."""

    def __init__(self, census):
        super().__init__()
        self._census = census

    @classmethod
    def _should_skip_dynamo(cls):
        """Of torch: True would import torch._dynamo at the first operator, which takes two seconds."""
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function._schema.name.rpartition("::")[2]
        if name == "_local_scalar_dense":
            self._census.read_item()
        elif name == "_to_copy":
            dtype = kwargs.get("dtype")
            if dtype is not None and dtype is not args[0].dtype:
                self._census.found("torch: a conversion to another dtype")
        elif name == "copy_" and len(args) > 1 and args[0].dtype is not args[1].dtype:
            self._census.found("torch: a conversion to another dtype")
        elif name not in _FREE:
            self._census.found(f"torch: {function._schema.name}")
        return function(*args, **kwargs)


class HostReads(TorchFunctionMode):
    """Ways out of torch, to where no operator is counted."""

    def __init__(self, census):
        super().__init__()
        self._census = census

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in _HOST_READS:
            self._census.found(f"torch: {name}()")
        return function(*args, **(kwargs or {}))
