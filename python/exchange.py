# The memory that oracle and checker share: where each tensor of a problem stands in it.
import torch

from dtypes import TORCH_OF_NAME
from reference import BadReference


def tensors_at(region, arguments, offsets):
    """Tensors over a region, one an argument; None for scalars."""
    return [
        None if a["role"] == "scalar" else region.tensor(TORCH_OF_NAME[a["dtype"]], a["shape"], offset)
        for a, offset in zip(arguments, offsets)
    ]


def part_of(tensor, part):
    """Stretches of columns of some rows, as [rows, columns]; a row is part["row_length"] elements."""
    rows = tensor.reshape(-1, part["row_length"])
    wanted = torch.tensor(part["rows"], device=tensor.device)
    return torch.cat([rows[:, first : first + count][wanted] for first, count in part["columns"]], dim=1)


class Exchange:
    """Tensors over the exchange at the offsets of an attach request's layout."""

    def __init__(self, region, signature, layout):
        self._region = region
        self._signature = signature
        self._layout = layout

    def _over(self, group, offsets):
        return tensors_at(self._region, self._signature[group], offsets)

    def inputs(self):
        """In call order; None for scalars."""
        return self._over("inputs", self._layout["inputs"])

    def statics(self):
        return self._over("statics", self._layout["statics"])

    def write_outputs(self, tensors, wide, selected=None):
        """To outputs in the declared dtype; wide: to outputs64 as float64 or int64. selected: the part of
        each output that is written, at the start of its place; None: all of it.

        BadReference where count, shape, or (not wide: declared) dtype is not the signature's.
        """
        arguments = self._signature["outputs"]
        if len(tensors) != len(arguments):
            text = f"the reference returned {len(tensors)} outputs, expected {len(arguments)}"
            raise BadReference(text)
        offsets = self._layout["outputs64" if wide else "outputs"]
        parts = selected or [None] * len(arguments)
        for a, tensor, offset, part in zip(arguments, tensors, offsets, parts):
            if list(tensor.shape) != a["shape"]:
                text = f"output {a['name']} has shape {list(tensor.shape)}, expected {a['shape']}"
                raise BadReference(text)
            dtype = TORCH_OF_NAME[a["dtype"]]
            if wide:
                floating = dtype.is_floating_point
                dtype = torch.float64 if floating else torch.int64
            if part is not None:
                tensor = part_of(tensor, part)
            self._region.tensor(dtype, list(tensor.shape), offset).copy_(tensor)

    def check_dtypes(self, tensors):
        """BadReference where an output of a run in the declared precision has another dtype."""
        for a, tensor in zip(self._signature["outputs"], tensors):
            if tensor.dtype is not TORCH_OF_NAME[a["dtype"]]:
                dtype = str(tensor.dtype).removeprefix("torch.")
                raise BadReference(f"output {a['name']} is {dtype}, expected {a['dtype']}")
