# A second implementation of the same mathematics, for references that do not run in float64.
#
# Theory of operation. The reference runs at its declared precision under a dispatch mode that replaces
# each operator: by its decomposition into smaller ones where torch knows one, sums and products by the
# same sum taken in another order. oneDNN is off, so convolutions take torch's own kernels. Both runs err,
# each in its own way; how far they lie apart shows how exact the reference is.
import contextlib
import math
import warnings

import torch

from decomposed import decomposition_of
from dispatch_mode import DispatchMode

_aten = torch.ops.aten


def _flipped_sum(x, dim=None, keepdim=False, *, dtype=None):
    dims = list(range(x.dim())) if not dim else list(dim)
    return _aten.sum.dim_IntList(x.flip(dims), dims, keepdim, dtype=dtype)


def _whole_sum(x, *, dtype=None):
    return _flipped_sum(x, dtype=dtype)


def _mean(x, dim=None, keepdim=False, *, dtype=None):
    dims = list(range(x.dim())) if not dim else list(dim)
    count = math.prod(x.shape[d] for d in dims)
    return _flipped_sum(x, dims, keepdim, dtype=dtype) / count


def _whole_mean(x, *, dtype=None):
    return _mean(x, dtype=dtype)


def _mm(a, b):
    return _aten.mm(a.flip(1), b.flip(0))


def _bmm(a, b):
    return _aten.bmm(a.flip(2), b.flip(1))


def _addmm(bias, a, b, *, beta=1, alpha=1):
    return beta * bias + alpha * _mm(a, b)


def _baddbmm(bias, a, b, *, beta=1, alpha=1):
    return beta * bias + alpha * _bmm(a, b)


def _convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Sums over channels backwards, unless they are grouped; bias added at the end."""
    if groups == 1 and not transposed:
        x, weight = x.flip(1), weight.flip(1)
    out = _aten.convolution(
        x, weight, None, stride, padding, dilation, transposed, output_padding, groups
    )
    if bias is None:
        return out
    return out + bias.view(-1, *[1] * (out.dim() - 2))


_REORDERED = {
    _aten.sum.default: _whole_sum,
    _aten.sum.dim_IntList: _flipped_sum,
    _aten.mean.default: _whole_mean,
    _aten.mean.dim: _mean,
    _aten.mm.default: _mm,
    _aten.bmm.default: _bmm,
    _aten.addmm.default: _addmm,
    _aten.baddbmm.default: _baddbmm,
    _aten.convolution.default: _convolution,
}


@contextlib.contextmanager
def scope():
    """Within it, operators run as something else that computes the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other settings that the flags restore
        flags = torch.backends.mkldnn.flags(enabled=False)
        with flags, _Replacing():
            yield


class _Replacing(DispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        reordered = _REORDERED.get(function)
        if reordered is not None:
            return reordered(*args, **kwargs)  # outside the mode: not replaced again
        decomposed = decomposition_of(function)
        if decomposed is None:
            return function(*args, **kwargs)
        with self:  # what it is made of is replaced as well
            result = decomposed(*args, **kwargs)
        return function(*args, **kwargs) if result is NotImplemented else result
