# The operators that graphs are made of, and how the others become these.
import functools

import torch
from torch._decomp import core_aten_decompositions

_aten = torch.ops.aten

# By kind; docs/tracing.md has the same list.
CORE = {
    "elementwise, one tensor": (
        "abs.default acos.default acosh.default asin.default asinh.default atan.default atanh.default"
        " bitwise_not.default ceil.default cos.default cosh.default elu.default erf.default erfc.default"
        " erfinv.default exp.default exp2.default expm1.default floor.default gelu.default"
        " hardsigmoid.default hardswish.default hardtanh.default isinf.default isnan.default"
        " leaky_relu.default lgamma.default log.default log10.default log1p.default log2.default"
        " logical_not.default mish.default neg.default reciprocal.default relu.default round.decimals"
        " round.default rsqrt.default sigmoid.default sign.default silu.default sin.default sinh.default"
        " softplus.default sqrt.default tan.default tanh.default trunc.default _to_copy.default"
    ),
    "elementwise, several": (
        "add.Tensor atan2.default bitwise_and.Scalar bitwise_and.Tensor bitwise_left_shift.Tensor"
        " bitwise_left_shift.Tensor_Scalar bitwise_or.Scalar bitwise_or.Tensor bitwise_right_shift.Tensor"
        " bitwise_right_shift.Tensor_Scalar bitwise_xor.Scalar bitwise_xor.Tensor clamp.Tensor clamp.default"
        " div.Tensor div.Tensor_mode eq.Scalar eq.Tensor fmod.Scalar fmod.Tensor ge.Scalar ge.Tensor"
        " gt.Scalar gt.Tensor le.Scalar le.Tensor logical_and.default logical_or.default logical_xor.default"
        " lt.Scalar lt.Tensor maximum.default minimum.default mul.Tensor ne.Scalar ne.Tensor pow.Scalar"
        " pow.Tensor_Scalar pow.Tensor_Tensor remainder.Scalar remainder.Tensor sub.Tensor where.self"
    ),
    "made from sizes": "arange.start_step constant full.default",
    "same elements elsewhere": (
        "cat.default constant_pad_nd.default diagonal.default expand.default flip.default permute.default"
        " select.int select_scatter.default slice.Tensor slice_scatter.default unfold.default"
        " unsqueeze.default view.default view.dtype"
    ),
    "indices": (
        "embedding.default gather.default index.Tensor index_put.default index_select.default"
        " scatter.src scatter.value scatter_add.default scatter_reduce.two"
    ),
    "reductions": (
        "amax.default amin.default any.default any.dim any.dims argmax.default argmin.default"
        " linalg_vector_norm.default logsumexp.default max.default max.dim mean.default mean.dim"
        " min.default min.dim prod.default prod.dim_int sum.dim_IntList var.correction var_mean.correction"
    ),
    "scans and order": (
        "cummax.default cummin.default cumprod.default cumsum.default logcumsumexp.default sort.default"
        " sort.stable topk.default"
    ),
    "products": "addmm.default addmv.default baddbmm.default bmm.default convolution.default mm.default",
    "normalisation and loss": (
        "_log_softmax.default _native_batch_norm_legit.no_stats"
        " _native_batch_norm_legit_no_training.default _softmax.default native_group_norm.default"
        " native_layer_norm.default nll_loss_forward.default nll_loss2d_forward.default"
    ),
    "pooling and resizing": (
        "_adaptive_avg_pool2d.default _adaptive_avg_pool3d.default adaptive_max_pool2d.default"
        " adaptive_max_pool3d.default avg_pool1d.default avg_pool2d.default avg_pool3d.default"
        " max_pool2d_with_indices.default max_pool3d_with_indices.default upsample_bilinear2d.default"
        " upsample_nearest2d.default"
    ),
}
CORE_NAMES = frozenset(name for names in CORE.values() for name in names.split())


def name_of(overload):
    """ "add.Tensor"; operators of others than ATen keep their namespace."""
    return str(overload).removeprefix("aten.")


def overload(name):
    """ATen's operator of a name, None where this torch has none."""
    base, _, kind = name.partition(".")
    return getattr(getattr(_aten, base, None), kind, None) if kind else None


@functools.cache
def table():
    """operator -> what it is traced as."""
    found = {op: f for op, f in core_aten_decompositions().items() if name_of(op) not in CORE_NAMES}
    found.update(_own())
    return found


def _own():
    return {
        _aten.split_with_sizes.default: _split_with_sizes,
        _aten.unbind.int: _unbind,
        _aten.full_like.default: _full_like,
        _aten.empty.memory_format: _empty,
        _aten.scalar_tensor.default: _scalar_tensor,
        _aten.copy.default: _copy,
        _aten.t.default: _transposed,
        _aten.transpose.int: _transpose,
        _aten.squeeze.default: lambda x: _squeeze(x, list(range(x.dim()))),
        _aten.squeeze.dim: lambda x, dim: _squeeze(x, [dim]),
        _aten.squeeze.dims: _squeeze,
        _aten.repeat.default: _repeat,
        _aten.add.Scalar: lambda x, y, alpha=1: _aten.add.Tensor(x, y, alpha=alpha),
        _aten.sub.Scalar: lambda x, y, alpha=1: _aten.sub.Tensor(x, y, alpha=alpha),
        _aten.mul.Scalar: lambda x, y: _aten.mul.Tensor(x, y),
        _aten.div.Scalar: lambda x, y: _aten.div.Tensor(x, y),
        _aten.div.Scalar_mode: lambda x, y, rounding_mode: _aten.div.Tensor_mode(x, y, rounding_mode=rounding_mode),
        _aten.native_batch_norm.default: _batch_norm,
        _aten._native_batch_norm_legit.default: _batch_norm,
        _aten._native_batch_norm_legit_functional.default: _batch_norm_functional,
        _aten.__rshift__.Scalar: lambda x, y: _aten.bitwise_right_shift.Tensor_Scalar(x, y),
        _aten.__lshift__.Scalar: lambda x, y: _aten.bitwise_left_shift.Tensor_Scalar(x, y),
        _aten.__rshift__.Tensor: lambda x, y: _aten.bitwise_right_shift.Tensor(x, y),
        _aten.__lshift__.Tensor: lambda x, y: _aten.bitwise_left_shift.Tensor(x, y),
        _aten.bitwise_and.Scalar_Tensor: lambda x, y: _aten.bitwise_and.Scalar(y, x),
        _aten.bitwise_or.Scalar_Tensor: lambda x, y: _aten.bitwise_or.Scalar(y, x),
        _aten.bitwise_xor.Scalar_Tensor: lambda x, y: _aten.bitwise_xor.Scalar(y, x),
    }


def _split_with_sizes(x, sizes, dim=0):
    out, start = [], 0
    for size in sizes:
        out.append(_aten.slice.Tensor(x, dim, start, start + size))
        start = start + size
    return out


def _unbind(x, dim=0):
    return [_aten.select.int(x, dim, i) for i in range(x.shape[dim])]


def _full_like(x, value, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return _aten.full.default(x.shape, value, dtype=dtype or x.dtype)


def _empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return _aten.full.default(size, 0, dtype=dtype or torch.get_default_dtype())


def _scalar_tensor(value, *, dtype=None, layout=None, device=None, pin_memory=None):
    return _aten.full.default([], value, dtype=dtype or torch.get_default_dtype())


def _copy(target, source, non_blocking=False):
    if source.dtype is not target.dtype:
        source = _aten._to_copy.default(source, dtype=target.dtype)
    return _aten.expand.default(source, target.shape)


def _transposed(x):
    return _aten.permute.default(x, list(reversed(range(x.dim()))))


def _transpose(x, a, b):
    order = list(range(x.dim()))
    if order:
        order[a], order[b] = order[b], order[a]
    return _aten.permute.default(x, order)


def _squeeze(x, dims):
    dims = {d % max(x.dim(), 1) for d in dims}
    kept = [size for d, size in enumerate(x.shape) if d not in dims or size != 1]
    return _aten.view.default(x, kept)


def _repeat(x, repeats):
    """[a, b] twice and three times: view [1, a, 1, b], expand [2, a, 3, b], view [2 a, 3 b]."""
    sizes = [1] * (len(repeats) - x.dim()) + list(x.shape)
    apart = [n for size in sizes for n in (1, size)]
    wide = [n for count, size in zip(repeats, sizes) for n in (count, size)]
    x = _aten.expand.default(_aten.view.default(x, apart), wide)
    return _aten.reshape.default(x, [count * size for count, size in zip(repeats, sizes)])


def _batch_norm(x, weight, bias, mean, variance, training, momentum, eps):
    """In training mode the running statistics change too, which no output shows."""
    if training:
        return _aten._native_batch_norm_legit.no_stats(x, weight, bias, True, momentum, eps)
    return _aten._native_batch_norm_legit_no_training.default(x, weight, bias, mean, variance, momentum, eps)


def _batch_norm_functional(x, weight, bias, mean, variance, training, momentum, eps):
    out = _batch_norm(x, weight, bias, mean, variance, training, momentum, eps)
    return (*out, mean, variance)
