# Shared memory files, mapped, and tensors over them.
import ctypes
import math
import mmap
import os

import torch

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]


class Region:
    """The whole of a memory file, mapped for the rest of the process's life: shared and, unless it is
    sparse, populated; or private, which means that what is written stays here.

    mmap.mmap is not used: it keeps a duplicate of the descriptor open. Nothing here stops a write to
    a read-only region in Python, the hardware does: that is what the checker wants to see.
    """

    def __init__(self, fd, writable, private=False, sparse=False):
        self.size = os.fstat(fd).st_size
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        if not private and not sparse:
            flags |= mmap.MAP_POPULATE
        address = _libc.mmap(None, max(self.size, 1), protection, flags, fd, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), f"cannot map {self.size} bytes")
        self.address = address
        self._buffer = (ctypes.c_char * self.size).from_address(address)
        self.bytes = memoryview(self._buffer).cast("B")

    def tensor(self, dtype, shape, offset):
        """A contiguous tensor over this memory; shape [] is a 0-d tensor."""
        count = math.prod(shape)
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(self._buffer, dtype=dtype, count=count, offset=offset).view(shape)
