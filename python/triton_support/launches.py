# Which kernels were launched: the same name for the same kernel in the interpreter and in the compiler.
import hashlib
import inspect
import json

import triton
from triton.runtime.jit import JITCallable

import failures

from . import sources

_told = set()  # kernels without a meaning that the log names already


class NotCompiled(Exception):
    """An autotuner's configuration that the compiler role did not build."""


class Kernel:
    """A kernel with its compile-time constants. identity: SHA-256 over all that decides what it computes."""

    def __init__(self, name, identity):
        self.name = name
        self.identity = identity
        self.launches = 0
        self.programs = 0


def identify(function, args, kwargs):
    """The Kernel of a launch; function: a kernel, or the Python function under triton.jit.

    Its text and, recursively, that of the functions it names, the constants it names or is given, types of arguments, and options.
    A kernel of which that does not tell what it computes has an identity in the interpreter that the compiler never has.
    """
    compiled = isinstance(function, JITCallable)
    python = getattr(function, "fn", function)
    try:
        words = _words(function, python, args, kwargs)
    except sources.Unknowable as reason:
        if not compiled and (python, str(reason)) not in _told:
            _told.add((python, str(reason)))
            failures.log(f"the kernel {python.__name__} may compute something else where it is compiled: {reason}")
        words = ["compiled" if compiled else "interpreted", python.__qualname__]
    text = json.dumps(words, sort_keys=True)
    return Kernel(python.__name__, hashlib.sha256(text.encode("utf-8", "replace")).digest())


def _words(function, python, args, kwargs):
    parameters = inspect.signature(python).parameters
    given = dict(zip(parameters, args))
    given.update((name, value) for name, value in kwargs.items() if name in parameters)
    constants, kinds = {}, {}
    for name, parameter in parameters.items():
        value = given.get(name, parameter.default)
        if "constexpr" in str(parameter.annotation):
            constants[name] = sources.described(value)
        else:
            kinds[name] = sources.kind_of(value)
    options = {name: sources.described(value) for name, value in kwargs.items() if name not in parameters}
    if kwargs.get("ir_override"):
        raise sources.Unknowable("ir_override compiles another text")
    precision = triton.knobs.language.fp32_default  # of tl.dot
    return [sources.meaning(function), constants, kinds, options, precision]


class Launches:
    """The kernels that ran, by identity, in the order of their first launch."""

    def __init__(self):
        self.kernels = {}

    def add(self, kernel):
        known = self.kernels.setdefault(kernel.identity, kernel)
        known.launches += 1
        return known
