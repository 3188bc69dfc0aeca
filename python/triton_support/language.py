# The language of kernels in Triton's interpreter, changed once for the process's life: what the compiler takes is taken here.
import ast
import functools
import inspect
import sys
import types

import numpy as np
import triton.language.extra.cuda as of_cuda

from . import unsupported

_CONSTANT_NAMES = ("_kw_all", "_kw_any", "_kw_not")  # what rewritten kernels call for and, or, not


def install(interpreter):
    _change_for_good(interpreter)
    interpreter._patch_lang = lambda function: _Unchanged
    interpreter.InterpretedFunction.__call__ = _device_call_of(interpreter)
    interpreter._kw_all = functools.partial(_every, interpreter)
    interpreter._kw_any = functools.partial(_some, interpreter)
    interpreter._kw_not = functools.partial(_negated, interpreter)
    interpreter._implicit_cvt = _converted_of(interpreter, interpreter._implicit_cvt)
    interpreter.tl.dtype.value = property(lambda dtype: dtype)  # constants are tl.constexpr in the compiler
    _map_elements(interpreter)
    for module in (interpreter.tl, interpreter.tl.core):  # it asks for the `.value` of its formats
        module.dot_scaled = functools.wraps(module.dot_scaled)(functools.partial(_call_with_constants, module.dot_scaled))
    _stand_in_for_ptx()
    interpreter.InterpreterBuilder.create_inline_asm = unsupported.inline_ptx


def _stand_in_for_ptx():
    """Functions of Triton for CUDA that are inline PTX. Triton holds two copies of their module."""
    stand_ins = {
        "gdc_wait": lambda **_: None,  # launches follow each other: there is nothing to wait for
        "gdc_launch_dependents": lambda **_: None,
        "globaltimer": unsupported.global_timer,
        "smid": unsupported.inline_ptx,
    }
    for module in (of_cuda, sys.modules[of_cuda.__name__], of_cuda.utils):
        for name, stand_in in stand_ins.items():
            if original := getattr(module, name, None):
                setattr(module, name, functools.wraps(original)(functools.partial(_call, stand_in)))


class _Unchanged:
    """What Triton asks to undo its changes of the language: they stay."""

    @staticmethod
    def restore():
        pass


def _change_for_good(interpreter):
    """Triton's own changes for its interpreter, made before any candidate is loaded, so that other names of the same function
    (`fetch = tl.load`) work, with what identities are made of kept as it was."""
    language = interpreter.tl
    scope = interpreter._patch_lang(types.SimpleNamespace(__globals__={"tl": language, "core": language.core}))
    originals = {}
    for owner, name, original in scope._changes:
        originals.setdefault((id(owner), name), (owner, original))
    for (_, name), (owner, original) in originals.items():
        changed = getattr(owner, name)
        if inspect.isclass(original) and callable(changed):
            changed = _class_like(original, changed)
        elif inspect.isroutine(original) and callable(changed):
            changed = functools.wraps(original)(functools.partial(_call, changed))
        setattr(owner, name, _Method(changed) if inspect.isclass(owner) and isinstance(changed, functools.partial) else changed)
    # Triton 3.6 makes a number of an array of one element, which NumPy 2.5 refuses.
    language.core.tensor.__index__ = lambda self: int(self.handle.data.item())


def _call(function, *args, **kwargs):
    return function(*args, **kwargs)


def _call_with_constants(function, *args, **kwargs):
    return function(*map(as_constant, args), **{name: as_constant(value) for name, value in kwargs.items()})


def _class_like(original, function):
    """tl.range and its like are classes: a class by the same name whose objects are what the function gives."""
    body = {"__new__": lambda kind, *args, **kwargs: function(*args, **kwargs), "__module__": original.__module__}
    made = type(original.__name__, (), body)
    made.__qualname__ = original.__qualname__
    return made


class _Method:
    """A partial as a method."""

    def __init__(self, function):
        self._function = function

    def __get__(self, instance, owner):
        return self._function if instance is None else functools.partial(self._function, instance)


# ---- constants ----
class _Whole(int):
    value = property(int)


class _Real(float):
    value = property(float)


class _Words(str):
    value = property(str)


_KINDS = {int: _Whole, float: _Real, str: _Words}


def as_constant(value):
    """A constant as device functions get it: a number that has `.value`, as a tl.constexpr does."""
    kind = _KINDS.get(type(value))
    return value if kind is None else kind(value)


def _device_call_of(interpreter):
    def call(function, *args, **kwargs):
        body = function.rewrite()
        args = [as_constant(value) for value in args]
        kwargs = {name: as_constant(value) for name, value in kwargs.items() if name not in ("_semantic", "_generator")}
        return body(*args, **kwargs)

    return call


def _converted_of(interpreter, convert):
    """Arguments of a launch as tensors of one element: numbers with a point too, in float32, as a GPU gets them."""
    tensor, language = interpreter.tl.core.tensor, interpreter.tl

    def converted(argument):
        if isinstance(argument, bool):
            return tensor(interpreter.TensorHandle(np.array([argument]), language.int1), language.int1)
        if isinstance(argument, float):
            handle = interpreter.TensorHandle(np.array([argument], dtype=np.float32), language.float32)
            return tensor(handle, language.float32)
        if type(argument) in (str, language.dtype):
            return as_constant(argument)
        return convert(argument)

    return converted


# ---- and, or, not ----
class BoolOperators(ast.NodeTransformer):
    """`a and b` as the compiler takes it: between tensors both sides are computed."""

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        name = _CONSTANT_NAMES[0] if isinstance(node.op, ast.And) else _CONSTANT_NAMES[1]
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        values = [ast.copy_location(ast.Lambda(args=nothing, body=value), value) for value in node.values]
        return ast.copy_location(ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=values, keywords=[]), node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(ast.Call(func=ast.Name(id=_CONSTANT_NAMES[2], ctx=ast.Load()), args=[node.operand], keywords=[]), node)


def _truth(interpreter, value):
    return value if value.dtype == interpreter.tl.int1 else interpreter.interpreter_semantic.not_equal(
        value, interpreter.interpreter_semantic.to_tensor(0))


def _joined(interpreter, values, ends_at, join):
    tensors, last = [], None
    for value in values:
        last = value()
        if isinstance(last, interpreter.tl.core.tensor):
            tensors.append(last)
        elif bool(last) is ends_at:
            return last
    if not tensors:
        return last
    if len(tensors) == 1:
        return tensors[0]
    return functools.reduce(join, [_truth(interpreter, value) for value in tensors])


def _every(interpreter, *values):
    return _joined(interpreter, values, False, interpreter.interpreter_semantic.and_)


def _some(interpreter, *values):
    return _joined(interpreter, values, True, interpreter.interpreter_semantic.or_)


def _negated(interpreter, value):
    if not isinstance(value, interpreter.tl.core.tensor):
        return not value
    return interpreter.interpreter_semantic.invert(_truth(interpreter, value))


# ---- functions of single elements ----
def _map_elements(interpreter):
    """tl.map_elementwise: the function is called for each element, or for `pack` of them."""
    language = interpreter.tl
    if not hasattr(language, "map_elementwise"):
        return

    def scalar(data, dtype):
        return language.core.tensor(interpreter.TensorHandle(np.array([data], dtype=data.dtype), dtype), dtype)

    def apply(function, *tensors, pack=1, **_):
        semantic = interpreter.interpreter_semantic
        first = semantic.to_tensor(tensors[0])
        tensors = [semantic.to_tensor(value) for value in tensors]
        for value in tensors:
            first, _ = semantic.broadcast_impl_value(first, value)
        tensors = [semantic.broadcast_impl_value(value, first)[0] for value in tensors]
        pack = int(getattr(pack, "value", pack))
        flat = [value.handle.data.reshape(-1) for value in tensors]
        kinds = [value.dtype for value in tensors]
        results = None
        for start in range(0, flat[0].size, pack):
            given = [scalar(data[start + i], kind) for data, kind in zip(flat, kinds) for i in range(pack)]
            given = function(*given)
            given = [semantic.to_tensor(value) for value in (given if isinstance(given, (tuple, list)) else (given,))]
            results = [[] for _ in given] if results is None else results
            for made, value in zip(results, given):
                made.append(value)
        joined = [_packed(interpreter, results[i : i + pack], first.shape) for i in range(0, len(results), pack)]
        return joined[0] if len(joined) == 1 else tuple(joined)

    for module in (language, language.core):
        setattr(module, "map_elementwise", functools.wraps(module.map_elementwise)(apply))


def _packed(interpreter, columns, shape):
    dtype = columns[0][0].dtype
    data = np.stack([[value.handle.data.item() for value in column] for column in columns], axis=-1)
    shape = [int(getattr(size, "value", size)) for size in shape]
    data = data.reshape(shape).astype(interpreter._get_np_dtype(dtype))
    return interpreter.tl.core.tensor(interpreter.TensorHandle(data, dtype), interpreter.tl.block_type(dtype, shape))
