# The texts of kernels and what they name: all that decides what a kernel computes, described alike in both roles.
import ast
import builtins
import enum
import math
import sys
import types

import torch
import triton.language as tl
from triton.runtime.jit import JITCallable, JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

# Python's builtins that mean the same in the compiler and in the interpreter. The others do not exist in a kernel, or tell where it
# runs: isinstance, getattr, globals and their like.
_BUILTINS = frozenset(
    """abs all any bool dict divmod enumerate float frozenset int len list map max min pow print range reversed round set sorted
    str sum tuple zip AssertionError TypeError ValueError""".split()
)
# Attributes of a value's type that a compile-time constant does not have: in any other use, .type tells one from a number.
_OF_TYPES = frozenset("element_ty scalar shape is_block is_ptr dtype primitive_bitwidth".split())


kernel_codes = set()  # the code objects of what is interpreted: a traceback's frames that are a kernel's


class Unknowable(Exception):
    """What a kernel does cannot be told from its text and constants; the words say why."""


class Source:
    """The text of a kernel or device function, as Triton's compiler takes it.

    tree: the function's definition, without annotations and defaults; chains: the dotted names that it looks up outside of itself;
    unknowable: why it has no meaning of its own, or None.
    """

    def __init__(self, jit_function):
        self.text = jit_function.src
        raw = "".join(jit_function.raw_src)
        above = jit_function.starting_line_number - 1 + raw.count("\n") - self.text.count("\n")
        [definition] = ast.parse(self.text).body
        self.tree = ast.increment_lineno(_bare(definition), above)
        self.chains = _chains(self.tree)
        self.unknowable = _asks_where_it_runs(self.tree)


_sources = {}  # id -> (function, Source or None)


def source_of(function):
    """The Source of a kernel, a device function, or the Python function under it; None where there is no text.

    Of a JITFunction what it compiles; of anything else one text for good, which is also what is interpreted.
    """
    if not isinstance(function, JITCallable):
        function = _under(function)
    _, source = _sources.get(id(function), (None, None))
    if isinstance(function, JITCallable):
        if source is None or source.text != function.src:
            source = Source(function)
    elif id(function) not in _sources:
        try:
            source = Source(JITFunction(function))
        except Exception:  # Triton's compiler would not take it either
            source = None
    _sources[id(function)] = (function, source)
    return source


def _under(function):
    while hasattr(function, "fn"):
        function = function.fn
    return function


def code_of(tree, function):
    """The code of a definition where it can capture what `function` does."""
    outer = ast.parse("def captured(): pass").body[0]
    outer.args.args = [ast.arg(name) for name in function.__code__.co_freevars]
    outer.body = [tree]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    for name in (outer.name, tree.name):
        [code] = [part for part in code.co_consts if isinstance(part, types.CodeType) and part.co_name == name]
    return code


def _bare(definition):
    arguments = definition.args
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    definition.returns, definition.decorator_list = None, []
    return definition


def _code_words(code):
    """What runs where nothing is interpreted: functions for constants."""

    def words(item):
        if isinstance(item, frozenset):
            return sorted(map(repr, item))
        return _code_words(item) if isinstance(item, types.CodeType) else repr(item)

    return [code.co_code.hex(), [words(item) for item in code.co_consts], code.co_names, code.co_varnames]


def _local_names(tree):
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return names | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}


def _chains(tree):
    """Dotted names whose first part is not a variable of the function: [("tl", "math", "exp"), ...]"""
    local = _local_names(tree)
    chains, inside = set(), set()
    for node in ast.walk(tree):  # outer nodes come before inner ones
        if node in inside or not isinstance(node, (ast.Attribute, ast.Name)):
            continue
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
            inside.add(node)
        if isinstance(node, ast.Name) and node.id not in local:
            chains.add((node.id, *reversed(parts)))
    return sorted(chains)


def _asks_where_it_runs(tree):
    """What in a text has another answer in the interpreter than in the compiler, or None."""
    of_types = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _OF_TYPES}
    local = _local_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return "it imports modules"
        if isinstance(node, ast.Name) and node.id not in local and node.id.startswith("__"):
            return f"it names {node.id}"
        if isinstance(node, ast.Attribute):
            if node.attr == "handle" or node.attr.startswith("__"):
                return f"it names .{node.attr}"
            if node.attr == "type" and node not in of_types:
                return "it compares .type, which constants do not have (.dtype is what tensors have)"
    return None


def meaning(function, seen=None):
    """All that a kernel or device function is made of, for JSON; raises Unknowable."""
    seen = set() if seen is None else seen
    python = _under(function)
    if python in seen:
        return ["again", python.__qualname__]
    seen.add(python)
    source = source_of(function)
    if source is None:
        raise Unknowable(f"{python.__qualname__}: no source text")
    if source.unknowable:
        raise Unknowable(f"{python.__qualname__}: {source.unknowable}")
    scope = {name: cell.cell_contents for name, cell in zip(python.__code__.co_freevars, python.__closure__ or ())}
    named = [[".".join(chain), _looked_up(chain, scope, python.__globals__, seen)] for chain in source.chains]
    defaults = [*(python.__defaults__ or ()), *sorted((python.__kwdefaults__ or {}).items())]
    return [python.__qualname__, source.text, _code_words(python.__code__), named, [described(value, seen) for value in defaults]]


def _looked_up(chain, captured, global_names, seen):
    first, *attributes = chain
    if first in captured:
        value = captured[first]
    elif first in global_names:
        value = global_names[first]
    elif hasattr(builtins, first) and first not in _BUILTINS:
        raise Unknowable(f"it names {first}, which tells where it runs")
    else:
        return "builtin"
    for attribute in attributes:
        if not isinstance(value, (types.ModuleType, type)) or not hasattr(value, attribute):
            break
        value = getattr(value, attribute)
    return described(value, seen)


def described(value, seen=None):
    """A constant or anything that a kernel may name, for JSON; raises Unknowable."""
    if isinstance(value, tl.constexpr):
        value = value.value
        if isinstance(value, types.FunctionType):  # @tl.constexpr: it computes constants
            return meaning(value, seen)
    if isinstance(value, (bool, int, float, str, type(None))):
        return [type(value).__name__, repr(value)]
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *(described(item, seen) for item in value)]
    if isinstance(value, dict):
        return ["dict", *sorted([str(name), described(item, seen)] for name, item in value.items())]
    if isinstance(value, types.ModuleType):
        return ["module", value.__name__]
    if isinstance(value, enum.Enum):
        return [type(value).__qualname__, value.name]
    if hasattr(_under(value), "__code__") and _under(value) is not value:
        return [_under(value).__module__, _under(value).__qualname__] if is_of_triton(value) else meaning(value, seen)
    return _known(value)


def is_of_triton(function):
    """Whether it is a device function that Triton comes with."""
    python = _under(function)
    module = getattr(python, "__module__", None) or ""
    return module.startswith("triton.") and getattr(sys.modules.get(module), python.__qualname__, None) is function


def _known(value):
    kind = type(value)
    module = getattr(value, "__module__", None) or ""
    if isinstance(value, type):
        if issubclass(value, tuple) and hasattr(value, "_fields"):
            return [value.__qualname__, *value._fields]
        if module.startswith(("triton.", "builtins")):
            return [module, value.__qualname__]
    elif callable(value) and not isinstance(value, tl.dtype):
        # Plain functions of Triton's own could tell the two roles apart; those of libdevice are stand-ins.
        if getattr(value, "__triton_builtin__", False) or module.startswith("triton.language.extra."):
            return [module, value.__qualname__]
        if getattr(math, getattr(value, "__name__", ""), None) is value:
            return ["math", value.__name__]
    elif isinstance(value, (tl.dtype, torch.dtype)):
        return ["dtype", str(value)]
    elif kind.__module__.startswith("triton.") and isinstance(getattr(value, "name", None), str):
        return [kind.__name__, value.name]
    raise Unknowable(f"it names a {kind.__module__}.{kind.__qualname__}")


def kind_of(value):
    """What a launch is specialised for in an argument that is not a constant: its type; raises Unknowable."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
    if isinstance(value, float) or value is None:
        return type(value).__name__
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *(kind_of(item) for item in value)]
    if isinstance(value, TensorDescriptor):
        rounding = getattr(value, "round_f32_to_tf32", False)
        return [kind_of(value.base), len(value.shape), list(map(int, value.block_shape)), str(value.padding), rounding]
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return f"*{value.dtype}"
    return described(value)
