# What a candidate computes outside its kernels: torch operators, and the ways by which tensors leave torch.
import torch
from torch.overrides import TorchFunctionMode

import failures
from dispatch_mode import DispatchMode

# Operators of aten that allocate, fill with a constant, look at the same memory in another way, or copy it unchanged.
_ALLOCATIONS = frozenset(
    """empty empty_like empty_strided empty_permuted new_empty new_empty_strided
    zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full
    arange scalar_tensor lift_fresh lift_fresh_copy lift""".split()
)
_FILLS = frozenset(("fill_", "zero_"))
_VIEWS = frozenset(
    """view _unsafe_view view_as _reshape_alias reshape as_strided as_strided_ transpose transpose_ t t_ numpy_T permute
    expand expand_as select slice narrow squeeze squeeze_ unsqueeze unsqueeze_ unbind split split_with_sizes
    chunk tensor_split detach detach_ alias unfold diagonal movedim swapaxes flatten unflatten
    view_as_real view_as_complex real imag
    record_stream is_pinned is_same_size sym_size sym_stride sym_numel sym_storage_offset stride size""".split()
)
_COPIES = frozenset(("clone", "contiguous", "_to_copy"))  # to new memory
_FREE = _ALLOCATIONS | _FILLS | _VIEWS | _COPIES | {"copy_", "_local_scalar_dense"}
# What may finish partial results of kernels, or check labels and lengths: HiddenValues.may_finish says of which tensors.
_REDUCTIONS = frozenset("sum mean max min amax amin prod any all count_nonzero argmax argmin diff cumsum".split())
_SMALL_STEPS = frozenset(
    """add sub rsub mul div floor_divide remainder neg abs sqrt rsqrt reciprocal clamp clamp_min minimum maximum where bitwise_and
    bitwise_or bitwise_not logical_and logical_or logical_not eq ne lt le gt ge _to_copy""".split()
)
_FINISHING = _REDUCTIONS | _SMALL_STEPS
_HOST_READS = frozenset(
    """numpy tolist __array__ __dlpack__ from_numpy frombuffer asarray from_dlpack
    apply_ map_ map2_ __reduce_ex__ share_memory_""".split()
)
_TENSORS = (torch.Tensor, torch.nn.Parameter)
_MAX_ITEMS = 64  # single elements read in one call; more is a computation in Python


class Census:
    """Counts; `calls` is what the library policy judges. Each operator is named once in the log."""

    def __init__(self):
        self.calls = 0
        self._items = 0
        self._named = set()

    def begin_call(self):
        self._items = 0

    def found(self, name):
        self.calls += 1
        if name not in self._named:
            self._named.add(name)
            failures.log(f"outside the kernels: {name}")

    def read_item(self):
        self._items += 1
        if self._items > _MAX_ITEMS:
            self.found("single elements of a tensor, read one by one")


class Operators(DispatchMode):
    """Everything that reaches torch's dispatcher. hidden: HiddenValues that free operators keep up to date, or None."""

    def __init__(self, census, hidden=None):
        super().__init__()
        self._census = census
        self._hidden = hidden

    @classmethod
    def _should_skip_dynamo(cls):
        """Of torch: True would import torch._dynamo at the first operator, which takes two seconds."""
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function._schema.name.removeprefix("aten::")
        if self._finishes(name, args, kwargs):
            return self._hidden.finish(function, args, kwargs)
        if any(kind not in _TENSORS for kind in types):
            self._census.found("torch: a class of tensors of its own")
        if name not in _FREE or (self._hidden is not None and self._hidden.is_open):
            self._census.found(f"torch: {function._schema.name}")
        elif name == "_to_copy":
            dtype = kwargs.get("dtype")
            if dtype is not None and dtype is not args[0].dtype:
                self._census.found("torch: a conversion to another dtype")
        elif _is_copy_in_place(name, args) and args[0].dtype is not args[1].dtype:
            self._census.found("torch: a conversion to another dtype")
        elif name == "_local_scalar_dense":
            self._census.read_item()
            if self._hidden is not None:
                args = (self._hidden.item(args[0]),)
        result = function(*args, **kwargs)
        if self._hidden is not None:
            self._follow(name, args, result)
        return result

    def _finishes(self, name, args, kwargs):
        """Whether it is no fallback: a small last reduction over what kernels wrote, or arithmetic with labels and lengths."""
        if name not in _FINISHING or self._hidden is None or self._hidden.is_open or "out" in kwargs:
            return False
        if name == "_to_copy" and kwargs.get("dtype") in (None, args[0].dtype):
            return False
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        return self._hidden.may_finish(tensors, name in _REDUCTIONS)

    def _follow(self, name, args, result):
        """The hidden values do what the host's did."""
        if _is_copy_in_place(name, args):
            if args[0].dtype is args[1].dtype:
                self._hidden.copied(args[0], args[1])
        elif name in _FILLS:
            self._hidden.filled(args[0])
        elif name in _COPIES:
            if result.dtype is args[0].dtype:
                self._hidden.copied(result, args[0])
        elif name not in _VIEWS:
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, torch.Tensor):
                    self._hidden.add(tensor)


def _is_copy_in_place(name, args):
    """fill_ with a tensor is one: of a single element."""
    return name == "copy_" or (name == "fill_" and isinstance(args[1], torch.Tensor))


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
