# The memory operations of interpreted programs, looked at before they are made.
import bisect
import sys

import numpy as np

from . import floats, sources, unsupported

_MANY_READS = 5_000  # reads of single values in a row that bring nothing new: nothing can change while one program runs
_WIDEST_ACCESS = 16  # bytes
_maps = "/proc/self/maps"


def line_of_kernel():
    """"file:line" of the innermost frame that is a kernel's."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code in sources.kernel_codes:
            return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return "a line that is not known"


class Accesses:
    """Stands before Triton's memory operations, which are C++ and trust what they are given."""

    def __init__(self, operations):
        self._operations = operations
        self._first, self._end = [], []  # of the process's readable mappings, when they were last looked at
        self._seen = {}  # (operation, address) -> value, since something changed
        self._vain = 0

    def __getattr__(self, name):
        return getattr(self._operations, name)

    def begin_launch(self):
        """Mappings may have gone since the last one."""
        self._first, self._end = [], []

    def begin_program(self):
        """Something may have changed: nobody waits."""
        self._seen.clear()
        self._vain = 0

    def load(self, pointers, mask, other, kind):
        pointers, mask, other = _alike(pointers, mask, other if other.itemsize == kind.itemsize else other.astype(kind))
        self._check(pointers, mask, kind.itemsize, "reads")
        result = self._operations.load(pointers, mask, other, kind)
        self._note_read("load", pointers, result)
        return result

    def store(self, pointers, value, mask):
        pointers, value, mask = _alike(pointers, value, mask)
        self._check(pointers, mask, value.dtype.itemsize, "writes")
        self.begin_program()
        return self._operations.store(pointers, value, mask)

    def atomic_rmw(self, operation, pointers, value, mask, order):
        pointers, value, mask = _alike(pointers, value, mask)
        self._check(pointers, mask, value.dtype.itemsize, "writes")
        result = self._operations.atomic_rmw(operation, pointers, value, mask, order)
        exchanges = operation == getattr(self._operations.RMW_OP, "XCHG", None)
        if (result != value).any() if exchanges else value.any():
            self.begin_program()
        self._note_read("atomic", pointers, result)
        return result

    def atomic_cas(self, pointers, expected, value, order):
        pointers, expected, value = _alike(pointers, expected, value)
        self._check(pointers, None, value.dtype.itemsize, "writes")
        result = self._operations.atomic_cas(pointers, expected, value, order)
        if (result == expected).any():
            self.begin_program()
        self._note_read("atomic_cas", pointers, result)
        return result

    def _note_read(self, operation, pointers, result):
        """Reads of the same values again and again wait for another program's store."""
        if pointers.size != 1:
            return self.begin_program()
        key, value = (operation, int(pointers.reshape(-1)[0])), result.tobytes()
        if self._seen.get(key) != value:
            self._seen[key] = value
            self._vain = 0
            return None
        self._vain += 1
        if self._vain > _MANY_READS:
            raise unsupported.waiting_program(line_of_kernel())
        return None

    def _check(self, pointers, mask, size, what):
        """RuntimeError where an address is not this process's: the C++ code behind would end it."""
        if mask is not None and not mask.all():
            pointers = pointers[mask]
        if pointers.size == 0:
            return
        low, high = int(pointers.min()), int(pointers.max()) + size
        if self._is_mapped(low, high):
            return
        self._first, self._end = _readable_memory()
        if self._is_mapped(low, high):
            return
        for address in np.unique(pointers):
            if not self._is_mapped(int(address), int(address) + size):
                raise RuntimeError(f"a kernel {what} outside of every tensor, at {int(address):#x} ({line_of_kernel()})")

    def _is_mapped(self, low, high):
        at = bisect.bisect_right(self._first, low) - 1
        return at >= 0 and high <= self._end[at]


def _readable_memory():
    """The first addresses and the ends of readable mappings, adjacent ones joined; of all memory where the kernel does not tell."""
    first, end = [], []
    try:
        with open(_maps, encoding="ascii", errors="replace") as file:
            lines = [line.split(maxsplit=2)[:2] for line in file]
    except OSError:
        return [0], [2**64]
    for span, rights in lines:
        if "r" not in rights:
            continue
        low, high = (int(bound, 16) for bound in span.split("-"))
        if end and end[-1] == low:
            end[-1] = high
        else:
            first.append(low)
            end.append(high)
    return first, end


def _alike(*arrays):
    """Of one shape and in order of their elements: the C++ code walks through all of them side by side."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    return [np.ascontiguousarray(array if array.shape == shape else np.broadcast_to(array, shape)).reshape(shape) for array in arrays]


def add_narrow_atomics(interpreter):
    """Atomic additions of bfloat16: on values, not on bits. Lanes take turns."""
    atomic = interpreter.InterpreterBuilder.create_atomic_rmw
    adds = interpreter._ir.ATOMIC_OP.FADD

    def rmw(builder, operation, pointers, value, mask, *more):
        dtype = value.dtype.scalar
        if operation != adds or not floats.is_narrow(dtype):
            return atomic(builder, operation, pointers, value, mask, *more)
        memory = interpreter._interpreter
        shape = pointers.data.shape
        mask_of = np.broadcast_to(mask.data, shape).reshape(-1)
        added = np.broadcast_to(value.data, shape).reshape(-1)
        before = np.zeros(added.shape, dtype=value.data.dtype)
        for i, address in enumerate(pointers.data.reshape(-1)):
            if not mask_of[i]:
                continue
            at, yes = np.array([address], dtype=np.uint64), np.ones(1, dtype=bool)
            before[i : i + 1] = memory.load(at, yes, before[i : i + 1], value.data.dtype)
            total = floats.to_float32(before[i : i + 1], dtype) + floats.to_float32(added[i : i + 1], dtype)
            memory.store(at, floats.from_float32(total, dtype), yes)
        return interpreter.TensorHandle(before.reshape(shape), dtype)

    interpreter.InterpreterBuilder.create_atomic_rmw = rmw


def check_vector_accesses(interpreter):
    """What tl.multiple_of and tl.max_contiguous promise of an index makes accesses without a mask wide, and those must be aligned."""
    builder = interpreter.InterpreterBuilder
    add_pointer, load = builder.create_addptr, builder.create_load

    def add(own, pointer, offset):
        result = add_pointer(own, pointer, offset)
        groups = [offset.attr.get(name) for name in ("tt.contiguity", "tt.divisibility")]
        base = pointer.data.reshape(-1)
        if all(groups) and base.size and (base == base[0]).all() and base[0] % _WIDEST_ACCESS == 0:
            result.attr["kw.group"] = min(int(group[-1]) & -int(group[-1]) for group in groups)
        return result

    def check_and_load(own, pointer, *more):
        group = pointer.attr.get("kw.group", 1)
        size = max(1, pointer.get_element_ty().primitive_bitwidth // 8)
        group = min(group, _WIDEST_ACCESS // size)
        if group > 1 and (pointer.data.reshape(*pointer.data.shape[:-1], -1)[..., ::group] % (group * size)).any():
            raise RuntimeError(f"misaligned address: what tl.multiple_of and tl.max_contiguous promise makes this load"
                               f" {group * size} bytes wide, and its index does not keep the promise ({line_of_kernel()})")
        return load(own, pointer, *more)

    builder.create_addptr, builder.create_load = add, check_and_load
