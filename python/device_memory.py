# Memory of a GPU that the checker owns, mapped here by its descriptor, and tensors over it.
import ctypes
import functools
import math

import torch

READ, READ_WRITE = 1, 3
_POSIX_DESCRIPTOR = 1
_DEVICE = 1


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class _Properties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Pointer:
    """What torch.as_tensor() reads to make a tensor over memory that is not its own."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _call(function, *arguments):
    result = function(*arguments)
    if result != 0:
        raise OSError(f"{function.__name__} failed with CUDA's error {result}")


def persisting_lines_reset():
    """A function that makes lines of the cache that were to persist ordinary ones, whichever process made them so."""
    reset = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache
    return lambda: _call(reset)


def round_up(size, granule):
    return -(-max(size, 1) // granule) * granule


@functools.lru_cache(maxsize=256)
def contiguous_strides(shape):
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * max(shape[i], 1)
    return tuple(strides)


class DeviceRegion:
    """One allocation, mapped for the rest of the process's life. A kernel's write to one that is mapped
    for reading faults. torch has a context on this device already."""

    def __init__(self, fd, size, device, access):
        cuda = ctypes.CDLL("libcuda.so.1")
        properties = _Properties(1, _POSIX_DESCRIPTOR, _Location(_DEVICE, device))
        granule = ctypes.c_size_t()
        _call(cuda.cuMemGetAllocationGranularity, ctypes.byref(granule), ctypes.byref(properties), 0)
        mapped = ctypes.c_size_t(round_up(size, granule.value))
        handle = ctypes.c_ulonglong()
        _call(cuda.cuMemImportFromShareableHandle, ctypes.byref(handle), ctypes.c_void_p(fd), _POSIX_DESCRIPTOR)
        address = ctypes.c_ulonglong()
        zero = ctypes.c_size_t(0)
        _call(cuda.cuMemAddressReserve, ctypes.byref(address), mapped, zero, ctypes.c_ulonglong(0), ctypes.c_ulonglong(0))
        _call(cuda.cuMemMap, address, mapped, zero, handle, ctypes.c_ulonglong(0))
        rights = _Access(_Location(_DEVICE, device), access)
        _call(cuda.cuMemSetAccess, address, mapped, ctypes.byref(rights), ctypes.c_size_t(1))
        self._device = torch.device("cuda", device)
        self._bytes = torch.as_tensor(_Pointer(address.value, mapped.value), device=self._device)
        self._all = {}  # the whole memory by dtype

    def tensor(self, dtype, shape, offset):
        """A contiguous tensor over this memory; shape [] is a 0-d tensor."""
        if math.prod(shape) == 0:
            return torch.empty(shape, dtype=dtype, device=self._device)
        everything = self._all.get(dtype)
        if everything is None:
            everything = self._all[dtype] = self._bytes.view(dtype)
        return torch.as_strided(everything, shape, contiguous_strides(tuple(shape)), offset // dtype.itemsize)
