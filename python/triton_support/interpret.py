# The executor's side of a Triton candidate: its kernels run in Triton's interpreter, on CPU memory.
#
# Needs TRITON_INTERPRET=1 in the environment before triton is imported.
import inspect
import math
import resource

import numpy as np
import torch
import triton.runtime.interpreter as interpreter
import triton.runtime.jit

from . import autotune, host, launches, semantics
from .census import Census, HostReads, Operators
from .hidden_values import HiddenValues


class _NoLauncher:
    def __init__(self, source, metadata):
        raise RuntimeError("interpreted kernels are not launched by the driver")


class Interpreter:
    """One candidate's interpreter: what it launched and what it computed elsewhere."""

    def __init__(self, setup):
        """setup: "triton" of the executor's setup message. Patches Triton and torch in this process."""
        self.launches = launches.Launches()
        self.census = Census()
        self._hidden = HiddenValues() if setup.get("hide_values", False) else None
        self._in_call = False
        self._compiled = {bytes.fromhex(text) for text in setup["compiled"]}
        self._current = None
        self._patches = _Patches(interpreter._patch_lang)
        host.install(host.Device(setup["arch"]), _NoLauncher)
        self._tuning = autotune.Tuning(setup["autotune_seed"], launches.NotCompiled)
        self._tuning.install()
        semantics.install(interpreter)
        self._cover_launches()
        if setup.get("drop_stores", False):
            interpreter._interpreter = _WithoutStores(interpreter._interpreter)
        if self._hidden is not None:
            interpreter._interpreter = _WithNotedStores(interpreter._interpreter, self._hidden)
            self._suspend_constant_functions()
            # No process or thread of the candidate's looks while programs run.
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

    def call(self, function, arguments, inputs, first_output, store):
        """One call of the candidate, with everything counted that it computes outside kernels. inputs: positions of
        input tensors among the arguments; first_output: where destinations begin. store: gets what is returned,
        and answers with the tensors that are results."""
        census, hidden = self.census, self._hidden
        census.begin_call()
        if hidden is not None:
            arguments = hidden.begin(arguments, inputs, first_output)
        self._in_call = True
        try:
            with HostReads(census), Operators(census, hidden):
                results = store(function(*arguments))
        finally:
            self._in_call = False
        if hidden is not None:
            hidden.end(results)

    def report(self, reply):
        """Writes what has run since the start to the reply page."""
        kernels = list(self.launches.kernels.values())
        reply.set_launches(self.census.calls, [(k.identity, k.launches, k.programs) for k in kernels])

    def _take_part(self, arguments):
        """Tensors that no operator of this call made: parameters, workspaces."""
        for argument in arguments if self._hidden is not None else ():
            if isinstance(argument, (tuple, list)):
                self._take_part(argument)
            elif isinstance(tensor := getattr(argument, "base", argument), torch.Tensor):
                self._hidden.add(tensor)

    def _suspend_constant_functions(self):
        """Functions that compute constants are called again by each program, and are the host's code."""
        constant_function = getattr(triton.runtime.jit, "ConstexprFunction", None)
        if constant_function is None:
            return
        call_function, hidden = constant_function.__call__, self._hidden

        def call(function, *args, **kwargs):
            with hidden.suspended():
                return call_function(function, *args, **kwargs)

        constant_function.__call__ = call

    def _cover_launches(self):
        run_interpreted = interpreter.InterpretedFunction.run
        set_builders_grid = interpreter.interpreter_builder.set_grid_dim

        def set_grid_dim(*sizes):
            if self._current is not None:
                self._current.programs += math.prod(sizes)
            if self._hidden is not None and self._in_call:
                self._hidden.open()
            return set_builders_grid(*sizes)

        def run(function, *args, grid, warmup, **kwargs):
            if warmup:
                return None
            kernel = launches.identify(function.fn, args, kwargs)
            if self._tuning.choosing and kernel.identity not in self._compiled:
                raise launches.NotCompiled(f"no configuration of {kernel.name} was compiled")
            self._current = self.launches.add(kernel)
            self._take_part(args)
            self._take_part(kwargs.values())
            try:
                return run_interpreted(function, *args, grid=grid, warmup=False, **kwargs)
            finally:
                if self._hidden is not None:
                    self._hidden.close()
                self._current = None
                self._patches.end_launch()

        interpreter.interpreter_builder.set_grid_dim = set_grid_dim
        interpreter._patch_lang = self._patches
        interpreter.InterpretedFunction.run = run
        # All tensors lie in CPU memory already: nothing to copy there, nothing to bring back.
        interpreter.GridExecutor._init_args_hst = lambda executor, args, kwargs: (args, kwargs)
        interpreter.GridExecutor._restore_args_dev = lambda executor, *_: None


class _Patches:
    """Triton's change of the language for its interpreter, made once a launch instead of once a call of every device function:
    with a tl.sum in the kernel, three quarters of its time."""

    def __init__(self, patch_language):
        self._patch_language = patch_language
        self._languages = {}  # function -> the modules of its globals that are changed for it
        self._done = set()  # in this launch
        self._scopes = []

    def __call__(self, function):
        names = self._languages.get(function)
        if names is None:
            modules = (interpreter.tl, interpreter.tl.core)
            names = {m.__name__ for m in function.__globals__.values() if inspect.ismodule(m) and m in modules}
            self._languages[function] = names
        if not names or not names <= self._done:
            scope = self._patch_language(function)
            # Triton 3.6 leaves an array of one element to int(), which newer numpy refuses.
            scope.set_attr(interpreter.tl.tensor, "__index__", lambda tensor: int(tensor.handle.data.squeeze()))
            self._scopes.append(scope)
            self._done |= names
        return self

    def restore(self):
        """What Triton calls when a function has returned: the launch is not over yet."""

    def end_launch(self):
        while self._scopes:
            self._scopes.pop().restore()
        self._done.clear()


class _WithNotedStores:
    """Triton's memory operations; where they write is known before they do."""

    def __init__(self, operations, hidden):
        self._operations = operations
        self._hidden = hidden

    def __getattr__(self, name):
        return getattr(self._operations, name)

    def store(self, pointers, value, mask):
        self._note(pointers, mask)
        return self._operations.store(pointers, value, mask)

    def atomic_rmw(self, operation, pointers, value, mask, order):
        self._note(pointers, mask)
        return self._operations.atomic_rmw(operation, pointers, value, mask, order)

    def atomic_cas(self, pointers, expected, value, order):
        self._note(pointers, None)
        return self._operations.atomic_cas(pointers, expected, value, order)

    def _note(self, pointers, mask):
        if self._hidden.is_open:
            self._hidden.note_store(pointers, mask)


class _WithoutStores:
    """Triton's memory operations with every write left out: what comes out right then, no kernel computed."""

    def __init__(self, operations):
        self._operations = operations

    def __getattr__(self, name):
        return getattr(self._operations, name)

    def store(self, pointers, value, mask):
        pass

    def atomic_rmw(self, operation, pointers, value, mask, order):
        return self._operations.atomic_rmw(operation, pointers, value, np.zeros_like(mask), order)

    def atomic_cas(self, pointers, expected, value, order):
        ones = np.ones(pointers.shape, dtype=bool)
        return self._operations.load(pointers, ones, np.zeros_like(expected), expected.dtype)
