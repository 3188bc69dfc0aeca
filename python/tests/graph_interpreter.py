# Runs a graph of docs/formats/graph.md with torch's own operators.
import torch

from dtypes import TORCH_OF_NAME


def run(graph, tensors, sizes):
    """The outputs for inputs by name (host scalars are numbers) and values of the graph's sizes."""
    return _Run(graph, tensors, sizes).outputs()


def broken_conditions(graph, sizes):
    test = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}
    found = graph["conditions"]
    return [c for c in found if not test[c[1]](evaluate(c[0], sizes), evaluate(c[2], sizes))]


def evaluate(text, sizes):
    if isinstance(text, int):
        return text
    return eval(text, {"min": min, "max": max}, dict(sizes))


class _Run:
    def __init__(self, graph, tensors, sizes):
        self._graph = graph
        self._inputs = tensors
        self._sizes = sizes
        self._made = []

    def outputs(self):
        for node in self._graph["nodes"]:
            self._made.append(self._node(node))
        return [self._tensor(self._value(v)) for v in self._graph["outputs"]]

    @staticmethod
    def _tensor(value):
        return value if isinstance(value, torch.Tensor) else torch.tensor(value)

    def _node(self, node):
        arguments = {name: self._argument(value) for name, value in node["arguments"].items()}
        if node["op"] == "constant":
            made = torch.tensor(arguments["values"], dtype=arguments["dtype"]).reshape(arguments["size"])
        else:
            made = self._call(node, arguments)
        values = list(made) if isinstance(made, (tuple, list)) else [made]
        for i, (value, kind) in enumerate(zip(values, node["outputs"], strict=True)):
            if kind["shape"] == [0] and node["op"] != "slice.Tensor":
                continue  # not used
            shape = [evaluate(size, self._sizes) for size in kind["shape"]]
            if isinstance(value, torch.Tensor):
                assert list(value.shape) == shape, (node, list(value.shape), shape)
                values[i] = value.to(TORCH_OF_NAME[kind["dtype"]])
        return values

    def _call(self, node, arguments):
        if node["op"] == "view.default":  # of values, whatever their strides
            return arguments["self"].reshape(arguments["size"])
        base, _, overload = node["op"].partition(".")
        operator = getattr(getattr(torch.ops.aten, base), overload)
        schema = operator._schema.arguments
        assert [a.name for a in schema] == list(arguments), node
        positional, named = [], {}
        numbers = not any(isinstance(v, (torch.Tensor, list, tuple)) for v in arguments.values())
        for argument in schema:
            value = arguments[argument.name]
            kind = str(argument.type)
            if numbers and kind == "Tensor":
                value = torch.tensor(float(value), dtype=torch.float64)  # arithmetic of scalars
            elif kind in ("number", "Optional[number]", "float", "Optional[float]") and isinstance(value, torch.Tensor):
                value = value.item()
            elif isinstance(value, str) and argument.name in ("layout", "device", "memory_format"):
                value = "cpu" if argument.name == "device" else getattr(torch, value.removeprefix("torch."))
            elif kind == "Tensor" and isinstance(value, (int, float)) and not _takes_numbers(node["op"]):
                value = torch.tensor(value)
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                positional.append(value)
        made = operator(*positional, **named)
        return made.item() if numbers and node["outputs"][0]["shape"] == [] and node["op"] != "full.default" else made

    def _argument(self, value):
        if isinstance(value, dict):
            (key, inner), *_ = value.items()
            if key in ("node", "input"):
                return self._value(value)
            return {
                "size": lambda: evaluate(inner, self._sizes),
                "number": lambda: float(inner),
                "dtype": lambda: TORCH_OF_NAME[inner],
                "sizes": lambda: [evaluate(v, self._sizes) for v in inner],
                "numbers": lambda: [float(v) for v in inner],
                "booleans": lambda: inner,
                "tensors": lambda: [None if v is None else self._value(v) for v in inner],
            }[key]()
        return value

    def _value(self, value):
        if "input" in value:
            return self._inputs[value["input"]]
        return self._made[value["node"]][value.get("output", 0)]


def _takes_numbers(name):
    """Python numbers in a tensor's place, as the operators' bindings take them."""
    return name.split(".")[0] in ("add", "sub", "mul", "div")
