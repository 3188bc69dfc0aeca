# Keeps tensors' values from a candidate's host code, under the policy kernel_only.
#
# Theory of operation. The host code gets made-up values. The real ones stand in their place, at the same
# addresses, only while programs of a kernel run (a window): inputs, and all that kernels have written before. What
# host code computes with torch, numpy, threads or bare pointers, it computes from made-up values. What it may
# do (views, copies without conversion, constants, a few single elements) is done for both kinds of values.
import bisect
import contextlib
import ctypes
import math
import mmap

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

_FEW = 16  # partial results, labels and lengths are so many times fewer than the elements of the largest argument
_KINDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}


class _Memory:
    """One storage of torch. real: its bytes while they differ from those that the host sees; None: they do not."""

    def __init__(self, storage):
        self.reference = StorageWeakRef(storage)
        self.address = storage.data_ptr()
        self.size = storage.nbytes()
        self.host = np.frombuffer((ctypes.c_uint8 * self.size).from_address(self.address), dtype=np.uint8)
        self.real = None
        self.before = None  # the host's bytes, while a window is open
        self.original = None  # of an input: its address in the sealed region
        self.written = False  # kernels have stored here, or what finishes their results

    def end(self):
        return self.address + self.size

    def is_gone(self):
        return self.reference.expired()

    def show_real(self):
        if self.real is not None:
            self.before = self.host.copy()
            self.host[:] = self.real

    def keep_host(self):
        """Before the first store of a window, where real values and the host's were the same."""
        self.written = True
        if self.original is not None:
            self.write_input(0)
        if self.before is None:
            self.before = self.host.copy()

    def write_input(self, offset):
        """A write to an input is made where it belongs: that memory is read-only, and the checker hears of it."""
        ctypes.memset(self.original + offset, int(self.host[offset]), 1)

    def hide_real(self):
        if self.before is not None:
            self.real = self.host.copy()
            self.host[:] = self.before
            self.before = None

    def reveal(self):
        if self.real is not None:
            self.host[:] = self.real
            self.real = None


class HiddenValues:
    """The memory of one candidate's tensors. Not thread-safe; one call at a time."""

    def __init__(self):
        self.is_open = False  # programs run: real values are in place
        self._memories = {}  # by address
        self._starts = []  # sorted addresses, while a window is open
        self._outputs = []  # (private tensor, where it belongs) of the call
        self._largest = 0  # elements of the call's largest argument

    # ---- a call ----
    def begin(self, arguments, inputs, first_output):
        """The arguments that the candidate gets; inputs: positions of tensors whose values are hidden; from
        first_output on: destinations."""
        given = list(arguments)
        self._largest = max((value.numel() for value in arguments if isinstance(value, torch.Tensor)), default=0)
        for i in inputs:
            given[i] = private = _private_like(arguments[i])
            memory = self.add(private)
            if memory is not None:
                memory.original = arguments[i].data_ptr()
                memory.real = _bytes_at(memory.original, memory.size).copy()
        for j in range(first_output, len(given)):
            given[j] = private = _private_like(arguments[j])
            memory = self.add(private)
            if memory is not None:
                memory.host[:] = _bytes_at(arguments[j].data_ptr(), memory.size)
                self._outputs.append((memory, private, arguments[j].data_ptr()))
        return given

    def end(self, results):
        """Real values for the results and destinations of the call."""
        for tensor in results:
            memory = self._of(tensor)
            if memory is not None:
                memory.reveal()
        for memory, _, address in self._outputs:
            memory.reveal()
            ctypes.memmove(address, memory.address, memory.size)
        self._outputs.clear()

    # ---- a launch ----
    def open(self):
        """Real values into their places."""
        if self.is_open:
            return
        for address in [a for a, memory in self._memories.items() if memory.is_gone()]:
            del self._memories[address]
        self._starts = sorted(self._memories)
        for memory in self._memories.values():
            memory.show_real()
        self.is_open = True

    def close(self):
        if not self.is_open:
            return
        self.is_open = False
        for memory in self._memories.values():
            memory.hide_real()

    @contextlib.contextmanager
    def suspended(self):
        """The host's values for code that a kernel calls at compile time."""
        was_open = self.is_open
        self.close()
        try:
            yield
        finally:
            if was_open:
                self.open()

    def note_store(self, pointers, mask):
        """Before kernels write there (addresses, whether each takes part). RuntimeError: no tensor is there."""
        written = pointers[mask] if mask is not None else pointers
        if written.size == 0:
            return
        low, high = int(written.min()), int(written.max())
        at = bisect.bisect_right(self._starts, low) - 1
        if at >= 0 and high < self._memories[self._starts[at]].end():
            self._memories[self._starts[at]].keep_host()
            return
        places = np.searchsorted(np.array(self._starts, dtype=np.uint64), written.ravel(), side="right") - 1
        for place in np.unique(places):
            memory = self._memories[self._starts[place]] if place >= 0 else None
            if memory is None or int(written.ravel()[places == place].max()) >= memory.end():
                raise RuntimeError("a kernel stores outside of every tensor")
            memory.keep_host()

    # ---- the host's operators ----
    def add(self, tensor):
        """Takes part from now on; None: it has no memory."""
        storage = _storage_of(tensor)
        if storage is None or storage.nbytes() == 0:
            return None
        address = storage.data_ptr()
        known = self._memories.get(address)
        if known is None or known.is_gone() or known.size != storage.nbytes():
            known = self._memories[address] = _Memory(storage)
        return known

    def copied(self, target, source):
        """After the host's values of source went to target: the real ones follow."""
        to, origin = self.add(target), self._of(source)
        if to is None or (to.real is None and (origin is None or origin.real is None)):
            return
        if to.real is None:
            to.real = to.host.copy()
        values = self._elements(source, origin)
        self._elements(target, to)[...] = np.broadcast_to(values, tuple(target.shape))
        self._find_written_input()

    def filled(self, target):
        """After the host has put constants there."""
        to = self.add(target)
        if to is not None and to.real is not None:
            self._elements(target, to)[...] = _elements_of(target, to.host)
            self._find_written_input()

    def item(self, tensor):
        """A tensor of one element with the real value of one."""
        return self._real(tensor)

    def may_finish(self, tensors, is_reduction):
        """Whether the host may compute with them: few elements beside the call's largest argument, and either whole numbers (labels,
        lengths) or what kernels have written, which is reduced, or a single element."""
        if not tensors:
            return False
        for tensor in tensors:
            memory, count = self._of(tensor), tensor.numel()
            if count > 1 and count * _FEW > self._largest:
                return False
            if not tensor.is_floating_point() and not tensor.is_complex():
                continue
            if memory is None or not memory.written or not (is_reduction or count == 1):
                return False
        return True

    def finish(self, function, args, kwargs):
        """The operator on the host's values and on the real ones."""
        result = function(*args, **kwargs)
        real = function(*(self._real(value) if isinstance(value, torch.Tensor) else value for value in args), **kwargs)
        pairs = zip(result, real) if isinstance(result, (tuple, list)) else ((result, real),)
        for made_up, true in pairs:
            memory = self.add(made_up)
            if memory is not None:
                memory.written = True
                memory.real = memory.host.copy() if memory.real is None else memory.real
                storage = _storage_of(true)
                self._elements(made_up, memory)[...] = _elements_of(true, _bytes_at(storage.data_ptr(), storage.nbytes()))
        return result

    def _real(self, tensor):
        """A tensor with the real values of this one."""
        memory = self._of(tensor)
        if memory is None or memory.real is None or tensor.numel() == 0:
            return tensor
        value = bytearray(self._elements(tensor, memory).tobytes())
        return torch.frombuffer(value, dtype=tensor.dtype).reshape(tensor.shape)

    def _of(self, tensor):
        storage = _storage_of(tensor)
        memory = None if storage is None else self._memories.get(storage.data_ptr())
        return None if memory is None or memory.is_gone() else memory

    @staticmethod
    def _elements(tensor, memory):
        held = memory.real if memory is not None and memory.real is not None else None
        if held is None:
            storage = _storage_of(tensor)
            held = _bytes_at(storage.data_ptr(), storage.nbytes())
        return _elements_of(tensor, held)

    def _find_written_input(self):
        """Copies of the host's that changed one."""
        for memory in self._memories.values():
            if memory.original is None or memory.real is None or memory.is_gone():
                continue
            changed = np.flatnonzero(memory.real != _bytes_at(memory.original, memory.size))
            if changed.size > 0:
                memory.write_input(int(changed[0]))


def _storage_of(tensor):
    """None: it has no memory."""
    with torch._C.DisableTorchFunction():  # no way out of torch of the candidate's
        try:
            storage = tensor.untyped_storage()
            storage.data_ptr()
        except (NotImplementedError, RuntimeError):
            return None
    return storage


def _bytes_at(address, size):
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype=np.uint8)


def _elements_of(tensor, held):
    """The tensor's elements as whole numbers of their size, over the bytes of its storage."""
    size = tensor.element_size()
    kind = np.dtype(_KINDS[size])
    start = tensor.storage_offset() * size
    if math.prod(tensor.shape) == 0:
        return np.empty(tuple(tensor.shape), dtype=kind)
    flat = held[start : start + (len(held) - start) // size * size].view(kind)
    return np.lib.stride_tricks.as_strided(flat, tuple(tensor.shape), [s * size for s in tensor.stride()])


def _private_like(tensor):
    """A tensor of its own with made-up values: ones, or zeros where they are no floats."""
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return torch.empty_like(tensor)
    # Not of torch's allocator, whose blocks of this size are the results' places.
    private = torch.frombuffer(mmap.mmap(-1, size), dtype=tensor.dtype).view(tensor.shape)
    if tensor.is_floating_point() or tensor.is_complex():
        private.fill_(1)
    return private
