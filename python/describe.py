# What a module problem is: its interface, its state and what is odd about it, found by running it.
import inspect
import keyword
import math
import re

import torch

import modules
import pages
import precision
from _paritybench_helpers import Config
from dtypes import NAME_OF_TORCH
from reference import BadReference, is_constant

# C++ keywords that a Python parameter may be called.
_CPP_WORDS = set(
    "alignas alignof and_eq asm auto bitand bitor bool case catch char compl concept const constexpr"
    " consteval constinit const_cast decltype default delete do double dynamic_cast enum explicit"
    " export extern false float friend goto inline int long mutable namespace new noexcept not_eq"
    " nullptr operator or_eq private protected public register reinterpret_cast requires short signed"
    " sizeof static static_assert static_cast struct switch template this throw true try typedef"
    " typeid typename union unsigned using virtual void volatile wchar_t xor xor_eq main run"
    " prepare".split()
)


def describe(module, param_seed, input_seed):
    """The answer to the oracle's describe request, as JSON values. module: reference.Module."""
    values = module.generate(input_seed)
    built = module.build(param_seed)
    names = Names()
    inputs = input_items(built, values, names)
    state = module.state()
    keys = list(state)
    module.keys = keys
    statics = [t.detach().clone() for t in state.values()]
    static_items = [_static(key, t, built, names) for key, t in zip(keys, statics)]
    first = _run(module, values, statics)
    seeded_otherwise = _run(module, values, statics, seed=1)
    _find_used(module, values, statics, static_items, first)
    return {
        "inputs": inputs,
        "views": [inputs[i]["name"] for i in module.views],
        "statics": static_items,
        "outputs": _outputs(first, names),
        "init_args": _init_args(module.init_inputs),
        "constants": _constants(module),
        "init_parameters": _init_parameters(module.entry),
        "random_in_forward": not _same(first, seeded_otherwise),
    }


class Names:
    """Unique identifiers that are words of neither language."""

    def __init__(self):
        self._taken = set()

    def new(self, wanted):
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII) or "_"
        if name[0].isdigit():
            name = "_" + name
        while name in self._taken or name in _CPP_WORDS or keyword.iskeyword(name):
            name += "_"
        self._taken.add(name)
        return name


def _run(module, values, statics, seed=0):
    return module.run(_copies(values), statics, precision.declared(), "train", seed)


def _copies(values):
    return [v.clone() if isinstance(v, torch.Tensor) else v for v in values]


def _same(a, b):
    return len(a) == len(b) and all(modules.same_bits(x, y) for x, y in zip(a, b))


def tensor_item(name, tensor, what):
    """name, dtype and shape of a tensor that can be handed over; BadReference for another."""
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise BadReference(f"{what} is not a dense CPU tensor")
    if tensor.dtype not in NAME_OF_TORCH:
        raise BadReference(f"{what} has dtype {tensor.dtype}, which is not supported")
    if tensor.dim() > pages.MAX_RANK:
        raise BadReference(f"{what} has {tensor.dim()} dimensions, more than {pages.MAX_RANK}")
    return {"name": name, "dtype": NAME_OF_TORCH[tensor.dtype], "shape": list(tensor.shape)}


def scalar_dtype(value):
    """The dtype of a number that is an argument, None for any other kind."""
    return {bool: "bool", int: "int64", float: "float64"}.get(type(value))


def input_items(built, values, names):
    if len(values) > pages.MAX_INPUTS:
        raise BadReference(f"{len(values)} inputs, more than {pages.MAX_INPUTS}")
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(built.forward).parameters.values()
    wanted = [p.name for p in parameters if p.kind in kinds]
    items = []
    for i, value in enumerate(values):
        name = names.new(wanted[i] if i < len(wanted) else f"input_{i}")
        if isinstance(value, torch.Tensor):
            items.append({**tensor_item(name, value, f"input {name}"), "role": "input"})
            continue
        dtype = scalar_dtype(value)
        if dtype is None or (dtype == "float64" and not math.isfinite(value)):
            kind = type(value).__name__
            raise BadReference(f"input {name}: {kind} is neither a tensor nor a finite number")
        items.append({"name": name, "role": "scalar", "dtype": dtype, "shape": [], "value": value})
    return items


def _static(key, tensor, built, names):
    is_buffer = key not in dict(built.named_parameters(remove_duplicate=False))
    return {
        **tensor_item(names.new(key), tensor, f"the state {key}"),
        "state_key": key,
        "is_buffer": is_buffer,
        "constant": is_constant(tensor),
        "used": True,
    }


def _outputs(tensors, names):
    if len(tensors) > pages.MAX_OUTPUTS:
        raise BadReference(f"{len(tensors)} outputs, more than {pages.MAX_OUTPUTS}")
    single = len(tensors) == 1
    return [
        tensor_item(names.new("out" if single else f"out{i}"), t, f"output {i}")
        for i, t in enumerate(tensors)
    ]


def _find_used(module, values, statics, items, expected):
    """Sets "used" of each buffer: whether an output is computed of it, or another value of it changes one or makes it fail.

    What outputs are computed of is asked first: it is the same for all inputs and sizes, while a relu may hide a buffer's
    values. The running statistics of a norm in train mode, most modules' buffers, are neither.
    """
    buffers = [i for i, item in enumerate(items) if item["is_buffer"]]
    if not buffers:
        return
    try:
        read = module.state_read(_copies(values), statics, precision.declared(), "train")
    except Exception:  # an operator that cannot be looked into
        read = set()

    def influences(changed):
        others = [_altered(t) if i in changed else t for i, t in enumerate(statics)]
        try:
            return not _same(expected, _run(module, values, others))
        except Exception:
            return True

    unread = {i for i in buffers if items[i]["state_key"] not in read}
    one_by_one = len(unread) > 0 and influences(unread)  # all at once first: mostly none does
    for i in buffers:
        items[i]["used"] = i not in unread or (one_by_one and influences({i}))


def _altered(tensor):
    if tensor.dtype is torch.bool:
        return ~tensor
    if tensor.is_floating_point():
        noise = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(0))
        return (tensor.double() * 1.5 + 0.25 + noise).to(tensor.dtype)
    return tensor + 1


def _init_args(values):
    try:
        return modules.literal(values)
    except ValueError as error:
        raise BadReference(f"get_init_inputs() holds {error}") from error


def _constants(module):
    """[[name, value]]: numbers, booleans and flat lists of numbers among the constructor's arguments.

    Arguments that get_init_inputs() leaves to their defaults are constants too, and so is what a
    configuration holds.
    """
    args, kwargs = modules.split_init(module.init_inputs)
    bound = inspect.signature(module.entry).bind(*args, **kwargs)
    bound.apply_defaults()
    names = Names()
    found = []
    given = [
        pair
        for name, value in bound.arguments.items()
        for pair in (value.items() if isinstance(value, Config) else [(name, value)])
    ]
    for name, value in given:
        if isinstance(value, (list, tuple)) and value and all(_is_number(v) for v in value):
            found.append([names.new(name), list(value)])
        elif _is_number(value):
            found.append([names.new(name), value])
    return found


def _init_parameters(entry):
    """The constructor's parameters as Python writes them, "=" behind those with a default; None where one cannot be said so."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    out, only_keywords = [], False
    for name, parameter in inspect.signature(entry).parameters.items():
        if not name.isascii() or parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            return None
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not only_keywords:
            out.append("*")
        only_keywords = only_keywords or parameter.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL)
        default = "" if parameter.default is inspect.Parameter.empty else "="
        out.append(stars.get(parameter.kind, "") + name + default)
    return out


def _is_number(value):
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return type(value) is bool or (type(value) is float and math.isfinite(value))
