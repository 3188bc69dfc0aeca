# Returned outputs: checked, brought into the arena where they are not there, and reported.
import torch

import pages
from dtypes import TORCH_OF_NAME, number_of, true_device
from failures import Failed

_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Results:
    """Writes the OutputReports of a launch, and keeps its results alive until it is over.

    Results stay referenced until done_seq is stored: two calls of one launch can never get the same
    block. drop() comes right after. The executor is frozen about then; when it runs on, the freed
    blocks are only written by a later allocation, that is in the next launch: the snapshot is safe.
    """

    def __init__(self, signature, arena_region, reply):
        self._expected = []
        for a in signature["outputs"]:
            dtype = TORCH_OF_NAME[a["dtype"]]
            shape = torch.Size(a["shape"])
            tail = _tail(number_of(dtype, a["dtype"]), torch.empty(shape, dtype=dtype, device="meta"))
            self._expected.append((dtype, shape, tail, a["dtype"]))
        self._names = [a["name"] for a in signature["outputs"]]
        self._base = arena_region.address
        self._end = arena_region.address + arena_region.size
        self._reports = [
            [reply.report(c, j) for j in range(len(self._expected))] for c in range(pages.MAX_SETS)
        ]
        self._kept = []

    def store(self, call, value):
        """Reports what a call returned, and gives the tensors that stand for it. Failed where that is no dense CPU
        tensor, or a wrong count."""
        expected = self._expected
        values = (value,) if type(value) in _PLAIN else value
        if type(values) is dict:
            values = self._by_name(values)
        if isinstance(values, tuple):
            values = tuple.__getitem__(values, slice(None))  # no code of a named tuple's class
        elif type(values) is not list:
            raise Failed(pages.FAILURE_OUTPUT_KIND, f"call returned {_name(value)}, not a tensor")
        if len(values) != len(expected):
            text = f"call returned {len(values)} outputs, expected {len(expected)}"
            raise Failed(pages.FAILURE_OUTPUT_COUNT, text)
        reports = self._reports[call]
        for j, tensor in enumerate(values):
            dtype, shape, tail, _ = expected[j]
            if type(tensor) not in _PLAIN:
                raise Failed(pages.FAILURE_OUTPUT_KIND, f"output {j} is {_name(tensor)}, not a tensor")
            if tensor.dtype is dtype and tensor.shape == shape and tensor.is_contiguous():
                address = self._address(tensor)
                if address is None:
                    tensor = self._moved(tensor, j)
                    address = tensor.data_ptr()
            else:
                tensor, address, tail = self._unexpected(tensor, j)
            reports[j][0][0] = address - self._base if address else 0
            reports[j][1][:] = tail
            self._kept.append(tensor)
        return self._kept[-len(expected) :]

    def drop(self):
        self._kept.clear()

    def _by_name(self, values):
        if values.keys() != set(self._names):
            text = f"call returned a dict of {shown(values)}, expected {', '.join(self._names)}"
            raise Failed(pages.FAILURE_OUTPUT_COUNT, text)
        return [values[name] for name in self._names]

    def _address(self, tensor):
        """None: not in the arena (or not in memory at all)."""
        try:
            address = tensor.data_ptr()
        except RuntimeError:
            return None
        return address if self._base <= address < self._end and not tensor.is_neg() else None

    def _unexpected(self, tensor, j):
        """Of a result with another dtype, shape or strides: (tensor, address or 0, report)."""
        _check_dense(tensor, j)
        number = number_of(tensor.dtype, self._expected[j][3])
        if number is None:
            raise Failed(pages.FAILURE_OUTPUT_KIND, f"output {j} has dtype {tensor.dtype}")
        if tensor.dim() > pages.MAX_RANK:
            raise Failed(pages.FAILURE_OUTPUT_KIND, f"output {j} has {tensor.dim()} dimensions")
        address = None if _overlaps(tensor) else self._address(tensor)
        if address is None:
            right = tensor.dtype is self._expected[j][0] and tensor.shape == self._expected[j][1]
            tensor = self._moved(tensor, j) if right else tensor.contiguous()
            address = tensor.data_ptr() if right else 0
        return tensor, address, _tail(number, tensor)

    def _moved(self, tensor, j):
        """A contiguous copy in the arena, where new memory of an output's size comes from."""
        _check_dense(tensor, j)
        copy = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)
        if copy.numel() > 0 and self._address(copy) is None:
            text = f"no room for output {j}: too many results of earlier calls are still in use"
            raise Failed(pages.FAILURE_UNSUPPORTED, text)
        return copy


def shown(values):
    """The keys of a dict, for people."""
    return ", ".join(str(key)[:80] for key in list(values)[:16]) or "nothing"


def _tail(number, tensor):
    return pages.report_tail(number, tuple(tensor.shape), tensor.stride())


def _name(value):
    return "None" if value is None else f"a {type(value).__module__}.{type(value).__qualname__}"


def _check_dense(tensor, j):
    """Failed unless the tensor is plain memory on the CPU: nothing that is computed when looked at."""
    odd = None
    device = true_device(tensor)
    if device.type != "cpu":
        odd = f"on device {device}"
    elif tensor.layout is not torch.strided:
        odd = f"of layout {tensor.layout}"
    elif tensor.is_quantized or torch._is_functional_tensor(tensor):
        odd = "quantized" if tensor.is_quantized else "a functional tensor"
    if odd:
        raise Failed(pages.FAILURE_OUTPUT_KIND, f"output {j} is not a dense CPU tensor: it is {odd}")


def _overlaps(tensor):
    """Whether two elements may share memory (an expanded tensor)."""
    end = 0  # of the memory that the dimensions with smaller strides reach over
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1:
            if stride <= end:
                return True
            end += stride * (size - 1)
    return False
