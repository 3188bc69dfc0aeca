# Runs of a reference that are off by what rounding does: in their inputs, or in elementary functions and sums too.
#
# Theory of operation. How a result moves with its inputs shows what the rounding of most intermediate
# results does to it. A function whose value is nearly cancelled is the exception: what a few units in the
# last place of erf(x), the accuracy of libraries that vectorise it (libmvec: 4), do to the tail of a gelu,
# x (1 + erf(x)) / 2, no input's rounding does. A row that was made constant (by a clamp, say) is another:
# its mean is off by a unit in the last place, and a norm divides that by the square root of its eps. So
# MovedFunctions moves the results of elementary functions, sums and means themselves; operators made of such
# run as their decompositions under it. A sequential sum of n equal terms is off by up to n / 2 units, as each
# step rounds the same way, and a variance is made of the square of that: the mean of a row that is constant to
# so many units moves by as many.
#
# A softmax uses each element's difference to the largest one twice, in the sum and in the result. Kernels compute
# it anew in their second pass, where a compiler may join it with the product before it, or they write exp(x - lse(x)).
# Then the two differ by a rounding of x, which moves even the largest element's result, and no input does. So the
# difference in the result of softmax and log_softmax moves, and that in the sum does not: moved both, they would
# cancel in half of the runs.
import functools
import math

import torch

from decomposed import decomposition_of
from dispatch_mode import DispatchMode

_PIECE = 1 << 26  # elements whose factors are made at once
_FUNCTIONS = frozenset(
    """acos acosh asin asinh atan atan2 atanh cos cosh digamma erf erfc erfinv exp exp2 expm1 hypot lgamma
    log log10 log1p log2 logaddexp logaddexp2 pow rsqrt sigmoid sin sinc sinh tan tanh special_erfcx
    special_i0 special_i0e special_i1 special_i1e special_log_ndtr special_ndtri""".split()
)
_SUMS = frozenset("mean sum".split())
_COMPOSITES = frozenset("_scaled_dot_product_attention_math".split())  # torch's C++ makes them of others
_MOST_OF_DIFFERENCE = 0.01  # what a rounding of 1e5 is: a row that is masked by -1e9 as a whole is no softmax of such values
_MADE_OF_THEM = frozenset(
    """_scaled_dot_product_flash_attention_for_cpu binary_cross_entropy
    binary_cross_entropy_with_logits celu elu gelu glu log_sigmoid_forward logit logsumexp mish
    native_batch_norm native_group_norm native_layer_norm selu silu softplus""".split()
)


def perturb(tensor, scale, generator):
    """x * (1 + scale * r), r of {-1, 1}; other dtypes than floating ones are left alone. A large tensor
    is overwritten."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize < 2:
        return tensor
    if tensor.numel() <= _PIECE or not tensor.is_contiguous():
        return tensor * _factors(tensor, scale, generator)
    for piece in tensor.view(-1).split(_PIECE):
        piece.mul_(_factors(piece, scale, generator))
    return tensor


def _signs(tensor, generator):
    """-1 or 1 for each element."""
    signs = torch.randint(0, 2, tensor.shape, generator=generator, dtype=torch.int8, device=tensor.device)
    return signs.mul_(2).sub_(1)


def _factors(tensor, scale, generator):
    return _signs(tensor, generator).to(torch.float64).mul_(scale).add_(1).to(tensor.dtype)


@functools.cache
def _kind(function):
    """("function" | "made" | "composite" | None): what an overload such as aten.exp_.default is."""
    if function.namespace != "aten":
        return None
    name = function._schema.name.removeprefix("aten::")
    for known in (name, name.removesuffix("_")):  # exp_ works in place
        if known in _FUNCTIONS or known in _SUMS:
            return "function"
        if known in _MADE_OF_THEM:
            return "made"
        if known in _COMPOSITES:
            return "composite"
    return None


def _is_product(function, args):
    """x ** 2: libraries multiply."""
    is_power = function._schema.name.startswith("aten::pow")
    return is_power and not isinstance(args[1], torch.Tensor) and float(args[1]).is_integer()


def _variances(variance_of):
    """What replaces each overload of var, std, var_mean and std_mean. variance_of(x, dim, correction=, keepdim=):
    (variance, mean)."""
    by_form = {
        "correction": variance_of,
        "dim": lambda x, dim, unbiased=True, keepdim=False: variance_of(
            x, dim, correction=int(unbiased), keepdim=keepdim
        ),
        "default": lambda x, unbiased=True: variance_of(x, correction=int(unbiased)),
    }
    by_name = {
        "var": lambda variance, mean: variance,
        "var_mean": lambda variance, mean: (variance, mean),
        "std": lambda variance, mean: variance.sqrt(),
        "std_mean": lambda variance, mean: (variance.sqrt(), mean),
    }

    def replacement(form, chosen):
        return lambda *args, **kwargs: chosen(*form(*args, **kwargs))

    return {
        getattr(getattr(torch.ops.aten, name), overload): replacement(form, chosen)
        for overload, form in by_form.items()
        for name, chosen in by_name.items()
    }


class MovedFunctions(DispatchMode):
    """generator: torch.Generator of the signs."""

    def __init__(self, scale, generator):
        super().__init__()
        self._scale = scale
        self._generator = generator
        self._own_forms = _variances(self._variance) | {
            torch.ops.aten._safe_softmax.default: self._safe_softmax,
            torch.ops.aten._softmax.default: self._softmax,
            torch.ops.aten._log_softmax.default: self._log_softmax,
        }

    def _variance(self, x, dim=None, *, correction=None, keepdim=False):
        """(variance, mean), both from a mean that moves."""
        dims = list(range(x.dim())) if not dim else list(dim)
        count = math.prod(x.shape[d] for d in dims)
        mean = torch.mean(x, dims, keepdim=True)
        if x.numel() > 0:
            lost = count * self._scale * mean.abs()
            is_constant = torch.amax((x - mean).abs(), dims, keepdim=True) <= lost
            mean = mean + is_constant * lost / 2 * _signs(mean, self._generator)
        squares = torch.sum((x - mean) ** 2, dims, keepdim=keepdim)
        divisor = max(count - (1 if correction is None else correction), 0)
        return squares / divisor, mean if keepdim else mean.reshape(squares.shape)

    def _below_largest(self, x, dim):
        """(x less the largest of each row and moved by a rounding of either, the sum of each row's exp without that)"""
        largest = torch.amax(x, dim, keepdim=True)
        difference = x - largest
        total = torch.exp(difference).sum(dim, keepdim=True)
        size = x.abs()
        torch.maximum(size, largest.abs(), out=size)
        size.masked_fill_(size.isinf(), 0).mul_(self._scale).clamp_(max=_MOST_OF_DIFFERENCE).mul_(_signs(x, self._generator))
        return difference.add_(size), total

    def _softmax(self, x, dim, half_to_float=False):
        if half_to_float or x.numel() == 0:
            return NotImplemented
        moved, total = self._below_largest(x, dim)
        return moved.exp_().div_(total)

    def _safe_softmax(self, x, dim, dtype=None):
        """Attention's: a row that is masked as a whole is 0."""
        if dtype not in (None, x.dtype) or x.numel() == 0:
            return NotImplemented
        is_masked = (x == -math.inf).all(dim, keepdim=True)
        return self._softmax(x, dim).masked_fill_(is_masked, 0)

    def _log_softmax(self, x, dim, half_to_float=False):
        if half_to_float or x.numel() == 0:
            return NotImplemented
        moved, total = self._below_largest(x, dim)
        return moved.sub_(torch.log(total))

    def _made_of(self, function, kind):
        """What computes the same by operators that move; None: the operator itself."""
        if kind == "made":
            return decomposition_of(function)
        if kind == "composite":
            return function.decompose
        return self._own_forms.get(function)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        kind = _kind(function)
        made_of = self._made_of(function, kind)
        if made_of is not None:
            with self:
                result = made_of(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = function(*args, **kwargs)
        if kind == "function" and not _is_product(function, args) and result.is_floating_point():
            result.mul_(_factors(result, self._scale, self._generator))
        return result
