# The Python executor: runs one candidate or baseline for the checker (docs/protocol.md).
#
# Theory of operation. One setup message arrives on fd 3; everything after goes through two shared
# pages. The process is frozen by the checker soon after it begins to wait, so the wait spins for that
# long: what counts is the time from the thaw to the call. Importing this file runs no tensor operation; main() does.
import faulthandler
import gc
import math
import os
import time

import torch

import candidate
import failures
import pages
from arena import Arena
from arguments import Arguments
from dtypes import TORCH_OF_NAME, scalar_value
from failures import Failed
from memory import Region
from results import Results
from run_executor import run_executor

# Rounds of a wait before it sleeps: longer than a freeze takes on a free core (about a millisecond), and
# about a second where the checker cannot freeze.
SPINS, SPINS_UNFROZEN = 20_000, 20_000_000
KEEP_AT_LEAST = 512 << 20  # bytes of freed big blocks that stay mapped


def main(control_fd=3):
    """Serves one checker; never returns."""
    run_executor(Executor, control_fd)


def byte_size(argument):
    return math.prod(argument["shape"]) * TORCH_OF_NAME[argument["dtype"]].itemsize


class Executor:
    """Setup message, mappings and candidate. Owns everything until the process ends."""

    def __init__(self, message):
        """Maps every descriptor and closes it."""
        setup = self._setup = message.body
        fds = message.fds
        self._signature = setup["signature"]
        command_region = Region(fds["command"], writable=False)
        self._reply_region = Region(fds["reply"], writable=True)
        self._reply = pages.ReplyPage(self._reply_region.bytes)
        private = setup.get("private_inputs", False)  # a candidate may write to them then
        self._inputs = [
            Region(fds[f"in{s}"], writable=private, private=private) for s in range(setup["sets"])
        ]
        self._outputs = [Region(fds[f"out{s}"], writable=True) for s in range(setup["sets"])]
        self._statics = Region(fds["statics"], writable=False) if "statics" in fds else None
        self._arena_region = Region(fds["arena"], writable=True) if "arena" in fds else None
        self._source = Region(fds["source"], writable=False).bytes
        message.close()
        self._command = pages.CommandPage(
            command_region.bytes, len(self._signature["inputs"]), len(self._signature["outputs"])
        )
        self._arena = None
        self._candidate = None
        self._arguments = None
        self._results = None
        self._triton = None
        self._prepared = False
        self._arena_serves = False

    def load(self):
        """Loads the candidate and says that the executor is ready."""
        torch.set_num_threads(self._setup["threads"])
        torch.set_grad_enabled(False)
        _contain_children()
        self._start_arena()
        if "triton" in self._setup:
            from triton_support.interpret import Interpreter  # triton is only in the zygote that serves such candidates

            self._triton = Interpreter(self._setup["triton"])
        self._candidate = candidate.load(self._setup, self._source)
        passing = self._candidate.plan.destination_passing
        if not passing and self._arena_region is None:
            raise Failed(pages.FAILURE_UNSUPPORTED, "results are returned, and there is no arena")
        style = pages.STYLE_DESTINATION_PASSING if passing else pages.STYLE_RETURNING
        self._reply.set_style(style)
        self._reply.set_ready()

    def serve(self):
        """The loop of launches."""
        expected = 0
        spins = SPINS if self._setup.get("frozen", False) else SPINS_UNFROZEN
        while True:
            expected += 1
            _wait(self._command.launch_seq, expected, spins)
            op = self._command.op
            if op == pages.OP_EXIT:
                failures.flush()
                os._exit(0)
            if op == pages.OP_PREPARE:
                self._prepare()
            elif op == pages.OP_CALL:
                self._run_calls()
            self._reply.done_seq[0] = expected
            if op == pages.OP_CALL:
                self._clean_up()

    def fail(self, failure, text):
        failures.log(text)
        self._reply.set_failed(failure)
        os._exit(1)

    def _start_arena(self):
        try:
            self._arena = Arena()
        except AttributeError as error:
            text = f"the arena library is not preloaded ({error})"
            raise Failed(pages.FAILURE_UNSUPPORTED, text) from error
        tensors = self._signature["inputs"] + self._signature["outputs"]
        total = sum(byte_size(a) for a in tensors)
        self._arena.keep_big_blocks(max(KEEP_AT_LEAST, 2 * total))
        # First Python's handler, so that ours runs before it and then passes on.
        faulthandler.enable(file=2)
        self._arena.watch(self._reply_region, self._inputs)

    def _prepare(self):
        """The candidate's own preparation, then everything that the calls need."""
        signature = self._signature
        statics = self._static_tensors()
        self._candidate.prepare(statics)
        plan = self._candidate.plan
        inputs = signature["inputs"]
        fixed = {i: scalar_value(a) for i, a in enumerate(inputs) if a["role"] == "scalar"}
        if self._candidate.passes_statics:
            fixed.update((len(inputs) + i, tensor) for i, tensor in enumerate(statics))
        outputs = self._outputs if plan.destination_passing else None
        self._arguments = Arguments(
            signature, plan.order, self._command, self._inputs, outputs, fixed
        )
        if self._setup.get("compilation", "eager") != "eager":
            self._compile_now(fixed)
        if outputs is None:
            self._results = Results(signature, self._arena_region, self._reply)
        gc.freeze()  # torch's objects are not searched again during timed calls
        self._prepared = True

    def _compile_now(self, fixed):
        """torch.compile works at the first call: made here on zeros, so that no timed call pays it.

        An error is left to the first real call: zeros may be no fair inputs for the function.
        """
        given = dict(fixed)
        for i, a in enumerate(self._signature["inputs"]):
            if a["role"] == "input":
                given[i] = torch.zeros(a["shape"], dtype=TORCH_OF_NAME[a["dtype"]])
        arguments = [given[i] for i in self._candidate.plan.order]
        if self._candidate.plan.destination_passing:
            for a in self._signature["outputs"]:
                arguments.append(torch.zeros(a["shape"], dtype=TORCH_OF_NAME[a["dtype"]]))
        try:
            self._candidate.call(*arguments)
        except Exception as error:
            failures.log("compiling on zeros failed: " + failures.describe(error))
        if self._candidate.keeper is not None:
            self._candidate.keeper.after_first_call()

    def _static_tensors(self):
        offsets = self._setup.get("static_offsets", [])
        return [
            self._statics.tensor(TORCH_OF_NAME[a["dtype"]], a["shape"], offset)
            for a, offset in zip(self._signature["statics"], offsets)
        ]

    def _run_calls(self):
        if not self._prepared:
            raise Failed(pages.FAILURE_UNSUPPORTED, "a call came before prepare")
        if self._triton is not None:
            return self._run_interpreted()
        function, keeper = self._candidate.call, self._candidate.keeper
        sets, results, reply = self._command.set_of_call, self._results, self._reply
        for call in range(self._command.calls):
            reply.set_call(call)
            if keeper is not None:
                keeper.restore()
            value = function(*self._arguments.of_set(sets[call]))
            if results is not None:
                if not self._arena_serves:
                    self._enable_arena()
                results.store(call, value)

    def _run_interpreted(self):
        """The calls of a Triton candidate."""
        keeper, order = self._candidate.keeper, self._candidate.plan.order
        roles = [a["role"] for a in self._signature["inputs"]]
        inputs = [at for at, i in enumerate(order) if i < len(roles) and roles[i] == "input"]
        for call in range(self._command.calls):
            self._reply.set_call(call)
            if keeper is not None:
                keeper.restore()

            def store(value, call=call):
                if self._results is None:
                    return ()
                if not self._arena_serves:
                    self._enable_arena()
                return self._results.store(call, value)

            arguments = self._arguments.of_set(self._command.set_of_call[call])
            self._triton.call(self._candidate.call, arguments, inputs, len(order), store)
        self._triton.report(self._reply)

    def _enable_arena(self):
        """After the first call: what a candidate makes once and keeps (packed weights, a mask) must
        not take the results' places, which the checker fills with poison between launches."""
        sizes = [byte_size(a) for a in self._signature["outputs"]]
        if self._arena.enable(self._arena_region, sizes) == 0 and any(sizes):
            raise Failed(pages.FAILURE_UNSUPPORTED, "the arena is too small for the outputs")
        self._arena_serves = True

    def _clean_up(self):
        """After done: costs no timed microsecond where the checker freezes at once."""
        self._arguments.forget_changed()
        if self._results is not None:
            self._results.drop()
            self._arena.rotate()
        if self._candidate.keeper is not None:
            self._candidate.keeper.after_first_call()


def _wait(launch_seq, expected, spins):
    for _ in range(spins):
        if launch_seq[0] == expected:
            return
    while launch_seq[0] != expected:
        time.sleep(20e-6)


def _contain_children():
    """Compilers that a candidate starts: without our allocator, one process, caches in TMPDIR."""
    os.environ.pop("LD_PRELOAD", None)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    # Else torch compiles and loads a file for each vector extension of the processor before the first compiled call: about 7 s.
    os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
    folder = os.environ.get("TMPDIR")
    if folder:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(folder, "inductor"))
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(folder, "triton"))
