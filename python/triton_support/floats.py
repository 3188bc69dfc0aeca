# bfloat16 and the 8-bit floats, which Triton's interpreter keeps as whole numbers of their size: their values, and rounding to them.
import numpy as np

_WIDTHS = {"bf16": np.uint16, "fp8e4nv": np.uint8, "fp8e5": np.uint8, "fp8e4b15": np.uint8, "fp8e4b8": np.uint8, "fp8e5b16": np.uint8}
_values = {}  # name -> the float32 values of all bit patterns of an 8-bit float


def is_narrow(dtype):
    """Whether the interpreter keeps this dtype of Triton as bits."""
    return dtype.name in _WIDTHS


def to_float32(bits, dtype):
    """The exact values of bits (uint16 of bfloat16, uint8 of an 8-bit float) as float32."""
    if dtype.name == "bf16":
        return (np.ascontiguousarray(bits).astype(np.uint32) << 16).view(np.float32).reshape(np.shape(bits))
    return _values_of(dtype)[bits]


def from_float32(values, dtype, to_zero=False):
    """The bits of the nearest values of dtype, ties to even; to_zero: of the next ones towards zero.

    Beyond the largest value bfloat16 gives infinity, and an 8-bit float its largest value, as NVIDIA's conversions do.
    """
    values = np.asarray(values, dtype=np.float32)
    return _to_bfloat16(values, to_zero) if dtype.name == "bf16" else _to_float8(values, dtype, to_zero)


def _to_bfloat16(values, to_zero):
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    up = np.uint32(0) if to_zero else np.uint32(0x7FFF) + ((bits >> 16) & 1)
    rounded = ((bits + up) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded)


def _to_float8(values, dtype, to_zero):
    positive = _values_of(dtype)[:128].astype(np.float64)
    finite = positive[np.isfinite(positive)]  # rising, as their bits are
    size = np.abs(values).astype(np.float64)
    if to_zero:
        at = np.searchsorted(finite, size, side="right") - 1
    else:
        middles = (finite[1:] + finite[:-1]) / 2
        at = np.searchsorted(middles, size, side="left")
        tied = (at < len(middles)) & (middles[np.minimum(at, len(middles) - 1)] == size)
        at = at + (tied & (at % 2 == 1))
    bits = at.astype(np.uint8) | (np.signbit(values).astype(np.uint8) << 7)
    nan = np.uint8(0x80 if dtype.name in ("fp8e4b8", "fp8e5b16") else 0x7F)
    return np.where(np.isnan(values), nan, bits).astype(np.uint8)


def _values_of(dtype):
    if dtype.name not in _values:
        _values[dtype.name] = _all_values(dtype.name, dtype.fp_mantissa_width, dtype.exponent_bias)
    return _values[dtype.name]


def _all_values(name, mantissa, bias):
    bits = np.arange(256)
    exponent, fraction = (bits & 0x7F) >> mantissa, bits & ((1 << mantissa) - 1)
    normal = (1 + fraction / (1 << mantissa)) * np.exp2(exponent - float(bias))
    values = np.where(exponent == 0, fraction / (1 << mantissa) * 2.0 ** (1 - bias), normal)
    values = np.where(bits >> 7, -values, values)
    if name == "fp8e5":  # IEEE's infinities and NaN
        values = np.where(bits & 0x7F == 0x7C, np.where(bits >> 7, -np.inf, np.inf), np.where(bits & 0x7F > 0x7C, np.nan, values))
    elif name == "fp8e4nv":  # one NaN of each sign
        values[[0x7F, 0xFF]] = np.nan
    elif name in ("fp8e4b8", "fp8e5b16"):  # no minus zero: a NaN
        values[0x80] = np.nan
    return values.astype(np.float32)
