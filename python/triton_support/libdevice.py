# CUDA's libdevice for Triton's interpreter, in numpy: float32 is computed in float64 and rounded once.
import functools
import inspect
import math
import re
import statistics

import numpy as np
from triton.language.extra import libdevice as any_device
from triton.language.extra.cuda import libdevice


def _each(function):
    """A function of single numbers for arrays; where it has no value, NaN."""

    def value(*numbers):
        try:
            return function(*numbers)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return np.vectorize(value, otypes=[np.float64])


def _round(x):
    """Halves away from zero; numpy's goes to even ones."""
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x)


def _erfinv(x):
    return _normal.inv_cdf((x + 1) / 2) / math.sqrt(2) if abs(x) != 1 else math.inf * x


def _bits(x):
    return x.view(np.dtype(f"uint{8 * x.itemsize}"))


def _count_ones(x):
    return np.unpackbits(np.ascontiguousarray(_bits(x)).view(np.uint8).reshape(*x.shape, x.itemsize), axis=-1).sum(-1)


def _leading_zeros(x):
    return 8 * x.itemsize - np.vectorize(lambda number: int(number).bit_length(), otypes=[np.int64])(_bits(x))


def _first_set(x):
    return np.vectorize(lambda number: (int(number) & -int(number)).bit_length(), otypes=[np.int64])(_bits(x))


_normal = statistics.NormalDist()

# By the name that libdevice has for float64, without "__nv_".
_FLOATS = {
    "abs": np.abs, "fabs": np.abs, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "rcbrt": lambda x: 1 / np.cbrt(x),
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(10.0, x), "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "logb": lambda x: np.floor(np.log2(np.abs(x))),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)), "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)),
    "erf": _each(math.erf), "erfc": _each(math.erfc), "erfinv": _each(_erfinv),
    "tgamma": _each(math.gamma), "lgamma": _each(math.lgamma),
    "normcdf": _each(lambda x: 0.5 * math.erfc(-x / math.sqrt(2))), "normcdfinv": _each(_normal.inv_cdf),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": _round, "rint": np.rint, "nearbyint": np.rint,
    "llrint": np.rint, "llround": _round, "saturate": lambda x: np.nan_to_num(np.clip(x, 0, 1)),
    "pow": np.power, "powi": np.power, "fmod": np.fmod, "remainder": _each(math.remainder),
    "copysign": np.copysign, "nextafter": np.nextafter, "hypot": np.hypot, "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "fdim": lambda x, y: np.where(x > y, x - y, 0 * (x - y)),
    "fdivide": np.divide, "fma": lambda x, y, z: x * y + z, "ldexp": np.ldexp, "scalbn": np.ldexp,
    "norm3d": lambda x, y, z: np.hypot(np.hypot(x, y), z), "rnorm3d": lambda x, y, z: 1 / np.hypot(np.hypot(x, y), z),
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "finite": np.isfinite, "signbit": np.signbit,
    "add_rn": np.add, "sub_rn": np.subtract, "mul_rn": np.multiply, "div_rn": np.divide, "rcp_rn": lambda x: 1 / x,
    "sqrt_rn": np.sqrt, "rsqrt_rn": lambda x: 1 / np.sqrt(x), "fma_rn": lambda x, y, z: x * y + z,
}  # fmt: skip
_BITS = {
    "popc": _count_ones, "popcll": _count_ones, "clz": _leading_zeros, "clzll": _leading_zeros, "ffs": _first_set, "ffsll": _first_set,
    "abs": np.abs, "llabs": np.abs,
    "float_as_int": lambda x: x.view(np.int32), "float_as_uint": lambda x: x.view(np.uint32),
    "int_as_float": lambda x: x.view(np.float32), "uint_as_float": lambda x: x.view(np.float32),
    "double_as_longlong": lambda x: x.view(np.int64), "longlong_as_double": lambda x: x.view(np.float64),
}  # fmt: skip
_TO_INTEGERS = re.compile(r"(?:float|double)2(?:int|uint|ll|ull)_r([nzud])")
_ROUNDED = {"n": np.rint, "z": np.trunc, "u": np.ceil, "d": np.floor}
_FROM_INTEGERS = re.compile(r"(?:int|uint|ll|ull)2(?:float|double)_rn")


def _named(symbol):
    """float64's name of a symbol: __nv_erff, __nv_fast_expf, __nv_fadd_rn, __nv_isnand"""
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    shorter = (name, name[:-1], name[1:], name[:-4] + name[-3:])  # fma_rn of float32 is fmaf_rn
    return next((known for known in shorter if known in _FLOATS), None)


def call(symbol, arrays, dtype):
    """What the libdevice function `symbol` gives for numpy arrays, in `dtype`."""
    plain = symbol.removeprefix("__nv_")
    if rounding := _TO_INTEGERS.fullmatch(plain):
        return _ROUNDED[rounding[1]](arrays[0]).astype(dtype)
    if _FROM_INTEGERS.fullmatch(plain):
        return arrays[0].astype(dtype)
    exact = _BITS.get(plain)
    if exact is not None and (symbol != "__nv_abs" or arrays[0].dtype.kind == "i"):
        return exact(*map(np.ascontiguousarray, arrays)).astype(dtype)
    name = _named(symbol)
    if name is None:
        raise NotImplementedError(f"libdevice's {symbol} is not supported where kernels are interpreted")
    wide = [array.astype(np.float64) if array.dtype.kind == "f" and name != "nextafter" else array for array in arrays]
    return _FLOATS[name](*wide).astype(dtype)


def install(semantic):
    """Makes Triton's two modules of libdevice callable in the interpreter; semantic: the interpreter's."""
    for name, function in inspect.getmembers(libdevice, inspect.isfunction):
        if not getattr(function, "__triton_builtin__", False):
            continue
        interpreted = _interpreted(function, semantic)
        setattr(libdevice, name, interpreted)
        stand_in = getattr(any_device, name, None)
        if stand_in is not None:
            setattr(any_device, name, functools.wraps(stand_in)(_interpreted(function, semantic)))


def _interpreted(function, semantic):
    @functools.wraps(function)
    def call_it(*args, _semantic=None, **kwargs):
        return function(*args, _semantic=semantic, **kwargs)

    return call_it
