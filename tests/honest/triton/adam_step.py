import torch
import triton
import triton.language as tl


@triton.jit
def adam_kernel(
    parameter_ptr, gradient_ptr, first_ptr, second_ptr,
    new_parameter_ptr, new_first_ptr, new_second_ptr,
    rate, beta1, beta2, one_minus_beta1, one_minus_beta2, n,
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    parameter = tl.load(parameter_ptr + offsets, mask=mask)
    gradient = tl.load(gradient_ptr + offsets, mask=mask)
    first = beta1 * tl.load(first_ptr + offsets, mask=mask) + one_minus_beta1 * gradient
    second = beta2 * tl.load(second_ptr + offsets, mask=mask) + one_minus_beta2 * gradient * gradient
    tl.store(new_first_ptr + offsets, first, mask=mask)
    tl.store(new_second_ptr + offsets, second, mask=mask)
    tl.store(new_parameter_ptr + offsets, parameter - rate * first / (tl.sqrt_rn(second) + 1e-8), mask=mask)


def run(parameter, gradient, first, second, rate, beta1, beta2):
    new_parameter = torch.empty_like(parameter)
    new_first = torch.empty_like(parameter)
    new_second = torch.empty_like(parameter)
    n = parameter.numel()
    # The complements are taken in double precision on the host.
    adam_kernel[(triton.cdiv(n, 1024),)](
        parameter, gradient, first, second, new_parameter, new_first, new_second,
        rate, beta1, beta2, 1 - beta1, 1 - beta2, n, BLOCK=1024,
    )
    return new_parameter, new_first, new_second
