# Which kernels were launched: the same name for the same kernel in the interpreter and in the compiler.
import hashlib
import inspect
import json

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class NotCompiled(Exception):
    """An autotuner's configuration that the compiler role did not build."""


class Kernel:
    """A kernel with its compile-time constants. identity: SHA-256 over source text, constants and options."""

    def __init__(self, name, identity):
        self.name = name
        self.identity = identity
        self.launches = 0
        self.programs = 0


def identify(function, args, kwargs):
    """The Kernel of a launch; function: the Python function under triton.jit."""
    parameters = inspect.signature(function).parameters
    given = dict(zip(parameters, args))
    given.update((name, value) for name, value in kwargs.items() if name in parameters)
    constants = {}
    for name, parameter in parameters.items():
        if "constexpr" in str(parameter.annotation):
            constants[name] = _text(given.get(name, parameter.default))
    options = {name: _text(kwargs[name]) for name in OPTIONS if name in kwargs and name not in parameters}
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = ""
    words = json.dumps([function.__qualname__, source, constants, options], sort_keys=True)
    return Kernel(function.__name__, hashlib.sha256(words.encode("utf-8", "replace")).digest())


def _text(value):
    value = getattr(value, "value", value)  # of a tl.constexpr
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [_text(item) for item in value]
    return getattr(value, "__name__", None) or str(value)


class Launches:
    """The kernels that ran, by identity, in the order of their first launch."""

    def __init__(self):
        self.kernels = {}

    def add(self, kernel):
        known = self.kernels.setdefault(kernel.identity, kernel)
        known.launches += 1
        return known
