"""Graphs of docs/formats/graph.md from torch functions, by make_fx with symbolic shapes."""
import math

import torch
import torch.fx.experimental._config
from torch.fx.experimental.proxy_tensor import make_fx

torch.fx.experimental._config.use_duck_shape = False  # equal sizes of an example are not one size

DTYPES = {torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
          torch.float8_e4m3fn: "float8_e4m3fn", torch.float8_e5m2: "float8_e5m2", torch.int64: "int64", torch.int32: "int32",
          torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8", torch.bool: "bool"}


def expression(value):
    return value if isinstance(value, int) else str(value.node.expr)


def tensor_type(value):
    if not isinstance(value, torch.Tensor):
        return {"dtype": "float32", "shape": [0]}
    return {"dtype": DTYPES[value.dtype], "shape": [expression(d) for d in value.shape]}


def number(value):
    return value if math.isfinite(value) else {"number": str(value)}


class Writer:
    def __init__(self):
        self.refs, self.nodes = {}, []

    def attribute(self, value):
        if isinstance(value, torch.fx.Node):
            if value in self.refs:
                return self.refs[value]
            made = value.meta["val"]
            if isinstance(made, torch.SymInt):
                return {"size": str(made.node.expr)}
            if isinstance(made, (bool, int, float)):
                return self.attribute(made)
            raise NotImplementedError(f"an argument of type {type(made).__name__}")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return number(value)
        if isinstance(value, torch.dtype):
            return {"dtype": DTYPES[value]}
        if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return str(value)
        if isinstance(value, (list, tuple)):
            made = [self.attribute(v) for v in value]
            if any(isinstance(m, dict) and ("input" in m or "node" in m) for m in made):
                return {"tensors": made}
            if made and all(isinstance(m, bool) for m in made):
                return {"booleans": made}
            if any(isinstance(m, float) or (isinstance(m, dict) and "number" in m) for m in made):
                return {"numbers": [float(m) if not isinstance(m, dict) else m["number"] for m in made]}
            return {"sizes": [m["size"] if isinstance(m, dict) else m for m in made]}
        raise NotImplementedError(f"an argument of type {type(value).__name__}")

    def node(self, node):
        if node.target.__name__ == "getitem":
            self.refs[node] = dict(self.refs[node.args[0]], output=node.args[1])
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            return
        made = node.meta["val"]
        if isinstance(made, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float)):
            return
        schema = node.target._schema
        given = dict(zip([a.name for a in schema.arguments], node.args))
        given.update(node.kwargs)
        arguments = {a.name: self.attribute(given.get(a.name, a.default_value)) for a in schema.arguments}
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        used = {user.args[1] for user in node.users if user.target.__name__ == "getitem"} if isinstance(made, (list, tuple)) else {0}
        name = str(node.target).removeprefix("aten.")
        changes = node.target._schema.is_mutable
        if changes:  # of a tensor that no other one views
            base, _, overload = name.partition(".")
            name = f"{base.removesuffix('_')}.{overload}"
            self.refs[node.args[0]] = {"node": len(self.nodes)}
        self.refs[node] = {"node": len(self.nodes)}
        self.nodes.append({"op": name, "arguments": arguments,
                           "outputs": [tensor_type(o if i in used else None) for i, o in enumerate(outputs)]})


    def constant(self, node, value):
        kind = {"dtype": DTYPES[value.dtype]}
        key = "numbers" if value.is_floating_point() else "booleans" if value.dtype is torch.bool else "sizes"
        self.refs[node] = {"node": len(self.nodes)}
        self.nodes.append({"op": "constant", "outputs": [{**kind, "shape": list(value.shape)}],
                           "arguments": {"values": {key: value.flatten().tolist()}, "size": {"sizes": list(value.shape)}, "dtype": kind}})


def trace(function, inputs, static=False):
    """The graph as a JSON value, and for each symbol the (input, dimension) that gives its value."""
    names = [f"x{i}" for i in range(len(inputs))]
    functional = torch.func.functionalize(function, remove="mutations")
    module = make_fx(functional, tracing_mode="fake" if static else "symbolic")(*inputs)
    writer = Writer()
    sizes, sources, graph_inputs, outputs = {}, {}, [], []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            index = len(graph_inputs)
            value = node.meta["val"]
            writer.refs[node] = {"input": names[index]}
            graph_inputs.append({"name": names[index], "role": "input", **tensor_type(value)})
            for d, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                    sources.setdefault(str(size.node.expr), (index, d))
                    sizes[str(size.node.expr)] = inputs[index].shape[d]
        elif node.op == "call_function":
            writer.node(node)
        elif node.op == "get_attr":
            value = getattr(module, node.target)
            writer.constant(node, value)
        elif node.op == "output":
            made = node.args[0]
            outputs = [writer.refs[o] for o in (made if isinstance(made, (list, tuple)) else [made])]
    return {"schema": 1, "sizes": sizes, "conditions": [], "inputs": graph_inputs, "nodes": writer.nodes, "outputs": outputs}, sources
