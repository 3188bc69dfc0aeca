# Modules (KernelBench form): construction, and their state by key.
import ast
import math

import torch
from torch.nn.parameter import is_lazy

from _paritybench_helpers import Config


def literal(value):
    """Python source of a value that consists of literals and configurations; ValueError for any other."""
    if value is None or type(value) in (bool, int, str):
        return repr(value)
    if type(value) is float and math.isfinite(value):
        return repr(value)
    if isinstance(value, tuple):  # torch.Size as well
        return "(" + ", ".join(literal(v) for v in value) + (",)" if len(value) == 1 else ")")
    if type(value) is list:
        return "[" + ", ".join(literal(v) for v in value) + "]"
    if type(value) is dict:
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if type(value) is Config:
        return f"_mock_config({literal(dict(value))})"
    raise ValueError(
        f"{value!r:.80} of type {type(value).__name__}: only numbers,"
        " booleans, strings, None, lists, tuples and dictionaries of them can be handed over"
    )


def from_literal(text):
    """The value of literal()'s text; ValueError for any other."""
    return _value_of(ast.parse(text, mode="eval").body)


def _value_of(node):
    if isinstance(node, ast.List):
        return [_value_of(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value_of(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {_value_of(key): _value_of(item) for key, item in zip(node.keys, node.values)}
    is_config = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_mock_config"
    if is_config and len(node.args) == 1 and not node.keywords:
        return Config(_value_of(node.args[0]))
    return ast.literal_eval(node)


def split_init(init_inputs):
    """(args, kwargs) of get_init_inputs(): a flat list (KernelBench) or [args, kwargs] (KernelBook)."""
    pair = isinstance(init_inputs, (list, tuple)) and len(init_inputs) == 2
    if pair and isinstance(init_inputs[0], (list, tuple)) and isinstance(init_inputs[1], dict):
        return list(init_inputs[0]), dict(init_inputs[1])
    return list(init_inputs), {}


def construct(entry, init_inputs, seed):
    """entry(*args, **kwargs) under the seed, in the mode that its constructor leaves it in: train."""
    args, kwargs = split_init(init_inputs)
    torch.manual_seed(seed)
    return entry(*args, **kwargs)


def state_tensors(module):
    """key -> tensor: the state_dict in its order, then buffers that are not stored in it."""
    tensors = {}
    for key, value in module.state_dict(keep_vars=True).items():
        if isinstance(value, torch.Tensor) and not is_lazy(value):
            tensors[key] = value
    for key, value in module.named_buffers(remove_duplicate=False):
        if not is_lazy(value):
            tensors.setdefault(key, value)
    return tensors


def copy_state(module, given):
    """Copies given tensors (key -> tensor) in place where names and shapes agree."""
    with torch.no_grad():
        for key, tensor in state_tensors(module).items():
            source = given.get(key)
            if source is not None and source.shape == tensor.shape:
                tensor.copy_(source)


def unmatched_note(module, given):
    """A line that names tensors without a counterpart on the other side; "": there are none."""
    own = {key: tensor.shape for key, tensor in state_tensors(module).items()}
    missing = [f"{key} {list(t.shape)}" for key, t in given.items() if own.get(key) != t.shape]
    if not missing:
        return ""
    spare = [f"{key} {list(s)}" for key, s in own.items() if key not in given or given[key].shape != s]
    of_own = f"; its own without a counterpart: {_some(spare)}" if spare else ""
    name = type(module).__name__
    return f"{name} has no parameter or buffer to take these of the problem: {_some(missing)}{of_own}"


def _some(names, most=8):
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def same_bits(a, b):
    """Equal shape, dtype and bytes: unlike ==, NaN equals itself."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = (t.detach().contiguous().reshape(-1).view(torch.uint8) for t in (a, b))
    return torch.equal(a, b)


class StateKeeper:
    """Puts a module's state back before each call, where a call has changed it.

    Only tensors that the problem's signature names are kept: a buffer that cannot influence the
    output (train-mode batch norm's running statistics) is not in it and costs nothing per call.
    """

    def __init__(self, module, given):
        """given: key -> the tensor of the signature's static. Keeps references to both."""
        self._kept = []  # [holder, name, tensor, saved, version]
        self._silent = []  # (tensor, saved): changed by calls that do not raise the version
        self._watching = True
        for key, tensor in state_tensors(module).items():
            if key not in given:
                continue
            # prepare() may have folded something into it: then that is the state.
            saved = given[key] if same_bits(given[key], tensor) else tensor.detach().clone()
            path, _, name = key.rpartition(".")
            owner = module.get_submodule(path)
            holder = owner._parameters if name in owner._parameters else owner._buffers
            self._kept.append([holder, name, tensor, saved, tensor._version])

    def restore(self):
        for kept in self._kept:
            holder, name, tensor, saved, version = kept
            if holder.get(name) is not tensor:
                holder[name] = tensor
            if tensor._version != version:
                tensor.copy_(saved)
                kept[4] = tensor._version
        for tensor, saved in self._silent:
            tensor.copy_(saved)

    def restore_all(self):
        """The same without a look at versions, which a replayed or compiled call may not raise."""
        for holder, name, tensor, saved, _ in self._kept:
            holder[name] = tensor
            tensor.copy_(saved)

    def after_first_call(self):
        """Some operators change a buffer without raising its version (batch norm does): find these."""
        if not self._watching:
            return
        self._watching = False
        for _, _, tensor, saved, version in self._kept:
            if tensor._version == version and not same_bits(tensor, saved):
                self._silent.append((tensor, saved))
