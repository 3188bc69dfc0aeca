# A second implementation of the same mathematics, for references that do not run in float64.
#
# Theory of operation. The reference runs at its declared precision under a dispatch mode that replaces
# each operator: by its decomposition into smaller ones where torch knows one, sums and products by the
# same sum taken in another order. oneDNN is off, so convolutions take torch's own kernels. Both runs err,
# each in its own way; how far they lie apart shows how exact the reference is.
#
# Terms are summed backwards, or in a random order. Runs with moved inputs need the latter: what a unit in the
# last place of a term changes is rounded away as the sum grows, so that runs in one order often err alike.
import contextlib
import math
import warnings

import torch

from decomposed import decomposition_of
from dispatch_mode import DispatchMode

_aten = torch.ops.aten
_SOFTMAXES = frozenset((_aten._softmax.default, _aten._log_softmax.default, _aten._safe_softmax.default))


class _OtherOrder:
    """Sums and products over terms in another order: backwards, or as a generator draws it."""

    def __init__(self, generator):
        self._generator = generator

    def _along(self, *places):
        """The tensors of (tensor, dimension), with what lies along these dimensions in one other order."""
        if self._generator is None:
            return [tensor.flip(dim) for tensor, dim in places]
        tensor, dim = places[0]
        order = torch.randperm(tensor.shape[dim], generator=self._generator, device=self._generator.device)
        return [tensor.index_select(dim, order.to(tensor.device)) for tensor, dim in places]

    def _reordered(self, x, dims):
        for dim in dims:
            (x,) = self._along((x, dim))
        return x

    def sum(self, x, dim=None, keepdim=False, *, dtype=None):
        dims = list(range(x.dim())) if not dim else list(dim)
        return _aten.sum.dim_IntList(self._reordered(x, dims), dims, keepdim, dtype=dtype)

    def whole_sum(self, x, *, dtype=None):
        return self.sum(x, dtype=dtype)

    def mean(self, x, dim=None, keepdim=False, *, dtype=None):
        dims = list(range(x.dim())) if not dim else list(dim)
        count = math.prod(x.shape[d] for d in dims)
        return self.sum(x, dims, keepdim, dtype=dtype) / count

    def whole_mean(self, x, *, dtype=None):
        return self.mean(x, dtype=dtype)

    def mm(self, a, b):
        return _aten.mm(*self._along((a, 1), (b, 0)))

    def bmm(self, a, b):
        return _aten.bmm(*self._along((a, 2), (b, 1)))

    def addmm(self, bias, a, b, *, beta=1, alpha=1):
        return beta * bias + alpha * self.mm(a, b)

    def baddbmm(self, bias, a, b, *, beta=1, alpha=1):
        return beta * bias + alpha * self.bmm(a, b)

    def convolution(self, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        """Sums over channels in another order, unless they are grouped; bias added at the end."""
        if groups == 1 and not transposed:
            x, weight = self._along((x, 1), (weight, 1))
        out = _aten.convolution(
            x, weight, None, stride, padding, dilation, transposed, output_padding, groups
        )
        if bias is None:
            return out
        return out + bias.view(-1, *[1] * (out.dim() - 2))

    def by_operator(self):
        return {
            _aten.sum.default: self.whole_sum,
            _aten.sum.dim_IntList: self.sum,
            _aten.mean.default: self.whole_mean,
            _aten.mean.dim: self.mean,
            _aten.mm.default: self.mm,
            _aten.bmm.default: self.bmm,
            _aten.addmm.default: self.addmm,
            _aten.baddbmm.default: self.baddbmm,
            _aten.convolution.default: self.convolution,
        }


@contextlib.contextmanager
def scope(generator=None):
    """Within it, operators run as something else that computes the same. generator: torch.Generator of the
    orders of sums; None: backwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other settings that the flags restore
        flags = torch.backends.mkldnn.flags(enabled=False)
        with flags, _Replacing(generator):
            yield


class _Replacing(DispatchMode):
    def __init__(self, generator):
        super().__init__()
        self._in_other_order = _OtherOrder(generator).by_operator()
        self._keeps_softmax = generator is not None  # MovedFunctions has a form of its own for it

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self._keeps_softmax and function in _SOFTMAXES:
            return function(*args, **kwargs)
        in_other_order = self._in_other_order.get(function)
        if in_other_order is not None:
            return in_other_order(*args, **kwargs)  # outside the mode: not replaced again
        decomposed = decomposition_of(function)
        if decomposed is None:
            return function(*args, **kwargs)
        with self:  # what it is made of is replaced as well
            result = decomposed(*args, **kwargs)
        return function(*args, **kwargs) if result is NotImplemented else result
