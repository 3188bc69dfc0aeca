# The reference of a problem in the oracle: a definition's run or a module, in any precision.
import copy

import torch

import calling
import dataflow
import devices
import modules


class BadReference(Exception):
    """The reference cannot be used; the text is for the problem's author."""


def as_outputs(value, names=None):
    """The output tensors of a returned value, in order. names: of the outputs, where a dict may be returned."""
    if names is not None and isinstance(value, dict):
        if value.keys() != set(names):
            found = ", ".join(map(str, value)) or "nothing"
            raise BadReference(f"the reference returned a dict of {found}, not of {', '.join(names)}")
        value = [value[name] for name in names]
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)) and value:
        for i, item in enumerate(value):
            if not isinstance(item, torch.Tensor):
                raise BadReference(f"output {i} is of type {type(item).__name__}, not a tensor")
        return list(value)
    raise BadReference(
        f"the reference returned {type(value).__name__}, not a tensor or a tuple of tensors"
    )


class Definition:
    """run(...), given inputs and statics by name. Arguments are in the run's precision already."""

    def __init__(self, entry, signature):
        names = [a["name"] for a in signature["inputs"] + signature["statics"]]
        self._order = calling.plan(entry, names, [], destination_passing=False).order
        self._entry = entry
        self._outputs = [a["name"] for a in signature["outputs"]]

    def run(self, inputs, statics, precision, mode):  # mode: modules only
        given = inputs + statics
        with torch.no_grad(), precision.scope():
            return as_outputs(self._entry(*[given[i] for i in self._order]), self._outputs)


class CustomInputs:
    """A definition's own inputs: entry(numbers, device) -> inputs by name. numbers: axes and scalars by name."""

    def __init__(self, loaded, entry, numbers):
        self.inputs_name = f"{entry}()"
        self.arguments = []  # the signature's inputs
        self._entry = getattr(loaded, entry, None)
        self._numbers = numbers
        if not callable(self._entry):
            raise BadReference(f"the problem has no {self.inputs_name}")

    def generate(self, seed):
        """The values under the seed, in the signature's order."""
        torch.manual_seed(seed)
        with devices.OnCpu():
            made = self._entry(dict(self._numbers), torch.device("cpu"))
        if not isinstance(made, dict):
            raise BadReference(f"{self.inputs_name} returned {type(made).__name__}, not a dict")
        names = [a["name"] for a in self.arguments]
        missing = [name for name in names if name not in made and name not in self._numbers]
        other = [str(name) for name in made if name not in names]
        if missing or other:
            wrong = f"no {missing[0]}" if missing else f"{other[0]}, which is no input"
            raise BadReference(f"{self.inputs_name} gave {wrong}")
        return [_plain(v) if isinstance(v, torch.Tensor) else v for v in self._values(made)]

    def _values(self, made):
        return [made[a["name"]] if a["name"] in made else self._numbers[a["name"]] for a in self.arguments]


class Module:
    """Model, get_inputs and get_init_inputs of a problem file. State is restored before each run."""

    inputs_name = "get_inputs()"

    def __init__(self, source_module, entry):
        for name in ("get_inputs", "get_init_inputs"):
            if not callable(getattr(source_module, name, None)):
                raise BadReference(f"the problem has no {name}()")
        self._get_inputs = source_module.get_inputs
        with devices.OnCpu():
            self.init_inputs = source_module.get_init_inputs()
        self.entry = entry
        self.keys = []  # of the signature's statics
        self.views = []  # positions of inputs that get_inputs() makes with other strides
        self._base = None
        self._saved = {}

    def generate(self, seed):
        """get_inputs() under the seed: detached tensors (dense ones contiguous) and numbers."""
        torch.manual_seed(seed)
        with devices.OnCpu():
            values = self._get_inputs()
        if not isinstance(values, (list, tuple)):
            raise BadReference(f"get_inputs() returned {type(values).__name__}, not a list")
        self.views = [i for i, v in enumerate(values) if isinstance(v, torch.Tensor) and _is_view(v)]
        return [_plain(v) if isinstance(v, torch.Tensor) else v for v in values]

    def build(self, seed):
        """Constructs the module under the seed; later runs use copies of it."""
        self._base = modules.construct(self.entry, self.init_inputs, seed)
        if not isinstance(self._base, torch.nn.Module):
            raise BadReference(f"{self.entry.__name__} is no torch.nn.Module")
        return self._base

    def redraw(self, seed):
        """Parameters whose elements are all equal (a norm's 1 and 0) get values around the constant.

        Uniform in constant + [-0.5, 0.5]: a candidate that leaves them out is then wrong. Buffers
        are part of the definition (masks, tables) and stay.
        """
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self._base.parameters():
                if parameter.is_floating_point() and is_constant(parameter):
                    noise = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
                    parameter.add_((noise - 0.5).to(parameter.dtype))

    def state(self):
        """key -> tensor of the module as built."""
        if self._base is None:
            raise BadReference("no state was asked for yet")
        return modules.state_tensors(self._base)

    def run(self, inputs, statics, precision, mode, seed=0):
        """statics: of self.keys."""
        module = self._with_state(statics, precision, mode)
        torch.manual_seed(seed)
        with torch.no_grad(), precision.scope():
            return as_outputs(module(*inputs))

    def state_read(self, inputs, statics, precision, mode):
        """Those of self.keys that outputs are computed of."""
        module = self._with_state(statics, precision, mode)
        torch.manual_seed(0)
        with torch.no_grad(), precision.scope(), dataflow.Reading(modules.state_tensors(module)) as reading:
            outputs = as_outputs(module(*inputs))
        return reading.reached(outputs)

    def _with_state(self, statics, precision, mode):
        self.state()
        module = converted(copy.deepcopy(self._base), precision)
        modules.copy_state(module, dict(zip(self.keys, statics)))
        if mode == "eval":
            module.eval()
        return module


def _is_view(tensor):
    return tensor.layout is torch.strided and not tensor.is_contiguous()


def _plain(tensor):
    tensor = tensor.detach()
    return tensor.contiguous() if tensor.layout is torch.strided else tensor


def is_constant(tensor):
    flat = tensor.detach().reshape(-1)
    return flat.numel() > 0 and bool((flat == flat[0]).all())


def converted(module, precision):
    """The module with parameters, buffers and plain tensor attributes in the run's precision."""
    module._apply(precision.convert)
    for part in module.modules():
        for name, value in list(vars(part).items()):
            if isinstance(value, torch.Tensor):
                vars(part)[name] = precision.convert(value)
            elif type(value) in (list, tuple) and any(isinstance(v, torch.Tensor) for v in value):
                vars(part)[name] = type(value)(
                    precision.convert(v) if isinstance(v, torch.Tensor) else v for v in value
                )
    return module
