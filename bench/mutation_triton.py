"""Mutation rules for Triton, over the file's syntax tree: each gives edits of one place (bench/mutation_rules.py)."""

import ast

from mutation_edit import Edit

RULES = {}
MEMORY = ("load", "store", "atomic_add", "atomic_max", "atomic_min")


def rule(name):
    def add(function):
        assert name not in RULES, name
        RULES[name] = function
        return function

    return add


def name_of(node):
    """`load` of tl.load; of another expression None."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def is_call(node, *names):
    return isinstance(node, ast.Call) and name_of(node.func) in names


def is_number(node, kind):
    return isinstance(node, ast.Constant) and type(node.value) is kind


class TritonSource:
    """A file with its device functions and its host functions, each node with its parent and whether it computes an index."""

    def __init__(self, text):
        self.lines = [0]
        for line in text.encode().splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.data = text.encode()
        tree = ast.parse(text)
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                child.parent = parent
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        self.device = [f for f in functions if any("jit" in ast.unparse(d) for d in f.decorator_list)]
        self.host = [f for f in functions if f not in self.device]
        self.decorators = [d for f in self.device for d in f.decorator_list]
        self.indices, self.sorted = set(), {}
        for function in self.device:
            self._mark_indices(function)

    def _mark_indices(self, function):
        """Addresses and masks of memory operations, and what is assigned to names that stand in them, compute indices."""
        roots = []
        for node in ast.walk(function):
            if is_call(node, *MEMORY):
                roots += node.args[:1] + [k.value for k in node.keywords if k.arg == "mask"]
            elif is_call(node, "range"):
                roots += node.args
        assigned = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AugAssign))]
        known = set()
        while roots:
            for root in roots:
                for node in ast.walk(root):
                    self.indices.add(node)
            names = {node.id for root in roots for node in ast.walk(root) if isinstance(node, ast.Name)} - known
            known |= names
            roots = [a.value for a in assigned
                     for target in (a.targets if isinstance(a, ast.Assign) else [a.target])
                     if isinstance(target, ast.Name) and target.id in names and not is_call(a.value, "load")]

    def nodes(self, functions, *kinds):
        """In the order of the text; without decorators and annotations. `functions`: self.device or self.host."""
        if id(functions) not in self.sorted:
            found = {id(n): n for f in functions for statement in f.body for n in ast.walk(statement) if hasattr(n, "lineno")}
            self.sorted[id(functions)] = sorted(found.values(), key=lambda n: (n.lineno, n.col_offset, -n.end_lineno, -n.end_col_offset))
        return [node for node in self.sorted[id(functions)] if isinstance(node, kinds)]

    def calls(self, *names):
        return [node for node in self.nodes(self.device, ast.Call) if is_call(node, *names)]

    def values(self, *kinds):
        return [node for node in self.nodes(self.device, *kinds) if node not in self.indices]

    def index_nodes(self, *kinds):
        return [node for node in self.nodes(self.device, *kinds) if node in self.indices]

    def span(self, node):
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        """In parentheses where it has operators: a node's own are not part of its span."""
        start, end = self.span(node)
        text = self.data[start:end].decode()
        return f"({text})" if isinstance(node, (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.UnaryOp)) else text

    def put(self, node, text):
        return Edit(*self.span(node), text)

    def add(self, node, text):
        end = self.span(node)[1]
        return Edit(end, end, text)

    def drop_keyword(self, call, name):
        """Edits that take a keyword argument away with the comma in front of it."""
        for keyword in call.keywords:
            if keyword.arg == name:
                start, end = self.span(keyword)
                comma = self.data.rfind(b",", 0, start)
                if comma > self.span(call.func)[1]:
                    yield Edit(comma, end, "")


def keyword(call, name):
    return next((k.value for k in call.keywords if k.arg == name), None)


def binaries(s, operator, nodes):
    return [node for node in nodes(ast.BinOp) if isinstance(node.op, operator)]


# -- masks --
@rule("load without mask")
def _(s):
    for call in s.calls("load"):
        for edit in s.drop_keyword(call, "mask"):
            others = list(s.drop_keyword(call, "other"))
            if not others:
                yield edit
            elif others[0].start == edit.end:
                yield Edit(edit.start, others[0].end, "")


@rule("store without mask")
def _(s):
    for call in s.calls("store", "atomic_add"):
        yield from s.drop_keyword(call, "mask")


@rule("wrong padding value")
def _(s):
    for call in s.calls("load"):
        other = keyword(call, "other")
        if other is not None:
            yield s.put(other, "1" if s.text(other) == "0" else "1.0" if s.text(other) == "0.0" else "0.0")


@rule("padding value missing")
def _(s):
    for call in s.calls("load"):
        if (other := keyword(call, "other")) is not None and s.text(other) not in ("0", "0.0"):
            yield from s.drop_keyword(call, "other")


def mask_comparisons(s):
    return [n for n in s.nodes(s.device, ast.Compare) if len(n.ops) == 1 and isinstance(n.ops[0], ast.Lt) and
            (n in s.indices or any(isinstance(p, ast.Name) for p in (n.comparators[0],)))]


@rule("mask one short")
def _(s):
    for node in mask_comparisons(s):
        yield s.add(node.comparators[0], " - 1")


@rule("mask one long")
def _(s):
    for node in mask_comparisons(s):
        yield s.put(node, f"{s.text(node.left)} <= {s.text(node.comparators[0])}")


@rule("mask without its first part")
def _(s):
    for node in binaries(s, ast.BitAnd, lambda *k: s.nodes(s.device, *k)):
        yield s.put(node, s.text(node.right))


@rule("mask without its second part")
def _(s):
    for node in binaries(s, ast.BitAnd, lambda *k: s.nodes(s.device, *k)):
        yield s.put(node, s.text(node.left))


@rule("and becomes or")
def _(s):
    for node in binaries(s, ast.BitAnd, lambda *k: s.nodes(s.device, *k)):
        yield s.put(node, f"({s.text(node.left)} | {s.text(node.right)})")


# -- comparisons and choices --
EDGES = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
REVERSED = {ast.Lt: ">", ast.LtE: ">=", ast.Gt: "<", ast.GtE: "<=", ast.Eq: "!=", ast.NotEq: "=="}


def compared(s, table):
    lower_bounds = [n for n in s.index_nodes(ast.Compare) if not isinstance(n.ops[0], ast.Lt)]
    for node in s.values(ast.Compare) + lower_bounds:
        if len(node.ops) == 1 and type(node.ops[0]) in table:
            yield s.put(node, f"{s.text(node.left)} {table[type(node.ops[0])]} {s.text(node.comparators[0])}")


@rule("comparison's edge")
def _(s):
    yield from compared(s, EDGES)


@rule("comparison reversed")
def _(s):
    yield from compared(s, REVERSED)


@rule("choices swapped")
def _(s):
    for call in s.calls("where"):
        if len(call.args) == 3:
            yield Edit(s.span(call.args[1])[0], s.span(call.args[2])[1], f"{s.text(call.args[2])}, {s.text(call.args[1])}")


@rule("choice dropped")
def _(s):
    for call in s.calls("where"):
        if len(call.args) == 3:
            yield s.put(call, s.text(call.args[1]))


@rule("branch inverted")
def _(s):
    for node in s.nodes(s.device, ast.If):
        yield s.put(node.test, f"not {s.text(node.test)}")


# -- axes, reductions, layouts --
@rule("wrong axis")
def _(s):
    for call in s.nodes(s.device, ast.Call):
        if (axis := keyword(call, "axis")) is not None and s.text(axis) in ("0", "1"):
            yield s.put(axis, "1" if s.text(axis) == "0" else "0")


@rule("wrong reduction")
def _(s):
    for call in s.calls("sum", "max", "min"):
        if isinstance(call.func, ast.Attribute) and keyword(call, "return_indices") is None:
            yield s.put(call.func, {"sum": "tl.max", "max": "tl.min", "min": "tl.max"}[call.func.attr])


@rule("wrong broadcast")
def _(s):
    for node in s.nodes(s.device, ast.Subscript):
        swapped = {"[:, None]": "[None, :]", "[None, :]": "[:, None]"}
        tail = s.text(node)[len(s.text(node.value)):]
        if tail in swapped:
            yield s.put(node, s.text(node.value) + swapped[tail])


@rule("transposition missing")
def _(s):
    for call in s.calls("trans", "permute"):
        if call.args:
            yield s.put(call, s.text(call.args[0]))


@rule("operands of a product swapped")
def _(s):
    for call in s.calls("dot"):
        yield Edit(s.span(call.args[0])[0], s.span(call.args[1])[1], f"{s.text(call.args[1])}, {s.text(call.args[0])}")


@rule("carried sum of a product dropped")
def _(s):
    for call in s.calls("dot"):
        if len(call.args) == 3:
            yield Edit(s.span(call.args[1])[1], s.span(call.args[2])[1], "")


# -- blocks and lanes --
@rule("wrong axis of the grid")
def _(s):
    for call in s.calls("program_id"):
        if call.args and s.text(call.args[0]) in "012":
            yield s.put(call.args[0], {"0": "1", "1": "0", "2": "1"}[s.text(call.args[0])])


@rule("block off by one")
def _(s):
    for call in s.calls("program_id"):
        yield s.put(call, f"({s.text(call)} + 1)")


@rule("same block for all")
def _(s):
    for call in s.calls("program_id"):
        yield s.put(call, f"({s.text(call)} * 0)")


@rule("lane off by one")
def _(s):
    for call in s.calls("arange"):
        yield s.put(call, f"({s.text(call)} + 1)")


@rule("stale index in odd lanes")
def _(s):
    for call in s.calls("arange"):
        yield s.put(call, f"({s.text(call)} // 2 * 2)")


def with_mask(s, call, condition):
    mask = keyword(call, "mask")
    if mask is None:
        return s.add((call.keywords[-1].value if call.keywords else call.args[-1]), f", mask={condition}")
    return s.put(mask, f"{s.text(mask)} & ({condition})")


@rule("last block is not written")
def _(s):
    for call in s.calls("store"):
        yield with_mask(s, call, "tl.program_id(0) != tl.num_programs(0) - 1")


@rule("only the first block is written")
def _(s):
    for call in s.calls("store"):
        yield with_mask(s, call, "tl.program_id(0) == 0")


@rule("store off by one")
def _(s):
    for call in s.calls("store"):
        yield s.add(call.args[0], " + 1")


@rule("load off by one")
def _(s):
    for call in s.calls("load"):
        yield s.add(call.args[0], " + 1")


# -- addresses --
def strides(s):
    return [n for n in binaries(s, ast.Mult, s.index_nodes) if isinstance(n.right, ast.Name)]


@rule("stride missing")
def _(s):
    for node in strides(s):
        yield s.put(node, s.text(node.left))


@rule("stride one short")
def _(s):
    for node in strides(s):
        yield s.put(node.right, f"({s.text(node.right)} - 1)")


@rule("swapped stride")
def _(s):
    for node in strides(s):
        function = node
        while not isinstance(function, ast.FunctionDef):
            function = function.parent
        names = [a.arg for a in function.args.args if not a.arg.endswith("ptr") and a.arg != node.right.id and not a.arg.startswith(("BLOCK", "eps", "scale"))]
        if names:
            near = [n for n in names if n.startswith("stride")] if node.right.id.startswith("stride") else names
            yield s.put(node.right, (near or names)[0])


@rule("offset without its last term")
def _(s):
    for node in binaries(s, ast.Add, s.index_nodes):
        yield s.put(node, s.text(node.left))


@rule("offset without its first term")
def _(s):
    for node in binaries(s, ast.Add, s.index_nodes):
        if not (isinstance(node.left, ast.Name) and node.left.id.endswith("ptr")) and "ptr" not in s.text(node.left):
            yield s.put(node, s.text(node.right))


@rule("remainder for quotient")
def _(s):
    for node in s.nodes(s.device, ast.BinOp):
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            yield s.put(node, f"({s.text(node.left)} {'%' if isinstance(node.op, ast.FloorDiv) else '//'} {s.text(node.right)})")


@rule("offset in 32 bits")
def _(s):
    for call in s.calls("to"):
        if len(call.args) == 1 and s.text(call.args[0]) == "tl.int64":
            yield s.put(call, s.text(call.func.value))


@rule("wrong argument")
def _(s):
    for call in s.calls("load"):
        pointers = [n for n in ast.walk(call.args[0]) if isinstance(n, ast.Name) and n.id.endswith("ptr")]
        function = call
        while not isinstance(function, ast.FunctionDef):
            function = function.parent
        others = [a.arg for a in function.args.args if a.arg.endswith("ptr")]
        for pointer in pointers[:1]:
            others = [name for name in others if name != pointer.id]
            if others:
                yield s.put(pointer, others[0])


@rule("ignored argument")
def _(s):
    for call in s.calls("load"):
        if call not in s.indices:
            yield s.put(call, f"({s.text(call)} * 0)")


# -- loops --
def loops(s):
    return [n.iter for n in s.nodes(s.device, ast.For) if is_call(n.iter, "range", "static_range")]


@rule("first turn skipped")
def _(s):
    for call in loops(s):
        if len(call.args) == 3:
            yield s.put(call.args[0], f"{s.text(call.args[0])} + {s.text(call.args[2])}")
        elif len(call.args) == 1:
            yield s.put(call.args[0], f"1, {s.text(call.args[0])}")


@rule("truncated loop")
def _(s):
    for call in loops(s):
        if len(call.args) == 3:
            yield s.put(call.args[1], f"{s.text(call.args[1])} - {s.text(call.args[2])}")
        else:
            yield s.put(call.args[-1], f"{s.text(call.args[-1])} - 1")


@rule("dropped tail")
def _(s):
    for call in loops(s):
        if len(call.args) == 3:
            yield s.put(call.args[1], f"{s.text(call.args[1])} // {s.text(call.args[2])} * {s.text(call.args[2])}")


@rule("every second turn")
def _(s):
    for call in loops(s):
        if len(call.args) == 3:
            yield s.put(call.args[2], f"2 * {s.text(call.args[2])}")


@rule("elements counted twice")
def _(s):
    for call in loops(s):
        if len(call.args) == 3:
            yield s.put(call.args[2], f"{s.text(call.args[2])} // 2")


# -- sums --
@rule("wrong accumulator type")
def _(s):
    for call in s.calls("zeros", "full"):
        for node in [*call.args, *(k.value for k in call.keywords)]:
            if s.text(node) == "tl.float32":
                yield s.put(node, "tl.bfloat16")
            elif s.text(node) in ("tl.int32", "tl.int64"):
                yield s.put(node, "tl.int8")


@rule("wrong initial value")
def _(s):
    for call in s.calls("zeros"):
        yield s.put(call, f"({s.text(call)} + 1)")
    for call in s.calls("full"):
        if len(call.args) > 1:
            yield s.put(call.args[1], "1" if s.text(call.args[1]).isdigit() else "0.0" if "inf" in s.text(call.args[1]) else "1.0")
    for node in s.nodes(s.device, ast.Assign):
        if s.text(node.value) == 'float("-inf")':
            yield s.put(node.value, "0.0")


def additions(s):
    return [n for n in s.nodes(s.device, ast.AugAssign) if isinstance(n.op, ast.Add) and not s.text(n.target).endswith("ptr")]


@rule("sum overwritten")
def _(s):
    for node in additions(s):
        yield s.put(node, f"{s.text(node.target)} = {s.text(node.value)}")


@rule("sum subtracts")
def _(s):
    for node in additions(s):
        yield s.put(node, f"{s.text(node.target)} -= {s.text(node.value)}")


@rule("term added twice")
def _(s):
    for node in additions(s):
        yield s.put(node, f"{s.text(node.target)} += 2 * {s.text(node.value)}")


@rule("statement dropped")
def _(s):
    for node in s.nodes(s.device, ast.AugAssign):
        yield s.put(node, "pass")


@rule("atomic becomes a store")
def _(s):
    for call in s.calls("atomic_add"):
        others = "".join(f", mask={s.text(k.value)}" for k in call.keywords if k.arg == "mask")
        yield s.put(call, f"tl.store({s.text(call.args[0])}, {s.text(call.args[1])}{others})")


@rule("atomic becomes load and store")
def _(s):
    for call in s.calls("atomic_add"):
        mask = "".join(f", mask={s.text(k.value)}" for k in call.keywords if k.arg == "mask")
        place = s.text(call.args[0])
        yield s.put(call, f"tl.store({place}, tl.load({place}{mask}) + {s.text(call.args[1])}{mask})")


@rule("barrier missing")
def _(s):
    for call in s.calls("debug_barrier"):
        yield s.put(call, "pass")


# -- formulas --
ROOTS = ("rsqrt", "sqrt", "sqrt_rn")


def epsilons(s):
    for call in s.calls(*ROOTS):
        if len(call.args) == 1 and isinstance(call.args[0], ast.BinOp) and isinstance(call.args[0].op, ast.Add):
            yield call, call.args[0]


@rule("eps outside the root")
def _(s):
    for call, inside in epsilons(s):
        left, right = s.text(inside.left), s.text(inside.right)
        yield s.put(call, f"(1.0 / (tl.sqrt({left}) + {right}))" if name_of(call.func) == "rsqrt" else f"(tl.sqrt({left}) + {right})")


@rule("eps dropped")
def _(s):
    for _, inside in epsilons(s):
        yield s.put(inside, s.text(inside.left))


def is_one(node):
    return isinstance(node, ast.Constant) and node.value == 1


@rule("biased variance")
def _(s):
    for node in binaries(s, ast.Sub, lambda *k: s.nodes(s.device, *k)):
        if is_one(node.right) and isinstance(node.parent, ast.BinOp) and isinstance(node.parent.op, ast.Div):
            yield s.put(node, s.text(node.left))


def divisions_by_names(s):
    return [n for n in binaries(s, ast.Div, s.values) if isinstance(n.right, ast.Name)]


@rule("divided by one less")
def _(s):
    for node in divisions_by_names(s):
        yield s.put(node.right, f"({s.text(node.right)} - 1)")


@rule("maximum is not subtracted")
def _(s):
    for call in s.calls("exp", "exp2"):
        if isinstance(call.args[0], ast.BinOp) and isinstance(call.args[0].op, ast.Sub):
            yield s.put(call.args[0], s.text(call.args[0].left))


@rule("factor dropped")
def _(s):
    for node in binaries(s, ast.Mult, s.values):
        yield s.put(node, s.text(node.left))


@rule("first factor dropped")
def _(s):
    for node in binaries(s, ast.Mult, s.values):
        yield s.put(node, s.text(node.right))


@rule("term dropped")
def _(s):
    for node in binaries(s, ast.Add, s.values):
        yield s.put(node, s.text(node.left))


@rule("lost sign")
def _(s):
    for node in s.values(ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            yield s.put(node, s.text(node.operand))
    for node in binaries(s, ast.Sub, s.values):
        yield s.put(node, f"({s.text(node.left)} + {s.text(node.right)})")


@rule("difference reversed")
def _(s):
    for node in binaries(s, ast.Sub, s.values):
        yield s.put(node, f"({s.text(node.right)} - {s.text(node.left)})")


@rule("quotient reversed")
def _(s):
    for node in binaries(s, ast.Div, s.values):
        yield s.put(node, f"({s.text(node.right)} / {s.text(node.left)})")


@rule("division dropped")
def _(s):
    for node in binaries(s, ast.Div, s.values):
        yield s.put(node, s.text(node.left))


@rule("sum for product")
def _(s):
    for node in binaries(s, ast.Mult, s.values):
        yield s.put(node, f"({s.text(node.left)} + {s.text(node.right)})")


def float_constants(s, functions):
    return [n for n in s.nodes(functions, ast.Constant) if is_number(n, float) and n.value not in (0.0,)]


@rule("constant off by a hundredth")
def _(s):
    for node in float_constants(s, s.device):
        yield s.put(node, repr(node.value * 1.01))


@rule("constant off in its fifth digit")
def _(s):
    for node in float_constants(s, s.device):
        yield s.put(node, repr(node.value * 1.00003))


@rule("constant's sign")
def _(s):
    for node in float_constants(s, s.device):
        yield s.put(node, f"(-{s.text(node)})")


@rule("zero becomes a small constant")
def _(s):
    for node in s.values(ast.Constant):
        if is_number(node, float) and node.value == 0.0 and not (isinstance(node.parent, ast.keyword) and node.parent.arg == "other"):
            yield s.put(node, "0.01")


@rule("integer off by one")
def _(s):
    for node in s.nodes(s.device, ast.Constant):
        quiet = is_call(node.parent, "program_id", "num_programs", "arange", "float") or isinstance(node.parent, (ast.keyword, ast.Subscript, ast.Tuple))
        if is_number(node, int) and not quiet:
            yield s.put(node, str(node.value + 1))


@rule("wrong function")
def _(s):
    names = {"exp": "tl.exp2", "exp2": "tl.exp", "log": "tl.log2", "log2": "tl.log", "sqrt": "tl.rsqrt", "rsqrt": "tl.sqrt", "sin": "tl.cos", "cos": "tl.sin",
             "maximum": "tl.minimum", "minimum": "tl.maximum", "floor": "tl.ceil", "ceil": "tl.floor"}
    for call in s.calls(*names):
        if isinstance(call.func, ast.Attribute):
            yield s.put(call.func, names[call.func.attr])


@rule("clamp or magnitude dropped")
def _(s):
    for call in s.calls("maximum", "minimum", "abs", "clamp"):
        if call.args and isinstance(call.func, ast.Attribute) and s.text(call.func.value) == "tl":
            yield s.put(call, s.text(call.args[0]))


# -- precision --
@rule("computed in 16 bits")
def _(s):
    for call in s.calls("to"):
        if len(call.args) == 1 and s.text(call.args[0]) == "tl.float32":
            yield s.put(call, s.text(call.func.value))


@rule("operand rounded to bfloat16")
def _(s):
    for call in s.calls("load"):
        where = s.text(call.args[0])
        if call not in s.indices and not any(word in where for word in ("index", "label", "target", "length", "mask", "code")):
            yield s.put(call, f"{s.text(call)}.to(tl.bfloat16).to(tl.float32)")


@rule("result rounded to bfloat16")
def _(s):
    for call in s.calls("store"):
        if len(call.args) > 1:
            yield s.put(call.args[1], f"{s.text(call.args[1])}.to(tl.bfloat16)")


@rule("result rounded to float16")
def _(s):
    for call in s.calls("store"):
        if len(call.args) > 1:
            yield s.put(call.args[1], f"{s.text(call.args[1])}.to(tl.float16)")


@rule("result truncated")
def _(s):
    for call in s.calls("store"):
        if len(call.args) > 1:
            yield s.put(call.args[1], f"{s.text(call.args[1])}.to(tl.int32)")


@rule("product in TF32")
def _(s):
    for call in s.calls("dot"):
        if (precision := keyword(call, "input_precision")) is not None:
            yield s.put(precision, '"tf32"')


# -- host code --
def grids(s):
    """Elements of the grid of each launch."""
    for call in s.nodes(s.host, ast.Call):
        if isinstance(call.func, ast.Subscript) and isinstance(call.func.slice, ast.Tuple):
            yield from call.func.slice.elts
    for node in s.nodes(s.host, ast.Assign):
        value = node.value.body if isinstance(node.value, ast.Lambda) else node.value
        if len(node.targets) == 1 and name_of(node.targets[0]) == "grid" and isinstance(value, ast.Tuple):
            yield from value.elts


@rule("grid rounded down")
def _(s):
    for call in s.nodes(s.host, ast.Call):
        if is_call(call, "cdiv") and len(call.args) == 2:
            yield s.put(call, f"max(1, {s.text(call.args[0])} // {s.text(call.args[1])})")


@rule("grid one short")
def _(s):
    for node in grids(s):
        yield s.put(node, f"max(1, {s.text(node)} - 1)")


@rule("grid of one")
def _(s):
    for node in grids(s):
        if s.text(node) != "1":
            yield s.put(node, "1")


@rule("grid one long")
def _(s):
    for node in grids(s):
        yield s.put(node, f"{s.text(node)} + 1")


def launches(s):
    return [call for call in s.nodes(s.host, ast.Call) if isinstance(call.func, ast.Subscript)]


@rule("arguments swapped")
def _(s):
    for call in launches(s):
        for a, b in zip(call.args, call.args[1:]):
            yield Edit(s.span(a)[0], s.span(b)[1], f"{s.text(b)}, {s.text(a)}")


@rule("stride of another axis")
def _(s):
    for call in s.nodes(s.host, ast.Call):
        if is_call(call, "stride") and len(call.args) == 1 and s.text(call.args[0]) in ("0", "1", "2"):
            yield s.put(call.args[0], {"0": "1", "1": "0", "2": "1"}[s.text(call.args[0])])


@rule("sizes swapped")
def _(s):
    for node in s.nodes(s.host, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and s.text(node.value).endswith(".shape"):
            for a, b in zip(target.elts, target.elts[1:]):
                yield Edit(s.span(a)[0], s.span(b)[1], f"{s.text(b)}, {s.text(a)}")


@rule("constant of the launch off")
def _(s):
    for node in float_constants(s, s.host):
        yield s.put(node, repr(node.value * 1.25))


@rule("integer of the launch off by one")
def _(s):
    for call in launches(s):
        for node in [*call.args, *(k.value for k in call.keywords)]:
            if is_number(node, int) and (node.value < 16 or node.value & (node.value - 1)):
                named = next((k.arg for k in call.keywords if k.value is node), "")
                if named not in ("num_warps", "num_stages"):
                    yield s.put(node, str(node.value + 1))


@rule("block too small")
def _(s):
    for call in s.nodes(s.host, ast.Call):
        if is_call(call, "next_power_of_2"):
            yield s.put(call, f"max(1, {s.text(call)} // 2)")
    for call in launches(s):
        for k in call.keywords:
            if (k.arg or "").startswith("BLOCK") and is_number(k.value, int):
                yield s.put(k.value, str(k.value.value // 2))


@rule("block too large")
def _(s):
    for call in launches(s):
        for k in call.keywords:
            if (k.arg or "").startswith("BLOCK") and is_number(k.value, int):
                yield s.put(k.value, str(k.value.value * 2))


@rule("zeros become empty")
def _(s):
    for call in s.nodes(s.host, ast.Call):
        if is_call(call, "zeros", "zeros_like"):
            yield s.put(call.func, s.text(call.func).replace("zeros", "empty"))


@rule("in place of an input")
def _(s):
    for call in s.nodes(s.host, ast.Call):
        if is_call(call, "empty_like") and call.args:
            yield s.put(call, s.text(call.args[0]))


@rule("wrong type of the result")
def _(s):
    for call in s.nodes(s.host, ast.Call):
        if is_call(call, "empty", "empty_like", "zeros"):
            if (dtype := keyword(call, "dtype")) is not None:
                yield s.put(dtype, "torch.float64")
            elif call.args:
                yield s.add(call.args[-1] if not call.keywords else call.keywords[-1].value, ", dtype=torch.float64")


@rule("result is not zeroed between trials")
def _(s):
    for decorator in s.decorators:
        if isinstance(decorator, ast.Call):
            yield from s.drop_keyword(decorator, "reset_to_zero")
