# How Triton gives a kernel its arguments, as parts of a launch plan (docs/formats/launch_plan.md).
#
# Triton's own launchers are compiled C (triton/backends/nvidia/driver.py, driver.c). This follows them for 3.6 to 3.9: the arguments
# that are no constants in order, tuples flattened, then two pointers to scratch memory.
import math
import struct

from triton.runtime import _allocation

WARP_SIZE = 32

# Triton's type -> (type in the plan, bytes).
_WHOLE = {
    "i1": ("int8", 1), "i8": ("int8", 1), "i16": ("int16", 2), "i32": ("int32", 4), "i64": ("int64", 8),
    "u1": ("int8", 1), "u8": ("int8", 1), "u16": ("int16", 2), "u32": ("int32", 4), "u64": ("int64", 8),
}  # fmt: skip
_FLOATING = {"fp16": ("float16", "e"), "fp32": ("float32", "f"), "f32": ("float32", "f"), "fp64": ("float64", "d")}
_WHOLE_OF_SIZE = {2: "int16", 4: "int32", 8: "int64"}

# Element types of a tensor map by the driver's number, which is not always Triton's on the device (TMA_DTYPE_DEVICE_TO_HOST).
_MAP_TYPES = [
    "uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32",
    "float64", "bfloat16", "float32_ftz", "tfloat32", "tfloat32_ftz",
]  # fmt: skip
_HOST_OF_DEVICE_TYPE = {8: 10, 9: 8, 10: 9}
_TFLOAT32 = 11


class CannotPack(Exception):
    """An argument that no launch plan can have; the text says why."""


def scalar(kind, value):
    """A number of Triton's type `kind` by value."""
    if kind in _WHOLE:
        dtype, size = _WHOLE[kind]
        half = 1 << (8 * size - 1)
        return {"scalar": dtype, "value": (int(value) + half) % (2 * half) - half}
    if kind == "bf16":  # Triton cuts off the lower half of a float32
        return {"scalar": "int16", "value": int.from_bytes(_bits(float(value), "f")[2:], "little", signed=True)}
    if kind not in _FLOATING:
        raise CannotPack(f"an argument has the type {kind}")
    dtype, code = _FLOATING[kind]
    bits = _bits(float(value), code)
    [rounded] = struct.unpack("<" + code, bits)
    if math.isfinite(rounded):
        return {"scalar": dtype, "value": rounded}
    # JSON has no such number: its bits.
    return {"scalar": _WHOLE_OF_SIZE[len(bits)], "value": int.from_bytes(bits, "little", signed=True)}


def _bits(number, code):
    try:
        return struct.pack("<" + code, number)
    except OverflowError:
        return struct.pack("<" + code, math.copysign(math.inf, number))


def flat(kinds, values):
    """(type, value) of the arguments that a kernel really has."""
    for kind, value in zip(kinds, values):
        if isinstance(kind, tuple):
            yield from flat(kind, value)
        elif kind != "constexpr":
            yield kind, value


def descriptor(value, meta, memory):
    """The arguments that stand for a tensor descriptor made by host code. memory(tensor): its place in the plan."""
    sizes = [scalar("i32", size) for size in value.shape]
    strides = [scalar("i64", stride) for stride in value.strides]
    if meta is None:
        flags = [value.padding == "nan"]
        if hasattr(value, "round_f32_to_tf32"):  # Triton 3.7 and later
            flags.append(value.round_f32_to_tf32)
        wide = [scalar("i64", number) for number in (*value.shape, *value.strides)]
        return [memory(value.base), *wide, *(scalar("i1", flag) for flag in flags), *sizes, *strides]
    if meta.get("fp4_padded"):
        raise CannotPack("a descriptor of padded 4-bit floats")
    number = _HOST_OF_DEVICE_TYPE.get(meta["elem_type"], meta["elem_type"])
    if getattr(value, "round_f32_to_tf32", False):
        number = _TFLOAT32
    element = meta["elem_size"]
    tensor_map = {
        "type": _MAP_TYPES[number],
        **memory(value.base),
        "sizes": [int(size) for size in reversed(value.shape)],
        "strides": [int(stride) * element for stride in reversed(value.strides[:-1])],
        "box": [int(size) for size in reversed(meta["block_size"])],
        "swizzle": meta["swizzle"],
        "promotion": 2,
        "nan_fill": value.padding == "nan",
    }
    return [{"tensor_map": tensor_map}, *sizes, *strides]


def arguments(kinds, values, metadata, programs, memory):
    """All arguments of a launch of so many programs, in the kernel's order."""
    out = []
    metas = list(getattr(metadata, "tensordesc_meta", None) or [])
    for kind, value in flat(kinds, values):
        if kind.startswith("*"):
            out.append(memory(value))
        elif kind.startswith("tensordesc"):
            out += descriptor(value, metas.pop(0) if metas else None, memory)
        else:
            out.append(scalar(kind, value))
    blocks = programs * metadata.num_ctas
    out.append(_scratch(metadata.global_scratch_size, metadata.global_scratch_align, blocks, _allocation._allocator, memory))
    size = getattr(metadata, "profile_scratch_size", 0) or 0
    out.append(_scratch(size, getattr(metadata, "profile_scratch_align", 1), blocks, _allocation._profile_allocator, memory))
    return out


def _scratch(size, alignment, blocks, allocator, memory):
    """Memory that the candidate's allocator gives, as Triton's launcher asks it."""
    if not size:
        return {"null": True}
    return memory(allocator.get()(size * blocks, alignment, 0))


def launch(metadata, grid, given):
    """The step of a launch plan; its module is still to be named."""
    x, y, z = grid
    step = {
        "function": metadata.name,
        "grid": [x * metadata.num_ctas, y, z],
        "block": [WARP_SIZE * metadata.num_warps],
        "shared_bytes": metadata.shared,
        "arguments": given,
    }
    if metadata.num_ctas > 1:
        step["cluster"] = [metadata.num_ctas, 1, 1]
        step["spread_clusters"] = True
    if metadata.launch_cooperative_grid:
        step["cooperative"] = True
    if metadata.launch_pdl:
        step["dependent"] = True
    return step
