# Floating-point operations of Triton's interpreter, computed and rounded as a GPU does.
import functools
import math

import numpy as np

from . import floats

_BINARY = """fadd fsub fmul fdiv frem precise_divf minimumf minnumf maximumf maxnumf
fcmpOLT fcmpOGT fcmpOLE fcmpOGE fcmpOEQ fcmpONE fcmpULT fcmpUGT fcmpULE fcmpUGE fcmpUEQ fcmpUNE""".split()
_OTHERS = "clampf fma cos exp exp2 floor ceil log log2 precise_sqrt sqrt sin erf rsqrt".split()
_UNORDERED = {"fcmpULT": np.greater_equal, "fcmpUGT": np.less_equal, "fcmpULE": np.greater, "fcmpUGE": np.less, "fcmpUEQ": np.not_equal}
_SCALE_GROUP = 32  # elements of tl.dot_scaled that share a scale


def install(interpreter):
    builder = interpreter.InterpreterBuilder
    builder.binary_op = _truth_of(interpreter, builder.binary_op)
    for name in _BINARY + _OTHERS:
        name = f"create_{name}"
        setattr(builder, name, _widened(interpreter, getattr(builder, name)))
    for name, opposite in _UNORDERED.items():  # true where an operand is NaN
        setattr(builder, f"create_{name}", _unordered(interpreter, opposite))
    builder.cast_impl = _cast_of(interpreter, builder.cast_impl)
    builder.create_fp_to_fp = lambda own, value, kind, rounding: _convert(interpreter, value, kind.scalar, rounding)
    for name in ("bf16", "fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16"):
        setattr(builder, f"get_{name}", functools.partial(_constant, interpreter, name))
    builder.create_dot = _dot_of(interpreter, builder.create_dot)
    builder.create_dot_scaled = _dot_scaled_of(interpreter)
    _reduce_as_a_gpu(interpreter)


def _wide(interpreter, handle):
    dtype = handle.dtype.scalar
    if not floats.is_narrow(dtype):
        return handle
    return interpreter.TensorHandle(floats.to_float32(handle.data, dtype), interpreter.tl.float32)


def _narrowed(interpreter, handle, dtype):
    return interpreter.TensorHandle(floats.from_float32(handle.data, dtype), dtype)


def _widened(interpreter, operation):
    """An operation on floats that computes narrow ones in float32 and rounds its result once."""

    def compute(builder, *operands):
        kinds = [o.dtype.scalar for o in operands if isinstance(o, interpreter.TensorHandle)]
        narrow = next((kind for kind in kinds if floats.is_narrow(kind)), None)
        if narrow is None:
            return operation(builder, *operands)
        operands = [_wide(interpreter, o) if isinstance(o, interpreter.TensorHandle) else o for o in operands]
        result = operation(builder, *operands)
        if result.data.dtype == np.bool_:
            return interpreter.TensorHandle(result.data, interpreter.tl.int1)
        return _narrowed(interpreter, result, narrow)

    return compute


def _truth_of(interpreter, binary_op):
    """Comparisons give truth values: Triton's interpreter says that they are of their operands' type."""

    def compute(builder, left, right, operation):
        result = binary_op(builder, left, right, operation)
        return interpreter.TensorHandle(result.data, interpreter.tl.int1) if result.data.dtype == np.bool_ else result

    return compute


def _unordered(interpreter, opposite):
    def compare(builder, left, right):
        left, right = _wide(interpreter, left), _wide(interpreter, right)
        return interpreter.TensorHandle(~opposite(left.data, right.data), interpreter.tl.int1)

    return compare


def _cast_of(interpreter, cast):
    """Conversions from and to narrow floats go through float32."""

    def convert(builder, value, kind):
        source, target = value.dtype.scalar, kind.scalar
        if floats.is_narrow(target) and source.name != target.name:
            wide = value if source == interpreter.tl.float32 else convert(builder, value, interpreter.tl.float32)
            return _narrowed(interpreter, wide, target)
        if floats.is_narrow(source):
            return convert(builder, _wide(interpreter, value), kind)
        if source.is_floating() and target.is_int() and target.int_bitwidth > 1:
            return interpreter.TensorHandle(_to_whole(value.data, interpreter._get_np_dtype(target)), target)
        return cast(builder, value, kind)

    return convert


def _to_whole(data, kind):
    """Towards zero, held at the ends of the range, and 0 for NaN: PTX's cvt.rzi. Of fewer than 32 bits the low ones are kept."""
    wide = kind if kind.itemsize >= 4 else np.dtype(np.int32)
    ends = np.iinfo(wide)
    value = np.nan_to_num(np.trunc(data.astype(np.float64)), nan=0.0, posinf=math.inf, neginf=-math.inf)
    inside = np.where((value < float(ends.max)) & (value > float(ends.min)), value, 0.0).astype(wide)
    inside = np.where(value >= float(ends.max), wide.type(ends.max), inside)
    return np.where(value <= float(ends.min), wide.type(ends.min), inside).astype(kind)


def _convert(interpreter, value, target, rounding):
    """Between floats, with the rounding that tl.cast names."""
    source, to_zero = value.dtype.scalar, "RTZ" in str(rounding)
    wide = _wide(interpreter, value).data.astype(np.float32)
    if floats.is_narrow(target):
        return interpreter.TensorHandle(floats.from_float32(wide, target, to_zero), target)
    kind = interpreter._get_np_dtype(target)
    result = (wide if floats.is_narrow(source) else value.data).astype(kind)
    if to_zero:  # one step back where rounding went away from zero
        away = np.abs(result.astype(np.float64)) > np.abs(value.data.astype(np.float64))
        result = np.where(away, np.nextafter(result, kind.type(0)), result)
    return interpreter.TensorHandle(result, target)


def _constant(interpreter, name, value):
    dtype = interpreter.tl.dtype(name)
    return interpreter.TensorHandle(floats.from_float32(np.array([value], dtype=np.float32), dtype), dtype)


def _dot_of(interpreter, create_dot):
    """tl.dot that multiplies the values of narrow floats, and rounds float32 to TF32 where the GPU does."""
    float32 = interpreter.tl.float32

    def operand(handle, precision):
        if handle.dtype.scalar == float32 and precision.upper() == "TF32":
            return interpreter.TensorHandle(rounded_to_tf32(handle.data), float32)
        handle = _wide(interpreter, handle)
        if handle.data.dtype == np.float16:  # sums are made in float32
            return interpreter.TensorHandle(handle.data.astype(np.float32), float32)
        return handle

    def dot(builder, a, b, d, input_precision, *more):
        name = getattr(input_precision, "name", str(input_precision))
        kind = d.dtype.scalar
        narrow = floats.is_narrow(kind) or d.data.dtype == np.float16
        sums = interpreter.TensorHandle(_wide(interpreter, d).data.astype(np.float32), float32) if narrow else d
        result = create_dot(builder, operand(a, name), operand(b, name), sums, input_precision, *more)
        if floats.is_narrow(kind):
            return _narrowed(interpreter, result, kind)
        return interpreter.TensorHandle(result.data.astype(d.data.dtype), kind)

    return dot


def rounded_to_tf32(data):
    """float32 with 10 bits behind the point, ties to even."""
    bits = np.ascontiguousarray(data, dtype=np.float32).view(np.uint32)
    finite = (bits & 0x7F800000) != 0x7F800000
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000
    return np.where(finite, rounded, bits).astype(np.uint32).view(np.float32)


def _dot_scaled_of(interpreter):
    """tl.dot_scaled: operands in 4, 8 or 16 bits, with a power of two (uint8, bias 127) for 32 elements along K. The OCP
    microscaling formats: https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf"""
    e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=np.float32)

    def values(handle, form, pack_axis):
        if "E2M1" in str(form):
            low, high = e2m1[handle.data & 15], e2m1[handle.data.view(np.uint8) >> 4]
            pairs = np.stack([low, high], axis=pack_axis % low.ndim + 1)
            shape = list(low.shape)
            shape[pack_axis] *= 2
            return pairs.reshape(shape)
        return _wide(interpreter, handle).data.astype(np.float32)

    def scaled(matrix, scale):  # [..., rows, K], [..., rows, K / 32]
        if scale is None:
            return matrix
        bits = scale.data.view(np.uint8)
        factors = np.where(bits == 255, np.nan, np.exp2(bits.astype(np.float64) - 127))
        group = matrix.shape[-1] // bits.shape[-1] if bits.shape[-1] else _SCALE_GROUP
        return matrix * np.repeat(factors, group, axis=-1)

    def dot(builder, a, a_scale, a_form, b, b_scale, b_form, fast_math, a_packed_in_k, b_packed_in_k, sums):
        left = scaled(values(a, a_form, -1 if a_packed_in_k else -2), a_scale)
        right = values(b, b_form, -2 if b_packed_in_k else -1)
        right = np.swapaxes(scaled(np.swapaxes(right, -1, -2), b_scale), -1, -2)
        product = np.matmul(left.astype(np.float64), right.astype(np.float64)) + _wide(interpreter, sums).data
        kind = sums.dtype.scalar
        result = interpreter.TensorHandle(product.astype(np.float32), interpreter.tl.float32)
        if floats.is_narrow(kind):
            return _narrowed(interpreter, result, kind)
        return interpreter.TensorHandle(product.astype(sums.data.dtype), kind)

    return dot


def _reduce_as_a_gpu(interpreter):
    """Sums of 16-bit floats are rounded at each level of their tree; extremes, scans and the rest work on the values of narrow floats."""
    operations, scans, tensor = interpreter.ReduceOps, interpreter.ScanOps, interpreter.tl.core.tensor
    find_extreme = operations.min_max

    def widened(value):
        return tensor(_wide(interpreter, value.handle), value.type.with_element_ty(interpreter.tl.float32)
                      if value.type.is_block() else interpreter.tl.float32)

    def min_max(own, value, val_reduce_op, idx_reduce_op=None):
        value = value[0] if isinstance(value, tuple) else value
        dtype = value.dtype
        if not floats.is_narrow(dtype):
            return find_extreme(own, value, val_reduce_op, idx_reduce_op)
        found = find_extreme(own, widened(value), val_reduce_op, idx_reduce_op)
        if isinstance(found, tuple):
            return _narrow_tensor(interpreter, found[0], dtype), found[1]
        return found if val_reduce_op is None else _narrow_tensor(interpreter, found, dtype)

    def add(own, value):
        data, dtype = value.handle.data, value.dtype
        if not floats.is_narrow(dtype) and data.dtype != np.float16:
            return own.to_tensor(np.sum(data, axis=own.axis, keepdims=own.keep_dims), dtype)
        if not floats.is_narrow(dtype):
            return own.to_tensor(_tree_sum(data, own.axis, own.keep_dims, lambda sums: sums.astype(np.float16)), dtype)

        def rounded(sums):
            return floats.to_float32(floats.from_float32(sums, dtype), dtype)

        total = _tree_sum(floats.to_float32(data, dtype), own.axis, own.keep_dims, rounded)
        return own.to_tensor(floats.from_float32(total, dtype), dtype)

    def scan_of(scan, in_floats):
        def run(own, value):
            if not floats.is_narrow(value.dtype):
                return scan(own, value)
            return [_narrow_tensor(interpreter, part, value.dtype) for part in in_floats(own, widened(value))]

        return run

    operations.min_max, operations.sum = min_max, add
    scans.cumsum, scans.cumprod = scan_of(scans.cumsum, scans.cumsum), scan_of(scans.cumprod, scans.cumprod)


def _narrow_tensor(interpreter, value, dtype):
    handle = _narrowed(interpreter, value.handle, dtype)
    kind = value.type.with_element_ty(dtype) if value.type.is_block() else dtype
    return interpreter.tl.core.tensor(handle, kind)


def _tree_sum(values, axis, keep_dims, rounded):
    """Halves added to each other until one element is left, rounded each time."""
    if axis is None:
        total = _tree_sum(values.reshape(-1), 0, False, rounded)
        return total.reshape((1,) * values.ndim) if keep_dims else total
    values = np.moveaxis(values, axis, 0)
    while len(values) > 1:
        half = (len(values) + 1) // 2
        rest = np.zeros_like(values[:half])
        rest[: len(values) - half] = values[half:]
        values = rounded(values[:half] + rest)
    total = values[0]
    return np.expand_dims(total, axis) if keep_dims else total
