"""Cases of loops_equality.py. Inputs: "[KIND ]DIM,DIM" separated by ";", "-" being no dimension."""
import dataclasses
import math
import typing

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Case:
    name: str
    function: typing.Callable
    inputs: str
    sets: list
    tolerance: float = 0
    rounded: bool = False
    static: bool = False  # traced anew for each size set, sizes as numbers


CASES = []


def case(name, function, inputs, *sets, **options):
    CASES.append(Case(name, function, inputs, list(sets) or [DEFAULT, ODD], **options))


DEFAULT = {"B": 2, "C": 4, "H": 6, "W": 8, "N": 12, "M": 5, "K": 3}
ODD = {"B": 3, "C": 8, "H": 7, "W": 11, "N": 30, "M": 13, "K": 9}
ALL = "B,C,H,W"

# ---- views ----
case("view_merge", lambda x: x.view(x.shape[0], -1) + 1, ALL)
case("view_split", lambda x: x.view(x.shape[0], 2, x.shape[1] // 2, -1).transpose(1, 2).reshape(x.shape[0], x.shape[1], -1) * 2, ALL)
case("view_back", lambda x: x.flatten().view(x.shape).mul(3), ALL)
case("view_of_transposed", lambda x: x.transpose(1, 3).reshape(x.shape[0], -1).exp(), ALL)
case("transposed_tiles", lambda x, y: (x.permute(2, 0, 1) + y, x.transpose(1, 2).half(), torch.where(y > 0, x.permute(2, 0, 1), 0)), "B,N,M;M,B,N", {"B": 2, "N": 37, "M": 50}, {"B": 3, "N": 19, "M": 33}, rounded=True, tolerance=1e-6)
case("permute_reshape_permute", lambda x: x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1]).transpose(1, 2).contiguous(), ALL)
case("expand", lambda x, y: x.unsqueeze(1).expand(-1, y.shape[0], -1) + y, "B,N;M,N")
case("squeeze", lambda x: x.unsqueeze(0).unsqueeze(-1).squeeze(0).squeeze() + 1, "B,N")
case("slice_steps", lambda x: x[:, 1:-1:2, -3:] + x[:, :1, :3], "B,N,M")
case("select_narrow", lambda x: x[:, -1] * x.narrow(1, 0, 1).squeeze(1) + x[0, 2], "B,N,M")
case("split_chunk", lambda x: (lambda a, b: a * b)(*x.chunk(2, dim=1)), "B,N,M")
case("split_uneven", lambda x: x.split([1, 3, 8], dim=-1)[1] + 1, "B,12", DEFAULT, ODD)
case("unbind_stack", lambda x: torch.stack(x.unbind(1)[::-1], -1), "B,4,M")
case("diagonal", lambda x: x.diagonal(1, -2, -1) + x.diagonal(-1, -2, -1), "B,N,N")
case("flip_roll", lambda x: x.flip(0, -1).roll((1, -2), (0, 1)), "B,N,M")
case("roll_flat", lambda x: x.roll(5), "N,M")
case("cat", lambda x, y: torch.cat([x, y * 2, x], 1), "B,N,M;B,K,M")
case("stack_pad", lambda x, y: F.pad(torch.stack([x, y], 1), (1, 2, 0, 1, 3, 0), value=0.5), "B,N;B,N")
case("pad_negative", lambda x: F.pad(x, (-1, 2, 2, -1)), "B,N,M")
case("pad_reflect", lambda x: F.pad(x, (2, 1, 1, 2), mode="reflect"), ALL)
case("pad_replicate", lambda x: F.pad(x, (2, 1, 1, 3), mode="replicate"), ALL)
case("empty_filled", lambda x: _filled(x), "N,M")
case("repeat_tile", lambda x: x.repeat(2, 1, 3) + x.tile(2, 1, 3), "B,N,M")
case("repeat_interleave", lambda x: x.repeat_interleave(3, dim=1), "B,N")
case("tril_triu", lambda x: x.tril(1) + x.triu(-1) * 2 + x.tril(-2), "B,N,M")
case("unfold", lambda x: x.unfold(1, 3, 2).sum(-1), "B,N")
case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), ALL)
case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), "B,C,H*2,W*2")
case("channel_shuffle", lambda x: x.view(x.shape[0], 2, -1, x.shape[2], x.shape[3]).transpose(1, 2).reshape(x.shape), ALL)
case("window_partition", lambda x: x.view(x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2, x.shape[3]).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, x.shape[3]) + 1, "B,2*H,2*W,C")
case("in_place", lambda x: _in_place(x), "B,N")
case("movedim_outer", lambda x, y: torch.outer(x, y).movedim(0, 1).contiguous(), "N;M")
case("diag_embed", lambda x: torch.diag_embed(x, 1), "B,M")
case("output_is_input_view", lambda x: (x.transpose(0, 1), x, x + 1), "N,M")


def _in_place(x):
    y = x.clone()
    y[:, 1:3] = 7
    y[:, ::2] += 1
    y[0] *= 3
    return y


def _filled(x):
    y = x.new_empty(x.shape[0], x.shape[1] + 3)
    y[:, 2:-1] = x
    y[:, :2] = x[:, -2:]
    y[:, -1:] = x[:, :1]
    return y


# ---- made from sizes ----
case("arange_eye", lambda x: x + torch.arange(x.shape[1]) + torch.eye(x.shape[0], x.shape[1]).double(), "N,M")
case("full_ones", lambda x: torch.full_like(x, 2.5) + torch.ones(x.shape[0], 1) - torch.zeros_like(x), "N,M")
case("linspace", lambda x: x * torch.linspace(-1, 2, x.shape[0], dtype=x.dtype), "N", tolerance=1e-6)
case("causal_mask", lambda x: x.masked_fill(torch.ones(x.shape[0], x.shape[0]).triu(1).bool(), -math.inf).softmax(-1), "N,N")
case("arange_float", lambda x: x * torch.arange(1, 2 * x.shape[0], 2, dtype=x.dtype), "N")
case("position_frequencies", lambda x: x + torch.exp(torch.arange(0, x.shape[1], dtype=x.dtype) * -0.1).sin(), "M,N")
case("size_as_number", lambda x: x / x.shape[0] + x.shape[1], "N,M")

# ---- pointwise ----
for _name in ("abs exp exp2 expm1 log1p sin cos tan sinh cosh tanh asinh atan erf erfc sigmoid floor ceil round trunc sign neg frac square "
              "relu isnan logical_not deg2rad positive").split():
    case(_name, getattr(torch, _name), "N,M")
for _name in "log log2 log10 sqrt rsqrt reciprocal lgamma".split():
    case(_name, getattr(torch, _name), "positive N,M")
for _name in "asin acos atanh erfinv logit".split():
    case(_name, getattr(torch, _name), "unit N,M", tolerance=1e-8)
case("acosh", lambda x: torch.acosh(x + 1), "positive N")
for _name in ("add sub mul div atan2 hypot maximum minimum fmax fmin fmod remainder floor_divide eq ne lt le gt ge logaddexp logaddexp2 "
              "logical_and logical_or logical_xor copysign").split():
    case(_name, getattr(torch, _name), "B,N,M;N,1")
case("alpha", lambda x, y: torch.add(x, y, alpha=2) - torch.sub(x, y, alpha=0.5) + torch.rsub(x, 3), "N;N")
case("div_modes", lambda x, y: torch.div(x, y, rounding_mode="floor") + torch.div(x, y, rounding_mode="trunc"), "N;N")
case("powers", lambda x: x**2 + x**3 - x**0.5 + x**-1 + x**-0.5 + x**1.7 + 2**x + x**-2 + x**4, "positive N")
case("pow_tensor", lambda x, y: x**y, "positive N;N")
case("xlogy", lambda x, y: torch.xlogy(x.relu(), y), "N;positive N")
case("where", lambda x, y: torch.where(x > 0, x, y) + torch.where(y > 0, 1.5, 0.0), "N,M;M")
case("clamps", lambda x, y: x.clamp(-0.5, 0.5) + x.clamp_min(0.1) + x.clamp_max(0.2) + x.clamp(min=y) + x.clip(max=y), "N;N")
case("masked_fill", lambda x, m: x.masked_fill(m, -1) + x.masked_fill(~m, x.sum()), "N,M;bool N,M")
case("lerp", lambda x, y, w: torch.lerp(x, y, w) + torch.lerp(x, y, 0.7), "N;N;N")
case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5) + torch.addcdiv(x, y, z.abs() + 1), "N;N;N")
case("nan_to_num", lambda x: torch.nan_to_num(torch.log(x), 1.0, 2.0, -3.0), "N")
case("round_decimals", lambda x: torch.round(x * 10, decimals=1), "N")
case("integers", lambda x, y: (x // 3, x % 3, x * y - 7, x.abs() + x.neg(), x & 12, x | y, x ^ 5, ~x, x << 2, x >> 1, x.clamp(-3, 3), x / 2, x > y, x.pow(2)),
     "int32 N;int32 N", rounded=True, tolerance=1e-6)
case("wrapping", lambda x: (x * 1103515245 + 12345) ^ (x << 13), "int32 N", rounded=True)
case("bytes", lambda x: (x + 250, x.float() / 255, (x * 3).to(torch.int8), x.to(torch.int32) - 300), "uint8 N", rounded=True, tolerance=1e-6)
case("casts", lambda x: (x.to(torch.int32), (x * 100).to(torch.int8), x > 0.5, (x > 0).to(torch.float32) * 2, x.bool(), x.long().float()), "N", rounded=True, tolerance=1e-6)
case("mixed_types", lambda x, i, b: (x + i, x * b, i * b, i / 2, x > i, i + 1.5, b + 1, torch.where(b, i, 0)), "N;int64 N;bool N", tolerance=1e-6)
case("promotion_of_comparison", lambda i: (i < 2.5, i == 3, i >= 1.0), "int64 N")
case("sum_of_booleans", lambda x, m: (m.sum(), (x > 0).sum(0), m.any(), m.all(0), m.float().mean()), "N,M;bool N,M", tolerance=1e-6)

# ---- activations ----
def _of_one(function):
    return lambda x: function(x)


for _name in "gelu silu mish softplus elu selu celu leaky_relu hardtanh hardsigmoid hardswish hardshrink softshrink logsigmoid relu6 tanhshrink softsign".split():
    case("F." + _name, _of_one(getattr(F, _name)), "N,M")
case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), "N")
case("activations_with_numbers", lambda x: F.softplus(x, 2, 1) + F.elu(x, 0.3) + F.celu(x, 2.0) + F.leaky_relu(x, 0.2) + F.hardtanh(x, -0.2, 0.3) + F.threshold(x, 0.1, 5), "N")
case("prelu", lambda x, w: F.prelu(x, w), "B,C,H;C")
case("prelu_one", lambda x, w: F.prelu(x, w), "B,C,H;1")
case("glu", lambda x: F.glu(x, 1) + F.glu(x, 1).flip(1), "B,C,H")

# ---- reductions ----
case("sums", lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(), x.mean(-1), x.mean((1, 2)), x.sum(-1, keepdim=True) * x), "B,N,M")
case("prods", lambda x: (x.prod(1), x.prod()), "B,M")
case("extremes", lambda x: (x.amax(1), x.amin((0, 2)), x.max(), x.min(), x.max(1).values, x.max(-1, keepdim=True).indices, x.min(0).indices, x.aminmax(dim=1)[1]), "B,N,M")
case("arg_extremes", lambda x: (x.argmax(), x.argmin(), x.argmax(1), x.argmin(-1, keepdim=True)), "ties N,M")
case("truths", lambda x: ((x > 2).any(), (x > -2).all(1), (x > 0).any(0, keepdim=True), torch.count_nonzero(x > 0, 1)), "N,M")
case("variances", lambda x: (x.var(), x.var(1), x.std((0, 2), unbiased=False, keepdim=True), x.var(2, correction=3), *torch.var_mean(x, 1), torch.std_mean(x, dim=0)[1]), "B,N,M")
case("norms", lambda x: (x.norm(), x.norm(dim=1), x.norm(p=1, dim=-1), x.norm(p=math.inf), torch.linalg.vector_norm(x, 3, dim=1, keepdim=True), torch.linalg.norm(x)), "N,M")
case("logsumexp", lambda x: (x.logsumexp(1), x.logsumexp((0, 1), keepdim=True), (x * 1000).logsumexp(-1)), "N,M")
case("softmax", lambda x: (x.softmax(-1), x.softmax(1), x.log_softmax(0), F.softmin(x, 1), (x * 500).softmax(1)), "B,N,M")
case("normalize", lambda x: F.normalize(x, dim=1) + F.normalize(x, p=1, dim=-1), "B,N,M")
case("cosine", lambda x, y: F.cosine_similarity(x, y, dim=1), "B,N,M;B,N,M")
case("integer_reductions", lambda x: (x.sum(), x.sum(1), x.max(), x.amin(1), x.prod(1), x.argmax(0)), "int32 5,7", rounded=True)
case("zero_rank", lambda x: (x.sum().softmax(0), x.sum().sum(), x.mean().amax(), x.sum().argmax()), "N")
case("nan_extremes", lambda x: (x.log().max(1).values, x.log().argmin(1), x.log().amax()), "N,M")

# ---- normalisation ----
case("layer_norm", lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b) + F.layer_norm(x, x.shape[-2:]), "B,N,M;M;M")
case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b, 1e-3), ALL + ";C;C")
case("group_norm_flat", lambda x: F.group_norm(x, 4), "B,8")
case("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), ALL + ";C;C")
case("batch_norm", lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b), ALL + ";C;C;C;positive C")
case("batch_norm_training", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), ALL + ";C;C")
case("rms_norm", lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-5), "B,N,M;M")
case("rms_norm_by_hand", lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, "B,N,M;M")
case("weight_norm", lambda v, g: torch._weight_norm(v, g, 0), "C,N,M;C,1,1")
case("local_response_norm", lambda x: F.local_response_norm(x, 3), ALL)

# ---- scans ----
case("scans", lambda x: (x.cumsum(1), x.cumsum(0), x.cumprod(-1), x.logcumsumexp(1), (x * 400).logcumsumexp(1)), "B,N,M")
case("cummax", lambda x: (*x.cummax(1), *x.cummin(0)), "ties N,M")
case("reverse_cumsum", lambda x: (x.flip(1).cumsum(1).flip(1), x.flip(1).cumsum(1)), "B,N,M")
case("scans_of_rows", lambda x: (x.cumsum(-1), x.cumprod(-1), x.cummax(-1)[0], x.cummin(-1).values, x.logcumsumexp(-1), x.flip(-1).cumsum(-1).flip(-1)), "M,N")
case("integer_scans_of_rows", lambda x: (x.cumsum(1), x.cummax(1)[0], x.cummin(1)[0]), "int32 M,N", rounded=True)
case("long_lanes", lambda x: (x.sum(0), x.logsumexp(0), x.cumsum(0), x.logcumsumexp(0)), "N,M", {"N": 1030, "M": 3}, {"N": 1100, "M": 2})
case("long_rows", lambda x: (x.softmax(-1), x.sum()), "M,N", {"N": 9001, "M": 2}, {"N": 8500, "M": 3})
case("exclusive_cumsum", lambda x: F.pad(x, (1, 0)).cumsum(-1)[:, :-1], "B,N")
case("masked_cumsum", lambda x, m: (x * m).cumsum(1), "B,N;bool B,N")
case("integer_cumsum", lambda x: (x.cumsum(0), x.cumprod(0)), "int32 N", rounded=True)

# ---- products ----
case("mm", lambda x, y: x @ y, "N,K;K,M")
case("wide_mm", lambda x, y: x @ y, "N,K;K,M", {"N": 150, "K": 70, "M": 300}, {"N": 129, "K": 33, "M": 65})
case("mm_transposed", lambda x, y: x.t() @ y.t(), "K,N;M,K")
case("bmm", lambda x, y: torch.bmm(x, y.transpose(1, 2)), "B,N,K;B,M,K")
case("byte_products", lambda a, b: ((a.to(torch.float64) @ b.to(torch.float64)).to(torch.int32), a.float() @ b.float() * 0.5), "int8 M,N;int8 N,K")
case("matmul_broadcast", lambda x, y: x @ y, "B,C,N,K;K,M")
case("matmul_batched", lambda x, y: torch.matmul(x, y), "B,C,N,K;C,K,M")
case("matmul_vector", lambda x, y: (x @ y, y @ y, y @ x.t()), "N,K;K")
case("addmm", lambda x, y, z: (torch.addmm(z, x, y, beta=0.5, alpha=2), torch.addmm(z, x, y)), "N,K;K,M;M")
case("baddbmm", lambda x, y, z: torch.baddbmm(z, x, y, beta=0.5, alpha=0.25), "B,N,K;B,K,M;B,N,M")
case("product_of_terms", lambda x, y: (x.unsqueeze(-1) * y).sum(1) + (x.unsqueeze(1) * y.t()).sum(-1), "N,K;K,M", tolerance=1e-6)
case("columns_of_terms", lambda x, w: ((x - w).square().mean(0), (x * w).amax(0)), "N,M;M", tolerance=1e-6)
case("embedding_bag", lambda i, t, w: (t[i] * w.unsqueeze(-1)).sum(1), "index:7 B,N;7,M;B,N", tolerance=1e-6)
case("linear_of_sum", lambda x, e, w, b: F.linear(x + e, w, b), "B,N,K;N,K;M,K;M", tolerance=1e-6)
case("linear", lambda x, w, b: F.linear(x, w, b), "B,N,K;M,K;M")
case("bilinear", lambda x, y, w, b: F.bilinear(x, y, w, b), "B,M,N;B,M,K;C,N,K;C")
case("bilinear_einsum", lambda x, y, w: torch.einsum("bi,oij,bj->bo", x, w, y), "B,N;B,M;C,N,M")
case("einsum", lambda x, y: torch.einsum("bhnd,bhmd->bhnm", x, y), "B,C,N,K;B,C,M,K")
case("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), "B,C,N,K;B,C,M,K;B,C,M,K")
case("attention_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), "B,C,N,K;B,C,N,K;B,C,N,K")
case("attention_mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), "B,C,N,K;B,C,M,K;B,C,M,K;N,M")
case("cdist", lambda x, y: torch.cdist(x, y) + torch.cdist(x, y, p=1), "B,N,K;B,M,K", tolerance=1e-6)
case("outer_trace", lambda x, y: torch.outer(x, y) + torch.trace(torch.outer(x, x)), "N;M")
case("addmv", lambda x, m, v: torch.addmv(x, m, v) + torch.addr(m, x, v).sum(), "N;N,M;M")
case("low_rank", lambda x, a, b: (x @ a) @ b + x, "N,M;M,K;K,M")

# ---- convolutions ----
case("conv1d", lambda x, w, b: F.conv1d(x, w, b, padding=1), "B,C,N;M,C,3;M")
case("conv1d_strided", lambda x, w: F.conv1d(x, w, stride=2, dilation=3, padding=4), "B,C,N;M,C,3")
case("conv2d", lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2)), ALL + ";M,C,3,2;M")
case("conv2d_grouped", lambda x, w, b: F.conv2d(x, w, b, groups=2, padding=1), ALL + ";6,C//2,3,3;6")
case("conv2d_depthwise", lambda x, w: F.conv2d(x, w, groups=x.shape[1]), ALL + ";C,1,3,3")
case("conv2d_same", lambda x, w: F.conv2d(x, w, padding="same"), ALL + ";M,C,3,3")
case("conv2d_pointwise", lambda x, w: F.conv2d(x, w), ALL + ";M,C,1,1")
case("conv2d_one_channel", lambda x, w: F.conv2d(x, w), ALL + ";1,C,3,3")
case("conv2d_patches", lambda x, w: F.conv2d(x, w, stride=2).flatten(2).transpose(1, 2), ALL + ";M,C,2,2")
case("conv3d", lambda x, w: F.conv3d(x, w, stride=(1, 2, 1), padding=1), "B,2,5,H,W;3,2,3,3,3")
case("conv_transpose1d", lambda x, w, b: F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1), "B,C,N;C,M,3;M")
case("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), padding=(1, 0), output_padding=(1, 2)), ALL + ";C,3,3,4")
case("conv_transpose2d_grouped", lambda x, w: F.conv_transpose2d(x, w, groups=2, stride=2), ALL + ";C,3,2,2")
case("conv_transpose2d_dilated", lambda x, w: F.conv_transpose2d(x, w, dilation=2, stride=3, padding=1), ALL + ";C,2,3,3")
case("conv_transpose2d_plain", lambda x, w: F.conv_transpose2d(x, w, padding=1), ALL + ";C,2,3,3")
case("conv_transpose3d", lambda x, w: F.conv_transpose3d(x, w, stride=2), "B,2,3,4,M;2,3,2,3,2")
case("conv_of_padded", lambda x, w: F.conv2d(F.pad(x, (1, 0, 2, 1)), w), ALL + ";M,C,3,3")

# ---- pooling and resizing ----
case("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), "B,C,N")
case("max_pool2d", lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 0), 1, ceil_mode=True), ALL)
case("max_pool2d_dilated", lambda x: F.max_pool2d(x, 2, 1, 1, 2), ALL)
case("max_pool2d_indices", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), "ties " + ALL)
case("max_pool3d", lambda x: F.max_pool3d(x, 2, return_indices=True), "B,2,4,H,W")
case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), "B,C,N")
case("avg_pool2d", lambda x: F.avg_pool2d(x, (3, 2), (2, 2), (1, 1)), ALL)
case("avg_pool2d_ceil", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), ALL)
case("avg_pool2d_inside", lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), ALL)
case("avg_pool2d_divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), ALL)
case("avg_pool3d", lambda x: F.avg_pool3d(x, 2, 1, 1), "B,2,4,H,W")
case("sum_over_padded_windows", lambda x: F.avg_pool1d(x.sigmoid(), 2, 2, 1).mean(-1), "B,K,N", {"B": 2, "K": 3, "N": 300}, {"B": 1, "K": 2, "N": 533}, tolerance=1e-6)
case("first_of_padded", lambda x: (F.pad(-x.abs(), (3, 200)).argmax(-1), F.pad(x, (2, 1), value=-9.0).argmin(-1), F.pad(x, (1, 1)).argmax(-1)), "B,N", {"B": 3, "N": 290}, {"B": 2, "N": 531})
case("conv_of_a_part", lambda x, w: F.conv2d((x * 2)[..., :-1], w, padding=1, dilation=2), "B,C,H,W;K,C,2,2")
case("adaptive_avg_pool", lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_avg_pool2d(x, (None, 2))), ALL)
case("adaptive_avg_pool_exact", lambda x: F.adaptive_avg_pool2d(x, (3, 4)), "B,C,6,8")
case("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 5), "B,C,N")
case("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (2, 3, 1)), "B,2,4,H,W")
case("adaptive_max_pool", lambda x: (F.adaptive_max_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x, 2, return_indices=True)[1], F.adaptive_max_pool1d(x[0], 4)), ALL)
case("unbatched_pool", lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2), "C,H,W")
case("upsample_nearest", lambda x: F.interpolate(x, scale_factor=2) + F.interpolate(x, size=(2 * x.shape[2], 2 * x.shape[3])), ALL, static=True)
case("upsample_nearest_sizes", lambda x: F.interpolate(x, size=(13, 5)), ALL, static=True)
case("upsample_nearest_1_3", lambda x: (F.interpolate(x[:, :, 0], scale_factor=3), F.interpolate(x.unsqueeze(2), scale_factor=(2, 1, 2))), ALL, static=True)
case("upsample_nearest_exact", lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), ALL, static=True)
case("upsample_bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), ALL, tolerance=1e-6, static=True)
case("upsample_bilinear_corners", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), ALL, tolerance=1e-6, static=True)
case("upsample_bilinear_size", lambda x: F.interpolate(x, size=(9, 4), mode="bilinear"), ALL, tolerance=1e-6, static=True)
case("upsample_linear", lambda x: F.interpolate(x, scale_factor=3, mode="linear"), "B,C,N", tolerance=1e-6, static=True)
case("upsample_trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), "B,1,3,4,M", tolerance=1e-6, static=True)
case("upsample_bicubic", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), ALL, tolerance=1e-6, static=True)
case("fold_of_unfold", lambda x: F.unfold(x, 3, padding=1), ALL)

# ---- indices ----
case("embedding", lambda w, i: F.embedding(i, w), "N,M;index:{N} B,K")
case("gathers", lambda x, i: (x.gather(1, i), x.index_select(1, i[0]), torch.take_along_dim(x, i, 1)), "B,N;index:{N} B,K")
case("index", lambda x, i, j: (x[i], x[i, j], x[:, i], x[i[:, None], j], x[i, :, j], x[-i]), "N,N,N;index:{N} K;index:{N} K", DEFAULT, {"N": 13, "K": 4})
case("index_of_view", lambda x, i: x.transpose(0, 1).reshape(-1, 2)[i], "N,4;index:{N} K")
case("put", lambda x, i, v: (x.index_put((i,), v, accumulate=True), x.index_fill(0, i, 2.0), x.index_copy(0, torch.arange(3), v[:3])), "N,M;index:{N} K;K,M")
case("scatters", lambda x, i, s: (x.scatter_add(1, i, s), x.scatter(1, i % 1, 4.0), x.scatter_reduce(1, i, s, "amax"), x.scatter_reduce(1, i, s, "prod")), "B,N;index:{N} B,K;B,K")
case("index_add", lambda x, i, s: x.index_add(0, i, s, alpha=2), "N,M;index:{N} K;K,M")
case("stack_of_rows", lambda x, y: F.mish(torch.stack((x.prod(0), y)) * 2) + 1, "M,N;N")
case("one_hot", lambda i: F.one_hot(i, 12), "index:12 N", static=True)
case("bincount", lambda i: torch.zeros(12, dtype=torch.int64).index_add(0, i, torch.ones_like(i)), "index:12 N")
case("search", lambda x, b: (torch.bucketize(x, b.cumsum(0)), torch.searchsorted(b.cumsum(0), x, right=True)), "N;positive M")
case("sorts", lambda x: (*x.sort(), *x.sort(1, descending=True), x.argsort(0)), "B,N,M")
case("float16_rounded_lines", lambda x: x.half().cumsum(-1, dtype=torch.float32), "N", {"N": 700}, {"N": 1031}, rounded=True, tolerance=1e-6)
case("float16_lines", lambda x: (x.softmax(-1), (x * 2 + 1).sum(-1), x.exp()), "float16 M,N", {"M": 3, "N": 700}, {"M": 2, "N": 1031}, rounded=True)
case("long_topk", lambda x: (*x.topk(5), *x.topk(3, largest=False)), "M,N", {"N": 700, "M": 4}, {"N": 1031, "M": 3})
case("topk", lambda x: (*x.topk(3), *x.topk(2, dim=0, largest=False)), "N,M")
case("kth", lambda x: (x.kthvalue(2, 0).values, x.median(1).values, x.median()), "N,M")
case("stable_sort", lambda x: x.sort(stable=True, dim=1), "ties N,M")

# ---- losses ----
case("regression_losses", lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y, beta=0.5), F.huber_loss(x, y, delta=0.7),
                                        F.mse_loss(x, y, reduction="none"), F.soft_margin_loss(x, y.sign())), "N,M;N,M")
case("cross_entropy", lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="none"), F.nll_loss(x, t, reduction="sum")), "N,C;index:{C} N")
case("long_nll_loss", lambda x, t, w: F.nll_loss(x, t, w), "N,C;index:{C} N;positive C", {"N": 700, "C": 5}, {"N": 1031, "C": 7})
case("cross_entropy_forms", lambda x, t, w: (F.cross_entropy(x, t, w), F.cross_entropy(x, t, w, ignore_index=1, label_smoothing=0.1)), "N,C;index:{C} N;positive C")
case("cross_entropy_2d", lambda x, t: F.cross_entropy(x, t), "B,C,H;index:{C} B,H")
case("binary_losses", lambda x, y, w: (F.binary_cross_entropy(y, x.sigmoid()), F.binary_cross_entropy_with_logits(x, y),
                                       F.binary_cross_entropy_with_logits(x, y, pos_weight=w, reduction="sum")), "N,M;unit N,M;positive M")
case("other_losses", lambda x, y, t: (F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), F.hinge_embedding_loss(x, t.sign()),
                                      F.cosine_embedding_loss(x, y, t[:, 0].sign()), F.margin_ranking_loss(x, y, t.sign()), F.triplet_margin_loss(x, y, t),
                                      F.poisson_nll_loss(x, y.abs())), "N,M;N,M;N,M")

# ---- 16-bit types ----
for _kind in ("bfloat16", "float16"):
    case(_kind + "_pointwise", lambda x, y: (F.gelu(x) * y + 1, F.silu(x), x / 3, x.softmax(-1), x.sum(-1), x.amax(0), (x > y).float(), x.float().to(x.dtype)), f"{_kind} N,M;{_kind} N,M")
    case(_kind + "_layers", lambda x, w: (F.linear(x, w), F.layer_norm(x, (x.shape[-1],)), x.cumsum(1), x.mean(0), F.rms_norm(x, (x.shape[-1],))), f"{_kind} N,M;{_kind} K,M")
case("bfloat16_rounding", lambda x: ((x + 1) - 1) * 3, "bfloat16 N", tolerance=1e-12)
case("float16_rounding", lambda x: ((x + 1) - 1) * 3, "float16 N", tolerance=1e-12)
