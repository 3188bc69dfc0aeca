# Functions of torch that are traced as something simpler, or without fixing a size, than torch would.
import contextlib
import math
import unittest.mock

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode


def _chunk(input, chunks, dim=0):
    """Torch makes numbers of the sizes."""
    size = input.shape[dim]
    each = (size + chunks - 1) // chunks
    return _split(input, each, dim)


def _split(tensor, split_size_or_sections, dim=0):
    if not isinstance(split_size_or_sections, (int, torch.SymInt)):
        return torch.split_with_sizes(tensor, list(split_size_or_sections), dim)
    size, each = tensor.shape[dim], split_size_or_sections
    if isinstance(size, int) and isinstance(each, int):
        return _split_by_number(tensor, each, dim)
    count = max(int((size + each - 1) // each), 1)  # int() says so in the trace's conditions
    last = size - (count - 1) * each
    return torch.split_with_sizes(tensor, [each] * (count - 1) + [last], dim)


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """By its formula: torch multiplies both factors by the root of the scale."""
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = torch.matmul(query, key.transpose(-2, -1)) * scale
    if is_causal:
        allowed = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    weights = None
    if attn_mask is not None:
        banned = torch.full_like(scores, -math.inf)
        scores = torch.where(attn_mask, scores, banned) if attn_mask.dtype is torch.bool else scores + attn_mask
        # A row that may look at nothing gives zeros.
        nowhere = (scores == -math.inf).all(-1, keepdim=True)
        weights = torch.softmax(scores, -1).masked_fill(nowhere, 0)
    else:
        weights = torch.softmax(scores, -1)
    if dropout_p > 0:
        weights = F.dropout(weights, dropout_p)
    return torch.matmul(weights, value)


def _linear(input, weight, bias=None):
    """Torch's own takes numbers only where it folds the leading dimensions."""
    if bias is None or input.dim() < 3:
        return _torch_linear(input, weight, bias)
    rows = torch.addmm(bias, input.flatten(0, -2), weight.t())
    return rows.view(*input.shape[:-1], weight.shape[0])


def _dropout(input, p=0.5, training=True, inplace=False):
    """One operator; torch asks for the number of elements."""
    return torch.native_dropout(input, p, True)[0] if training and p > 0 else input


def _cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """Torch changes the lengths in place."""
    if x1.dim() != x2.dim():
        x1, x2 = torch.broadcast_tensors(x1, x2)
    a, b = (x / torch.linalg.vector_norm(x, dim=dim, keepdim=True).clamp(min=eps) for x in (x1, x2))
    return (a * b).sum(dim)


def _rms_norm(input, normalized_shape, weight=None, eps=None):
    """Torch changes the mean in place."""
    wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    dims = list(range(-len(normalized_shape), 0))
    mean = wide.pow(2).mean(dims, keepdim=True)
    out = wide * torch.rsqrt(mean + (torch.finfo(wide.dtype).eps if eps is None else eps))
    return (out if weight is None else out * weight).to(input.dtype)


def _max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Torch's own takes numbers only."""
    given = (kernel_size, stride or kernel_size, padding, dilation)
    k, s, p, d = (n[0] if isinstance(n, (tuple, list)) else n for n in given)
    found = F.max_pool2d(input.unsqueeze(-2), (1, k), (1, s), (0, p), (1, d), ceil_mode, return_indices)
    return tuple(t.squeeze(-2) for t in found) if return_indices else found.squeeze(-2)


def _pad(input, pad, mode="constant", value=None):
    """Around: what torch fills in place is lost in a trace."""
    if mode != "circular" or any(not isinstance(n, int) or n < 0 for n in pad):
        return _torch_pad(input, pad, mode, value)
    for dim, (before, behind) in enumerate(zip(pad[::2], pad[1::2])):
        size = input.shape[-1 - dim]
        parts = (input.narrow(-1 - dim, size - before, before), input, input.narrow(-1 - dim, 0, behind))
        input = torch.cat([part for part, n in zip(parts, (before, 1, behind)) if n > 0], -1 - dim)
    return input


def _embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean",
                   sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Of bags of one length: rows, then their sum, mean or maximum."""
    if input.dim() != 2 or max_norm is not None or padding_idx is not None:
        return _torch_embedding_bag(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
                               per_sample_weights, include_last_offset, padding_idx)
    rows = F.embedding(input, weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    return rows.amax(1) if mode == "max" else rows.mean(1) if mode == "mean" else rows.sum(1)


def _bincount(input, weights=None, minlength=0):
    """With a length: of numbers below it, as the problem's outputs have one shape. Else the longest decides, which no trace knows."""
    if minlength == 0:
        return _torch_bincount(input, weights, minlength)
    dtype = torch.int64 if weights is None else torch.float32 if weights.dtype is torch.float32 else torch.float64
    counted = torch.ones_like(input, dtype=dtype) if weights is None else weights.to(dtype)
    return torch.zeros(minlength, dtype=dtype).scatter_add(0, input.long(), counted)


def _scaled(input, size, factors):
    """(sizes of a resized picture, factors that torch takes positions by)."""
    if size is not None:
        return size, [None, None]
    sides = zip(input.shape[2:], factors)
    return [n * int(f) if float(f).is_integer() else torch.sym_int(n * f) for n, f in sides], factors


def _bilinear(input, output_size, align_corners, scale_factors=None):
    """Torch would make it of smaller operators."""
    size, factors = _scaled(input, output_size, scale_factors)
    return torch.ops.aten.upsample_bilinear2d.default(input, size, align_corners, *factors)


def _nearest(input, output_size, scale_factors=None):
    size, factors = _scaled(input, output_size, scale_factors)
    return torch.ops.aten.upsample_nearest2d.default(input, size, *factors)


def _root(x):
    """Python's own makes a number of a size."""
    return torch._sym_sqrt(x) if isinstance(x, (torch.SymInt, torch.SymFloat)) else _python_root(x)


def _gates(input, state, w_ih, w_hh, b_ih, b_hh, count):
    """Both sides' halves of each gate."""
    return _chunk(F.linear(input, w_ih, b_ih), count, -1), _chunk(F.linear(state, w_hh, b_hh), count, -1)


def _gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    (ir, iz, new), (hr, hz, hn) = _gates(input, hx, w_ih, w_hh, b_ih, b_hh, 3)
    update = torch.sigmoid(iz + hz)
    new = torch.tanh(new + torch.sigmoid(ir + hr) * hn)
    return (hx - new) * update + new


def _lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    (ii, jf, ig, io), (hi, hf, hg, ho) = _gates(input, hx[0], w_ih, w_hh, b_ih, b_hh, 4)
    cell = torch.sigmoid(jf + hf) * hx[1] + torch.sigmoid(ii + hi) * torch.tanh(ig + hg)
    return torch.sigmoid(io + ho) * torch.tanh(cell), cell


_PLACES = (
    (F, "cosine_similarity", _cosine_similarity),
    (F, "dropout", _dropout),
    (F, "embedding_bag", _embedding_bag),
    (F, "linear", _linear),
    (F, "max_pool1d", _max_pool1d),
    (F, "pad", _pad),
    (F, "rms_norm", _rms_norm),
    (F, "scaled_dot_product_attention", _attention),
    (math, "sqrt", _root),
    (torch, "bincount", _bincount),
    (torch._C._nn, "upsample_bilinear2d", _bilinear),
    (torch._C._nn, "upsample_nearest2d", _nearest),
    (torch, "chunk", _chunk),
    (torch, "cosine_similarity", _cosine_similarity),
    (torch, "dropout", lambda input, p, train: _dropout(input, p, train)),
    (torch, "gru_cell", _gru_cell),
    (torch, "lstm_cell", _lstm_cell),
    (torch, "max_pool1d", _max_pool1d),
    (torch, "rms_norm", _rms_norm),
    (torch, "split", _split),
    (torch.Tensor, "bincount", _bincount),
    (torch.Tensor, "chunk", _chunk),
    (torch.Tensor, "split", _split),
)
_ORIGINALS = {getattr(owner, name): function for owner, name, function in _PLACES}
_python_root = math.sqrt
_torch_bincount = torch.bincount
_split_by_number = torch.Tensor.split
_torch_linear = F.linear
_torch_pad = F.pad
_torch_embedding_bag = F.embedding_bag


class _OfUsers(TorchFunctionMode):
    """What the problem's code calls, under whatever name it imported it."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return _ORIGINALS.get(function, function)(*args, **(kwargs or {}))


@contextlib.contextmanager
def replaced():
    """While entered, calls of these functions are the ones of this file, in torch's own Python code too."""
    with contextlib.ExitStack() as stack:
        for owner, name, function in _PLACES:
            stack.enter_context(unittest.mock.patch.object(owner, name, function))
        stack.enter_context(_OfUsers())
        yield
