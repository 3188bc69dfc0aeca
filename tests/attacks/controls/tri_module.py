# A module whose layers are Triton kernels; the parameters are nn.Linear's.
# expect: passed
# problem: triton_mlp
# looks like: nn.Linear, which is never called
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear(x_ptr, w_ptr, b_ptr, y_ptr, n, K, GELU: tl.constexpr, BLOCK: tl.constexpr):
    row, column, at = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * K + at, mask=at < K, other=0.0)
    w = tl.load(w_ptr + column * K + at, mask=at < K, other=0.0)
    y = tl.sum(x * w, axis=0) + tl.load(b_ptr + column)
    if GELU:
        y = 0.5 * y * (1.0 + tl.erf(y * 0.7071067811865476))
    tl.store(y_ptr + row * n + column, y)


def apply(layer, x, gelu):
    y = torch.empty((x.shape[0], layer.out_features), device=x.device)
    linear[y.shape](x, layer.weight, layer.bias, y, y.shape[1], x.shape[1], GELU=gelu, BLOCK=64)
    return y


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, 2 * features)
        self.second = nn.Linear(2 * features, features)

    def forward(self, x):
        return apply(self.second, apply(self.first, x, True), False)
