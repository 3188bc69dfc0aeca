# A captured graph as JSON values of docs/formats/graph.md.
import math
import operator

import sympy
import torch

from dtypes import NAME_OF_TORCH
from tracing import operators
from tracing.errors import Unsupported
from tracing.expressions import FLOAT_OPERATORS

SCHEMA = 1
MAX_NODES = 10000
MAX_CONSTANT = 4096  # elements
_LARGEST = 2**63 - 1
# Their value is their first argument's.
_SAME_VALUE = frozenset(
    "alias.default clone.default contiguous.default detach.default lift.default lift_fresh.default"
    " lift_fresh_copy.default view_as_real_copy.default".split()
)
_AS_VIEW = frozenset("reshape.default _unsafe_view.default _reshape_alias.default view_copy.default".split())
_DIMENSIONS = frozenset(("dim", "dims", "dim1", "dim2"))


class Form:
    """Makes the JSON values of one graph."""

    def __init__(self, module, sizes, expressions, inputs):
        """inputs: names of the placeholders, in order."""
        self._module = module
        self._sizes = sizes
        self._expressions = expressions
        self._scalar_names = {symbol: name for name, symbol in sizes.scalars.items()}
        self._values = {}  # fx node -> value, or the list of an operator with several
        self._floats = {}  # sympy expression -> value
        self.nodes = []
        self.used_inputs = set()
        self._place_inputs(inputs)

    def _place_inputs(self, names):
        placeholders = [n for n in self._module.graph.nodes if n.op == "placeholder"]
        for node, name in zip(placeholders, names, strict=True):
            self._values[node] = {"input": name}

    def outputs(self):
        """Adds all nodes that the outputs need; the outputs' values."""
        returned = next(n for n in self._module.graph.nodes if n.op == "output").args[0]
        needed = self._needed(returned)
        for node in self._module.graph.nodes:
            if node in needed and node.op in ("call_function", "get_attr"):
                self._add(node)
        values = [self._value(item) for item in returned]
        for item in self.nodes:
            self._note_inputs(item["arguments"].values())
        self._note_inputs(values)
        return values

    def _needed(self, returned):
        found, open_ = set(), [n for n in returned if isinstance(n, torch.fx.Node)]
        while open_:
            node = open_.pop()
            if node not in found:
                found.add(node)
                # Numbers are written as their expressions.
                open_ += [n for n in node.all_input_nodes if not _is_number(n)]
        self._found = found
        return found

    def _note_inputs(self, values):
        for value in values:
            if isinstance(value, dict) and "input" in value:
                self.used_inputs.add(value["input"])
            elif isinstance(value, dict) and "tensors" in value:
                self._note_inputs(value["tensors"])

    # ---- Nodes ----

    def _add(self, node):
        if _is_number(node):
            return
        if node.op == "get_attr":
            self._values[node] = self._constant(node)
        elif node.target is operator.getitem:
            self._values[node] = self._values[node.args[0]][node.args[1]]
        elif isinstance(node.target, torch._ops.OpOverload):
            self._values[node] = self._operator(node)
        else:
            raise Unsupported(f"{node.target} is no operator", node.meta.get("line", 0))

    def _operator(self, node):
        name = operators.name_of(node.target)
        value = node.meta["val"]
        if name in _SAME_VALUE:
            return self._value(node.args[0])
        if name == "copy_.default" and _same_kind(node.args[0], node.args[1]):
            return self._value(node.args[1])  # what follows uses this result, not the first argument
        if node.target._schema.is_mutable:
            if _of_its_own(node) and name.replace("_.", ".") in operators.CORE_NAMES:
                return self._emit(name.replace("_.", "."), node, _bound(node), node.meta["val"])
            raise Unsupported(f"{name}: an operator that changes a tensor", node.meta.get("line", 0))
        bound = _bound(node)
        first = node.args[0] if node.args else None
        if isinstance(first, torch.fx.Node) and self._changes_nothing(name, node, first, bound):
            return self._value(first)
        if name in _AS_VIEW:
            name, bound = "view.default", [("self", None, first), ("size", "sizes", list(value.shape))]
        return self._emit(name, node, bound, value)

    def _emit(self, name, node, bound, value):
        several = isinstance(value, (tuple, list))
        arguments = {key: self._attribute(given, kind, node) for key, kind, given in bound}
        self._canonical(name, node, arguments)
        outputs = [self._type(v, node) for v in (self._used(node, value) if several else [value])]
        index = self._append(name, arguments, outputs, node.meta.get("line", 0))
        if several:
            return [_value_of(index, i) for i in range(len(value))]
        return _value_of(index, 0)

    def _append(self, name, arguments, outputs, line):
        if len(self.nodes) == MAX_NODES:
            raise Unsupported(f"more than {MAX_NODES} operators", line)
        self.nodes.append({"op": name, "arguments": arguments, "outputs": outputs})
        if line:
            self.nodes[-1]["line"] = line
        return len(self.nodes) - 1

    def _used(self, node, values):
        """Outputs that nobody takes are no tensors."""
        taken = {user.args[1] for user in node.users if user in self._found and user.target is operator.getitem}
        return [v if i in taken else None for i, v in enumerate(values)]

    def _changes_nothing(self, name, node, first, bound):
        value, before = node.meta["val"], first.meta.get("val")
        if not isinstance(value, torch.Tensor) or not isinstance(before, torch.Tensor):
            return False
        same_shape = self.shape(value.shape) == self.shape(before.shape)
        if value.dtype is not before.dtype or not same_shape:
            return False
        if name in ("expand.default", "view.default", "_to_copy.default", "constant_pad_nd.default") or name in _AS_VIEW:
            return True
        given = {key: v for key, _, v in bound}
        if name == "slice.Tensor":
            return given["step"] == 1
        if name == "permute.default":
            return [d % value.dim() for d in given["dims"]] == list(range(value.dim()))
        return False

    def _canonical(self, name, node, arguments):
        """Dimensions, indices and bounds count from the front; sizes that torch infers are there."""
        first = node.args[0] if node.args else None
        if isinstance(first, (list, tuple)) and first:
            first = first[0]
        tensor = first.meta.get("val") if isinstance(first, torch.fx.Node) else None
        if not isinstance(tensor, torch.Tensor):
            return
        rank = max(tensor.dim() + (name == "unsqueeze.default"), 1)
        for key in _DIMENSIONS & arguments.keys():
            given = arguments[key]
            if type(given) is int:
                arguments[key] = given % rank
            elif isinstance(given, dict) and "sizes" in given:
                arguments[key] = {"sizes": [d % rank for d in given["sizes"]]}
        value = node.meta["val"]
        if name in ("view.default", "expand.default"):
            arguments["size"] = {"sizes": self.shape(value.shape)}
        if name in ("slice.Tensor", "slice_scatter.default", "select.int", "select_scatter.default"):
            size = tensor.shape[arguments["dim"]]
            for key in {"start", "end", "index"} & arguments.keys():
                arguments[key] = self._from_front(arguments[key], size, key)

    def _from_front(self, given, size, key):
        if given is None:
            return 0 if key == "start" else self._whole(size)
        if type(given) is not int:
            return given
        if given < 0:
            return self._whole(max(size + given, 0) if key != "index" else size + given)
        return self._whole(size) if given == _LARGEST else given

    # ---- Values ----

    def _value(self, item):
        if not isinstance(item, torch.fx.Node):
            raise Unsupported(f"{item!r:.80} is no tensor of the graph")
        return self._values[item]

    def _attribute(self, value, kind, node):
        """kind: of the schema's type, see _kind."""
        if value is None:
            return None
        if kind in ("sizes", "numbers", "booleans", "tensors"):
            return {kind: [self._item(v, kind, node) for v in value]}
        return self._single(value, kind, node)

    def _item(self, value, kind, node):
        if kind == "tensors":
            return None if value is None else self._value(value)
        if kind == "numbers":
            return _json_float(float(value))
        if kind == "booleans":
            return bool(value)
        found = self._single(value, "int", node)
        return found["size"] if isinstance(found, dict) else found

    def _single(self, value, kind, node):
        if isinstance(value, torch.fx.Node):
            number = value.meta.get("val")
            if isinstance(number, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                return self._single(number, kind, node)
            if isinstance(number, (bool, int, float)) and value.op != "placeholder":
                return self._single(number, kind, node)
            return self._value(value)
        if isinstance(value, torch.SymInt):
            return self._whole(value)
        if isinstance(value, torch.SymFloat):
            return self._float(self._sizes.final(value.node.expr), node)
        if isinstance(value, torch.SymBool):
            return bool(value)
        if isinstance(value, bool) or isinstance(value, str):
            return value
        if isinstance(value, float) or (isinstance(value, int) and kind == "float"):
            text = _json_float(float(value))
            return {"number": text} if isinstance(text, str) else text
        if isinstance(value, int):
            return value
        if isinstance(value, torch.dtype):
            return {"dtype": self._dtype(value, node)}
        if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return str(value)
        raise Unsupported(f"{node.target}: an argument of type {type(value).__name__}", node.meta.get("line", 0))

    def _whole(self, value):
        """A number, or {"size": text}."""
        text = self._size(value)
        return text if isinstance(text, int) else {"size": text}

    def _size(self, value):
        if isinstance(value, int):
            return value
        expr = self._sizes.final(value.node.expr)
        return int(expr) if isinstance(expr, sympy.Integer) else self._expressions.text(expr)

    def shape(self, shape):
        return [self._size(size) for size in shape]

    def _type(self, value, node):
        if not isinstance(value, torch.Tensor):
            return {"dtype": "float32", "shape": [0]}
        return {"dtype": self._dtype(value.dtype, node), "shape": self.shape(value.shape)}

    @staticmethod
    def _dtype(dtype, node):
        if dtype not in NAME_OF_TORCH:
            what = operators.name_of(node.target)
            raise Unsupported(f"{what}: the element type {dtype}".replace("torch.", ""), node.meta.get("line", 0))
        return NAME_OF_TORCH[dtype]

    # ---- Numbers made from scalars and sizes ----

    def _float(self, expr, node):
        """A number or a value: operators on 0-d float64 tensors compute it."""
        if not expr.free_symbols:
            text = _json_float(float(expr))
            return {"number": text} if isinstance(text, str) else text
        if expr in self._floats:
            return self._floats[expr]
        self._floats[expr] = found = self._new_float(expr, node)
        return found

    def _new_float(self, expr, node):
        if expr in self._scalar_names:
            return {"input": self._scalar_names[expr]}
        kind = type(expr).__name__
        if kind == "ToFloat":
            return self._whole_expression(expr.args[0])
        if isinstance(expr, (sympy.Add, sympy.Mul)):
            name = "add.Tensor" if isinstance(expr, sympy.Add) else "mul.Tensor"
            total = self._float(expr.args[0], node)
            for part in expr.args[1:]:
                total = self._scalar_node(name, [total, self._float(part, node)], node)
            return total
        if kind in FLOAT_OPERATORS:
            values = [self._float(part, node) for part in expr.args]
            if kind in ("Max", "Min") and len(values) != 2:
                raise Unsupported(f"a number is computed as {expr}", node.meta.get("line", 0))
            return self._scalar_node(FLOAT_OPERATORS[kind], values, node)
        return self._whole_expression(expr)

    def _whole_expression(self, expr):
        text = self._expressions.text(self._sizes.final(expr))
        return int(text) if text.isdecimal() else {"size": text}

    def _scalar_node(self, name, values, node):
        overload = operators.overload(name)
        arguments = {}
        for argument in overload._schema.arguments:
            if values:
                arguments[argument.name] = values.pop(0)
            else:
                arguments[argument.name] = argument.default_value
        outputs = [{"dtype": "float64", "shape": []}]
        return _value_of(self._append(name, arguments, outputs, node.meta.get("line", 0)), 0)

    # ---- Constants ----

    def _constant(self, node):
        tensor = _attribute_of(self._module, node.target)
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported(f"a constant of type {type(tensor).__name__}", node.meta.get("line", 0))
        if isinstance(getattr(tensor, "constant", None), torch.Tensor):
            tensor = tensor.constant  # of a literal
        with torch.utils._python_dispatch._disable_current_modes():
            dtype = {"dtype": self._dtype(tensor.dtype, node)}
            shape = list(tensor.shape)
            elements = tensor.detach().reshape(-1)
            if len(elements) and bool((elements == elements[0]).all()):
                values = [elements[0].item()]
                arguments = {"size": {"sizes": shape}, "fill_value": _json_number(values[0]), "dtype": dtype}
                arguments.update(layout=None, device=None, pin_memory=None)
                name = "full.default"
            elif len(elements) > MAX_CONSTANT:
                text = f"a constant tensor of shape {shape} that is no buffer of the module"
                raise Unsupported(text, _line_of_use(node))
            else:
                name = "constant"
                arguments = {"values": _json_list(elements), "size": {"sizes": shape}, "dtype": dtype}
        outputs = [{**dtype, "shape": shape}]
        return _value_of(self._append(name, arguments, outputs, _line_of_use(node)), 0)


def _line_of_use(node):
    return next((user.meta.get("line", 0) for user in node.users), 0)


def _attribute_of(module, target):
    for part in target.split("."):
        module = getattr(module, part)
    return module


def _of_its_own(node):
    """Whether an operator changes a tensor that shares memory with no other: what follows uses its result."""
    changed = node.args[0]
    if changed.op != "call_function" or changed.target is operator.getitem or _is_view(changed):
        return False
    return not any(_is_view(user) for user in changed.users if user is not node)


def _is_view(node):
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and any(r.alias_info is not None for r in target._schema.returns)


def _same_kind(a, b):
    a, b = a.meta["val"], b.meta["val"]
    return a.dtype is b.dtype and list(a.shape) == list(b.shape)


def _value_of(node, output):
    return {"node": node, "output": output} if output else {"node": node}


def _is_number(node):
    value = node.meta.get("val")
    symbolic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
    return node.op == "call_function" and (symbolic or isinstance(value, (bool, int, float)))


def _json_float(value):
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _json_number(value):
    text = _json_float(value) if isinstance(value, float) else value
    return {"number": text} if isinstance(text, str) else text


def _json_list(elements):
    if elements.dtype is torch.bool:
        return {"booleans": elements.tolist()}
    if elements.dtype.is_floating_point:
        return {"numbers": [_json_float(v) for v in elements.double().tolist()]}
    return {"sizes": elements.tolist()}


def _bound(node):
    """[(name, kind, value)] of every argument of the operator's schema."""
    given = list(node.args)
    out = []
    for argument in node.target._schema.arguments:
        if given and not argument.kwarg_only:
            value = given.pop(0)
        elif argument.name in node.kwargs:
            value = node.kwargs[argument.name]
        else:
            value = argument.default_value if argument.has_default_value() else None
        kind = _kind(argument)
        if kind in ("sizes", "numbers", "booleans") and value is not None and not isinstance(value, (list, tuple)):
            value = [value] * (argument.N or 1)
        if kind == "dtype" and isinstance(value, int):
            value = None
        out.append((argument.name, kind, value))
    return out


def _kind(argument):
    """ "sizes", "numbers", "booleans" and "tensors" for lists, else "float" or another word."""
    text = str(argument.real_type).replace("Optional[List", "List")
    if text.startswith("List[Optional[Tensor]") or text.startswith("List[Tensor]"):
        return "tensors"
    for start, kind in (("List[int]", "sizes"), ("List[SymInt]", "sizes"), ("List[float]", "numbers"),
                        ("List[bool]", "booleans"), ("List[number]", "numbers"), ("List[Scalar]", "numbers")):
        if text.startswith(start):
            return kind
    return "float" if text in ("float", "Optional[float]") else text


def conditions(sizes, expressions, names, values):
    """[[left, relation, right]] that must hold. names: of the sizes that are there whatever the trace found:
    one that it fixed is a condition. values: of all sizes, for what no condition can say."""
    out = []
    for name in names:
        text = expressions.text(sizes.final(sizes.symbols[name]))
        if text != name:
            out.append([name, "==", _parsed(text)])
    for truth in sizes.guards():
        if truth.free_symbols & set(sizes.scalars.values()):
            names = sorted(str(n) for n, s in sizes.scalars.items() if s in truth.free_symbols)
            raise Unsupported(f"a branch depends on the value of {', '.join(names)}")
        try:
            said = expressions.conditions(truth)
        except Unsupported:
            texts = sorted(expressions.text(symbol) for symbol in truth.free_symbols)
            said = [[text, "==", str(values[text])] for text in texts]
        for left, relation, right in said:
            item = [_parsed(left), relation, _parsed(right)]
            if item not in out:
                out.append(item)
    return out


def _parsed(text):
    return int(text) if text.lstrip("-").isdecimal() else text
