# Element types: their numbers (src/tensor/dtype.h), their names and torch's dtype for them.
import torch

# float4_e2m1 is stored one element a byte: torch sees bytes.
_TABLE = [
    ("float64", torch.float64),
    ("float32", torch.float32),
    ("float16", torch.float16),
    ("bfloat16", torch.bfloat16),
    ("float8_e4m3fn", torch.float8_e4m3fn),
    ("float8_e5m2", torch.float8_e5m2),
    ("float4_e2m1", torch.uint8),
    ("int64", torch.int64),
    ("int32", torch.int32),
    ("int16", torch.int16),
    ("int8", torch.int8),
    ("uint8", torch.uint8),
    ("bool", torch.bool),
]

TORCH_OF_NAME = dict(_TABLE)
NUMBER_OF_NAME = {name: number for number, (name, _) in enumerate(_TABLE)}
NAME_OF_TORCH = {dtype: name for name, dtype in _TABLE if name != "float4_e2m1"}


_device = torch.Tensor.device  # torch's own descriptor: triton_support/host.py covers the attribute


def true_device(tensor):
    """Where a tensor really lies."""
    with torch._C.DisableTorchFunction():
        return _device.__get__(tensor)


def number_of(dtype, expected_name=None):
    """tensor::DType of a torch dtype, None where it has none. Bytes are float4 where that is expected."""
    if expected_name == "float4_e2m1" and dtype is torch.uint8:
        return NUMBER_OF_NAME["float4_e2m1"]
    name = NAME_OF_TORCH.get(dtype)
    return None if name is None else NUMBER_OF_NAME[name]


def scalar_value(argument):
    """The Python number of a scalar argument of the signature."""
    name = argument["dtype"]
    kind = bool if name == "bool" else float if TORCH_OF_NAME[name].is_floating_point else int
    return kind(argument["value"])
