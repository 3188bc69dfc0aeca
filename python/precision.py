# Running a reference in another precision than the one it was written for.
import torch
from torch.overrides import TorchFunctionMode

import second_implementation

_CASTS = {
    torch.Tensor.double: torch.float64,
    torch.Tensor.float: torch.float32,
    torch.Tensor.half: torch.float16,
    torch.Tensor.bfloat16: torch.bfloat16,
}
_TYPE_NAMES = {
    "torch.DoubleTensor": torch.float64,
    "torch.FloatTensor": torch.float32,
    "torch.HalfTensor": torch.float16,
    "torch.BFloat16Tensor": torch.bfloat16,
}
_IN_PLACE = {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")}
_E4M3 = torch.float8_e4m3fn
_E4M3_MAX = 448.0  # torch's cast makes NaN of what is larger


class Precision:
    """How tensors and dtype arguments change; convert() always returns new memory."""

    def __init__(self, mapping, rounding=()):
        """mapping: dtype -> the dtype to compute in. rounding: dtypes whose inputs, statics and
        outputs are rounded to float8_e4m3fn, while the computation stays in them. Tables that the
        reference's file holds follow the mapping."""
        self._mapping = mapping
        self._rounding = rounding
        self.device = None  # where it computes: torch.device; None: where the tensors are
        self.generator = None  # torch.Generator of a perturbed run

    def convert(self, tensor):
        tensor = tensor.detach()
        if self.device is not None and tensor.device != self.device:
            tensor = tensor.to(self.device)
        target = self._mapping.get(tensor.dtype)
        if target is not None:
            return tensor.to(target)
        return self.rounded(tensor).clone()

    def rounded(self, tensor):
        if tensor.dtype not in self._rounding:
            return tensor
        return tensor.clamp(-_E4M3_MAX, _E4M3_MAX).to(_E4M3).to(tensor.dtype)

    def scope(self):
        """The context in which the reference runs."""
        return _Casts(self._mapping)


class _Second(Precision):
    """The declared precision, computed by other operators."""

    def scope(self):
        return second_implementation.scope(self.generator)


def declared():
    return Precision({})


def second():
    return _Second({})


def float64():
    return Precision({t: torch.float64 for t in (torch.float32, torch.float16, torch.bfloat16)})


def lower(dtype):
    """One step below an output's dtype; ValueError: there is none.

    float64 -> float32, float32 -> bfloat16. Nothing computes in 8 bits on a CPU, so for float16 and
    bfloat16 the inputs, statics and outputs are rounded to float8_e4m3fn. Below float8 there are so few
    values that a result is often right in them.
    """
    if dtype == torch.float64:
        return Precision({torch.float64: torch.float32})
    if dtype == torch.float32:
        return Precision({t: torch.bfloat16 for t in (torch.float64, torch.float32)})
    if dtype in (torch.float16, torch.bfloat16):
        return Precision({}, (torch.float32, torch.float16, torch.bfloat16))
    raise ValueError(f"there is no lower precision than {str(dtype).removeprefix('torch.')}")


class _Casts(TorchFunctionMode):
    """Turns hard-coded dtypes (.float(), dtype=torch.float32, ...) into the run's precision.

    Tensors that are made without a dtype follow the default dtype, which changes as well. So a tensor in
    a replaced dtype is one that was made before the run, and it is read in the run's precision.
    """

    def __init__(self, mapping):
        super().__init__()
        self._mapping = mapping

    def __enter__(self):
        self._default = torch.get_default_dtype()
        torch.set_default_dtype(self._mapping.get(self._default, self._default))
        return super().__enter__()

    def __exit__(self, *error):
        torch.set_default_dtype(self._default)
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self._mapping or function is torch.Tensor.view:  # view(dtype) looks at the bits
            return function(*args, **kwargs)
        wanted = _CASTS.get(function)
        if wanted is not None:
            return args[0].to(self._mapping.get(wanted, wanted))
        own = args[:1] if _writes_to_first(function) else ()  # a copy would not be written to
        args = own + tuple(self._replace(a, function) for a in args[len(own) :])
        kwargs = {name: self._replace(a, function) for name, a in kwargs.items()}
        return function(*args, **kwargs)

    def _replace(self, argument, function):
        if isinstance(argument, str) and function is torch.Tensor.type:
            argument = _TYPE_NAMES.get(argument, argument)
        if isinstance(argument, torch.dtype):
            return self._mapping.get(argument, argument)
        if isinstance(argument, torch.Tensor) and argument.dtype in self._mapping:
            return argument.to(self._mapping[argument.dtype])
        if type(argument) in (list, tuple) and any(isinstance(a, torch.Tensor) for a in argument):
            return type(argument)(self._replace(a, function) for a in argument)
        return argument


def _writes_to_first(function):
    name = getattr(function, "__name__", "")
    if name.endswith("__"):
        return name == "__setitem__" or name in _IN_PLACE
    return name.endswith("_")
