# Running a reference on tensors without elements, whose sizes are symbols, and writing down its operators.
import contextlib
import logging
import os
import sys
import unittest.mock
import warnings

import sympy
import torch
from torch import _meta_registrations
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.symbolic_shapes import DimDynamic, GuardOnDataDependentSymNode, ShapeEnv

from tracing import composites, operators
from tracing.errors import Unsupported


class Sizes:
    """The symbols of one trace."""

    def __init__(self):
        self.env = ShapeEnv(
            duck_shape=False, allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False
        )
        self.mode = FakeTensorMode(shape_env=self.env, allow_non_fake_inputs=True)
        self.symbols = {}  # name -> sympy symbol, in the order of their making
        self.scalars = {}  # name -> sympy symbol of a float scalar

    def size(self, name, value):
        """A size with the value that the code sees where it looks. Of 0 and 1 it becomes a number."""
        source = ConstantSource(name)
        symbol = self.env.create_symbol(value, source, dynamic_dim=DimDynamic.DYNAMIC)
        return self._made(self.symbols, name, symbol, value, self.env.create_symintnode)

    def whole_number(self, name, value):
        symbol = self.env.create_unspecified_symbol(
            value, ConstantSource(name), dynamic_dim=DimDynamic.DYNAMIC
        )
        return self._made(self.symbols, name, symbol, value, self.env.create_symintnode)

    def real_number(self, name, value):
        symbol = self.env.create_unspecified_symbol(
            value, ConstantSource(name), dynamic_dim=DimDynamic.DYNAMIC
        )
        return self._made(self.scalars, name, symbol, value, self.env.create_symfloatnode)

    def tensor(self, shape, dtype):
        with self.mode:
            return torch.empty(shape, dtype=dtype)

    def guards(self):
        """Sympy truths: what the code saw of the sizes where what it computes depends on it."""
        found = [self.final(guard.expr) for guard in self.env.guards if _matters(guard)]
        return [truth for truth in found if truth not in (True, sympy.true)]

    @staticmethod
    def _made(group, name, symbol, value, make):
        group[name] = symbol
        return make(symbol, hint=value, source=ConstantSource(name))

    def final(self, expr):
        """After what the trace found out about it."""
        return self.env.replace(expr)


def _matters(guard):
    """Torch asks much about sizes that changes strides, kernels and messages only, or that it refuses otherwise."""
    place = guard.sloc.framework_loc
    if place is None or not place.filename.startswith(_TORCH):
        return True
    part = place.filename.removeprefix(_TORCH)
    if place.name in _CHECKS or place.name.startswith("_verify"):
        return False
    return part.startswith(("_decomp/", "nn/")) or "slice" in place.name or place.name in _BROADCASTS


_TORCH = os.path.dirname(torch.__file__) + os.sep
# Functions of operators that stay whole: their code is run for the result's shape.
_CHECKS = frozenset(name.partition(".")[0] for name in operators.CORE_NAMES)
_BROADCASTS = frozenset(("infer_size", "expand", "broadcast_shapes", "_broadcast_shapes"))


def capture(function, arguments, sizes, path):
    """torch.fx.GraphModule of function(*arguments). path: the problem's file, for lines.

    Unsupported where a shape or a branch depends on elements; what the problem's code throws passes.
    """

    def replaced(*given):
        with composites.replaced():
            return function(*given)

    functional = torch.func.functionalize(replaced, remove="mutations")
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(_lines_of(path))
        stack.enter_context(_no_fast_path())
        stack.enter_context(_convolution_of_any_size())
        stack.enter_context(_whole_operators())
        stack.enter_context(_quiet())
        stack.enter_context(sizes.mode)
        stack.enter_context(enable_python_dispatcher())
        try:
            return proxy_tensor.make_fx(functional, operators.table())(*arguments)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            what = operators.name_of(error.func)
            text = f"{what}: what comes next depends on the values of a tensor"
            raise Unsupported(text, line_of(error.__traceback__, path)) from error
        except GuardOnDataDependentSymNode as error:
            text = "a branch depends on the values of a tensor"
            raise Unsupported(text, line_of(error.__traceback__, path)) from error


@contextlib.contextmanager
def _no_fast_path():
    """Transformer layers as their parts."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _convolution_of_any_size():
    """Torch's own rule for the result's strides fixes sizes."""

    def convolution(fake_mode, func, input, weight, bias=None, *args, **kwargs):
        with fake_mode:
            out = _meta_registrations.meta_conv(input, weight, bias, *args, **kwargs)
            if bias is not None:
                torch._check(bias.shape[0] == out.shape[1])
            return out

    changed = {torch.ops.aten.convolution.default: convolution}
    return unittest.mock.patch.dict(fake_impls.op_implementations_dict, changed)


@contextlib.contextmanager
def _whole_operators():
    """Operators of the list that torch's Python code takes apart before a trace sees them."""
    changed = [op for op in map(operators.overload, operators.CORE_NAMES) if op is not None and op.py_kernels]
    keys = (torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.Autograd)
    before = [dict(op.py_kernels) for op in changed]
    try:
        for op in changed:
            for key in keys:
                op.py_kernels.pop(key, None)
            op._dispatch_cache.clear()
        yield
    finally:
        for op, kernels in zip(changed, before):
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()


@contextlib.contextmanager
def _quiet():
    """Torch logs what it then throws."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def line_of(trace, path):
    """The last line of the file in a traceback, 0: none."""
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _lines_of(path):
    """While entered, new nodes know the innermost line of the file that runs (meta["line"])."""
    original = proxy_tensor.PythonKeyTracer.create_node

    def create_node(self, *args, **kwargs):
        node = original(self, *args, **kwargs)
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != path:
            frame = frame.f_back
        node.meta["line"] = 0 if frame is None else frame.f_lineno
        return node

    return unittest.mock.patch.object(proxy_tensor.PythonKeyTracer, "create_node", create_node)
