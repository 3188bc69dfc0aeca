# Where tensors are: a problem's get_inputs() may ask for a GPU, which is no part of the problem.
import torch
from torch.overrides import TorchFunctionMode


def on_cpu(value):
    """The value, or the CPU where it names a device."""
    named = isinstance(value, str) and value.partition(":")[0] in ("cuda", "xpu", "mps", "hip")
    return torch.device("cpu") if named or isinstance(value, torch.device) else value


class OnCpu(TorchFunctionMode):
    """Inside, tensors and generators are made on the CPU and stay there, whatever device is asked for."""

    def __enter__(self):
        self._generator = torch.Generator
        torch.Generator = lambda device="cpu": self._generator(device=on_cpu(device))
        return super().__enter__()

    def __exit__(self, *error):
        torch.Generator = self._generator
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if "device" in kwargs:
            kwargs["device"] = "cpu" if isinstance(kwargs["device"], int) else on_cpu(kwargs["device"])
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.Tensor.to:
            args = (args[0], *(on_cpu(a) for a in args[1:]))
        return func(*args, **kwargs)
