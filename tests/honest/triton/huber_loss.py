import torch
import triton
import triton.language as tl


@triton.jit
def huber(distance, delta):
    return tl.where(distance < delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))


@triton.jit
def loss_kernel(prediction_ptr, target_ptr, loss_ptr, N, delta, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < N
        prediction = tl.load(prediction_ptr + row * N + columns, mask=mask, other=0.0)
        target = tl.load(target_ptr + row * N + columns, mask=mask, other=0.0)
        total += huber(tl.abs(prediction - target), delta)
    tl.store(loss_ptr + row, tl.sum(total, axis=0))


def run(prediction, target, loss):
    M, N = prediction.shape
    loss_kernel[(M,)](prediction, target, loss, N, 1.5, BLOCK=512)
