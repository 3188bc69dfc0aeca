# Returns a tensor subclass that computes when it is looked at.
# expect: wrong_shape|runtime_error|violation|wrong_value
# class: T05
import torch


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


def run(x):
    return torch.zeros_like(x).as_subclass(Lazy)
