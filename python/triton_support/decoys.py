# Memory that stands for a GPU's while a candidate's host code is recorded: it has addresses, and nobody can read it.
import bisect
import ctypes
import mmap

import torch

from dtypes import true_device

_PAGE = 4096
_PROT_NONE = 0
_NO_RESERVE = 0x4000  # MAP_NORESERVE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


class Region:
    """A piece of the GPU's memory.

    kind: "input", "static", "output", "scratch" or "constant"; index: in the signature, of the first three.
    born: the recording's phase in which it was made. state: "empty", "zeroed" by a fill of all of it, or "written" by another
    fill or a copy; launches do not count. before: its state when the phase began. touches: phase -> the launches that it was
    given to.
    """

    def __init__(self, kind, index, address, size, born):
        self.kind, self.index, self.address, self.size, self.born = kind, index, address, size, born
        self.state = self.before = "empty"
        self.touches = {}
        self.keeps = None  # what a constant's memory belongs to


class Memory:
    """All regions of a process. They live as long as it does, so no address is used twice."""

    def __init__(self):
        self._starts, self._regions = [], []

    def make(self, kind, index, size, born, shift=0):
        """A region of `size` bytes that begins `shift` bytes behind a page's start."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
        mapped = _libc.mmap(None, shift + size + _PAGE, _PROT_NONE, flags, -1, 0)
        if mapped in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"no address space for {size} bytes")
        return self._add(Region(kind, index, mapped + shift, size, born))

    def constant(self, tensor, born):
        """The region of a tensor that host code made in ordinary memory."""
        storage = tensor.untyped_storage()
        region = Region("constant", 0, storage.data_ptr(), storage.nbytes(), born)
        region.keeps = storage
        return self._add(region)

    def find(self, address):
        """(region, offset) of an address, or None. An address at a region's end is still its own."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        region = self._regions[at]
        offset = address - region.address
        return (region, offset) if offset <= region.size else None

    def begin_phase(self):
        for region in self._regions:
            region.before = region.state

    def _add(self, region):
        at = bisect.bisect_right(self._starts, region.address)
        self._starts.insert(at, region.address)
        self._regions.insert(at, region)
        return region


def tensor_over(region, dtype, size, stride):
    """A tensor at the start of a region."""
    count = region.size // dtype.itemsize * dtype.itemsize
    if count == 0:
        return torch.empty_strided(size, stride, dtype=dtype)
    buffer = (ctypes.c_char * count).from_address(region.address)
    return torch.frombuffer(buffer, dtype=torch.uint8).view(dtype).as_strided(size, stride)


def is_on_host(tensor):
    return true_device(tensor).type == "cpu"


def is_dense(tensor):
    """Whether its elements fill one piece of memory from its data_ptr() on, each once."""
    end = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size == 1:
            continue
        if stride != end:
            return tensor.numel() == 0
        end *= size
    return True


def bytes_of(tensor):
    return tensor.numel() * tensor.dtype.itemsize
