# Which tensors of a module's state a computation reads on the way to its outputs, whatever their values are.
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_iter

from dispatch_mode import DispatchMode

_RUNNING = ("running_mean", "running_var")


class Reading(DispatchMode):
    """Within it, what is computed of `named` (key -> tensor) is followed from storage to storage.

    A number taken out of a tensor is not followed, nor is what is written over ever forgotten. The running
    statistics of a norm that takes its statistics from its input are written and not read.
    """

    def __init__(self, named):
        super().__init__()
        self._keys = {}  # storage -> keys that reached it; a weak reference keeps the storage's address from being used again
        for key, tensor in named.items():
            self._add(tensor, {key})

    def reached(self, tensors):
        """The keys that at least one of these was computed of."""
        return set().union(*(self._of(t) for t in tensors))

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        given = _by_name(function, args, kwargs)
        read = set()
        for name, value in given.items():
            if name not in _RUNNING or not _trains(function, given):
                read |= self.reached(t for t in tree_iter(value) if isinstance(t, torch.Tensor))
        if read:
            written = [given.get(a.name) for a in function._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
            for tensor in tree_iter((result, written)):
                if isinstance(tensor, torch.Tensor):
                    self._add(tensor, read)
        return result

    def _of(self, tensor):
        storage = _storage(tensor)
        return self._keys.get(storage, set()) if storage is not None else set()

    def _add(self, tensor, keys):
        storage = _storage(tensor)
        if storage is not None:
            self._keys.setdefault(storage, set()).update(keys)


def _storage(tensor):
    try:
        return StorageWeakRef(tensor.untyped_storage())
    except (NotImplementedError, RuntimeError):  # sparse tensors have none
        return None


def _by_name(function, args, kwargs):
    return {**{a.name: value for a, value in zip(function._schema.arguments, args)}, **kwargs}


def _trains(function, given):
    return bool(given.get("training", given.get("train", "_with_update" in function._schema.name)))
