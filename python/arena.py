# The preload library (python/arena/arena.h): results in shared memory, kept big blocks, crash records.
import ctypes


class _Range(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class Arena:
    """The library of this process. AttributeError at the first use where it was not preloaded."""

    def __init__(self):
        library = ctypes.CDLL(None)
        self._enable = library.kw_arena_enable
        self._enable.restype = ctypes.c_size_t
        self._pool = library.kw_pool_enable
        self._watch = library.kw_arena_watch
        self.rotate = library.kw_arena_rotate
        self.rotate.restype = None

    def enable(self, region, sizes):
        """The number of blocks of the given byte sizes made in the region."""
        array = (ctypes.c_size_t * len(sizes))(*sizes)
        return self._enable(
            ctypes.c_void_p(region.address),
            ctypes.c_size_t(region.size),
            array,
            ctypes.c_size_t(len(sizes)),
        )

    def keep_big_blocks(self, keep_bytes):
        self._pool(ctypes.c_size_t(keep_bytes))

    def watch(self, reply, inputs):
        """reply: the reply page's Region; inputs: the read-only Regions."""
        ranges = (_Range * len(inputs))(*[(r.address, r.size) for r in inputs])
        self._watch(ctypes.c_void_p(reply.address), ranges, ctypes.c_size_t(len(inputs)))
