import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_P": 32, "BLOCK_O": 32}, num_warps=4),
        triton.Config({"BLOCK_P": 64, "BLOCK_O": 64}, num_warps=8),
    ],
    key=["H", "W"],
)
@triton.jit
def conv_kernel(
    x_ptr, weight_ptr, bias_ptr, y_ptr, H, W, stride_xb, stride_xc, stride_xh, stride_xw,
    C_IN: tl.constexpr, C_OUT: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_O: tl.constexpr,
):
    image = tl.program_id(2)
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    outs = tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O)
    h = pixels // W
    w = pixels % W
    channels = tl.arange(0, C_IN)
    sums = tl.zeros((BLOCK_O, BLOCK_P), tl.float32)
    for tap in range(9):
        source_h = h + tap // 3 - 1
        source_w = w + tap % 3 - 1
        inside = (source_h >= 0) & (source_h < H) & (source_w >= 0) & (source_w < W)
        x_ptrs = x_ptr + image * stride_xb + channels[:, None] * stride_xc + (source_h * stride_xh + source_w * stride_xw)[None, :]
        x = tl.load(x_ptrs, mask=inside[None, :], other=0.0)
        weight = tl.load(weight_ptr + outs[:, None] * (C_IN * 9) + channels[None, :] * 9 + tap)
        sums = tl.dot(weight, x, sums, input_precision="ieee")
    y = tl.maximum(sums + tl.load(bias_ptr + outs)[:, None], 0.0)
    tl.store(y_ptr + (image * C_OUT + outs)[:, None] * (H * W) + pixels[None, :], y, mask=(pixels < H * W)[None, :])


def run(x, weight, bias):
    B, C_in, H, W = x.shape
    C_out = weight.shape[0]
    y = torch.empty((B, C_out, H, W), dtype=x.dtype, device=x.device)
    grid = lambda META: (triton.cdiv(H * W, META["BLOCK_P"]), C_out // META["BLOCK_O"], B)
    conv_kernel[grid](x, weight, bias, y, H, W, *x.stride(), C_IN=C_in, C_OUT=C_out)
    return y
