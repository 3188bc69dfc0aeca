# The executor's side of a Triton candidate: its kernels run in Triton's interpreter, on CPU memory.
#
# Needs TRITON_INTERPRET=1 in the environment before triton is imported.
import math
import resource
import types

import numpy as np
import torch
import triton.runtime.interpreter as interpreter
import triton.runtime.jit

from . import accesses, autotune, host, launches, semantics
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
        self._any_configuration = setup.get("configuration", 0) > 0
        self._current = None
        host.install(host.Device(setup["arch"]), _NoLauncher)
        self._tuning = autotune.Tuning(setup.get("configuration", 0), launches.NotCompiled)
        self._tuning.install()
        self._masked = semantics.install(interpreter)
        self._masked.poison = setup.get("poison_masked", False)
        self._accesses = interpreter._interpreter = accesses.Accesses(interpreter._interpreter)
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
        reply.set_launches(
            self.census.calls, [(k.identity, k.launches, k.programs) for k in kernels], self._tuning.configurations, self._masked.met
        )

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
        set_builders_place = interpreter.interpreter_builder.set_grid_idx

        def set_grid_dim(*sizes):
            if self._current is not None:
                self._current.programs += math.prod(sizes)
            if self._hidden is not None and self._in_call:
                self._hidden.open()
            self._accesses.begin_launch()
            return set_builders_grid(*sizes)

        def set_grid_idx(*place):
            self._accesses.begin_program()
            return set_builders_place(*place)

        def run(function, *args, grid, warmup, **kwargs):
            if warmup:
                return _Warm(function, args, kwargs)
            kernel = launches.identify(function.fn, args, kwargs)
            if self._tuning.choosing and not self._any_configuration and kernel.identity not in self._compiled:
                raise launches.NotCompiled(f"no configuration of {kernel.name} was compiled")
            self._current = kernel if self._tuning.choosing else self.launches.add(kernel)
            self._take_part(args)
            self._take_part(kwargs.values())
            try:
                return run_interpreted(function, *args, grid=grid, warmup=False, **kwargs)
            finally:
                if self._hidden is not None:
                    self._hidden.close()
                self._current = None

        interpreter.interpreter_builder.set_grid_dim = set_grid_dim
        interpreter.interpreter_builder.set_grid_idx = set_grid_idx
        interpreter.InterpretedFunction.run = run
        # All tensors lie in CPU memory already: nothing to copy there, nothing to bring back.
        interpreter.GridExecutor._init_args_hst = lambda executor, args, kwargs: (args, kwargs)
        interpreter.GridExecutor._restore_args_dev = lambda executor, *_: None


class _Warm:
    """What kernel.warmup gives: nothing is compiled here, so its numbers are typical ones."""

    n_regs, n_spills, n_max_threads = host.TYPICAL_REGISTERS, 0, host.MAX_THREADS
    function = module = object()

    def __init__(self, function, args, kwargs):
        names = function.arg_names
        self.name = function.__name__
        self.asm = {}
        self.metadata = types.SimpleNamespace(
            name=self.name, num_warps=kwargs.get("num_warps", 4), num_stages=kwargs.get("num_stages", 3),
            num_ctas=kwargs.get("num_ctas", 1), shared=1024)  # fmt: skip
        self._function = function
        self._options = {name: value for name, value in kwargs.items() if name not in names}
        self._constants = {**dict(zip(names, args)), **{name: value for name, value in kwargs.items() if name in names}}

    def _init_handles(self):
        pass

    def __getitem__(self, grid):
        def launch(*args, **kwargs):
            given = dict(zip(self._function.arg_names, args))
            rest = {name: value for name, value in self._constants.items() if name not in given and name not in kwargs}
            return self._function.run(*args, grid=grid, warmup=False, **rest, **kwargs, **self._options)

        return launch


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
