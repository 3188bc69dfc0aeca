# The Python executor of a GPU: runs a baseline for the checker (docs/gpu.md).
#
# Theory of operation. As executor.py: one setup message on fd 3, then two shared pages. Inputs, statics
# and outputs lie in the checker's device memory. A call is timed by two events on the stream. Before it
# the GPU writes a buffer twice as large as its cache, as often as it needs to get back to its speed and
# as the host needs to get ahead: so the call finds nothing of its own in the cache, and its kernels
# wait for each other, not for Python. Another process had the GPU before, and the change to this one takes
# 0.14 ms on an H200, which begins with this one's first flush: the host prepares the call meanwhile.
# Results are copied to the outputs after the second event. Importing this file touches no GPU.
import math
import os
import time

import torch

import candidate
import failures
import pages
from arguments import Arguments
from device_memory import READ, READ_WRITE, DeviceRegion, persisting_lines_reset
from dtypes import TORCH_OF_NAME, scalar_value
from failures import Failed
from memory import Region
from run_executor import run_executor

WARM_UPS = 3
# As apps/gpu_executor/flushes.h: the least after no rest of the GPU, a short and a longer one, and the most.
MIN_FLUSHES, FLUSHES_AFTER_SHORT_REST, FLUSHES_AFTER_REST, MAX_FLUSHES = 2, 8, 24, 400
NO_REST, SHORT_REST = 4e-3, 15e-3
LATE_FACTOR = 1.5
ATTEMPTS = 3
# Rounds of a wait before it sleeps, where the other executor, which is not frozen, has the same core; and seconds where each has its own: a core that
# slept is slow for the next milliseconds.
SPINS, LONG_SPIN = 500, 3e-3


def main(control_fd=3):
    """Serves one checker; never returns."""
    run_executor(GpuExecutor, control_fd)


def flushes_for(host_seconds, flush_seconds, rest_seconds):
    """How many flushes keep the GPU busy while the host launches one call, with a quarter to spare, and give it back its clock. A plan's executor has
    more to spare; here the GPU changes to this process first, and a late call is seen."""
    wanted = math.ceil(1.25 * host_seconds / max(flush_seconds, 1e-9))
    least = MIN_FLUSHES
    if rest_seconds > NO_REST:
        least = FLUSHES_AFTER_REST if rest_seconds > SHORT_REST else FLUSHES_AFTER_SHORT_REST
    return min(max(wanted, least), MAX_FLUSHES)


def next_launching(seconds, was_late, before):
    """What the next call's launching is taken to last. The longest one counts, a quarter less with each call after it: a first call may load code.
    Where the GPU did not wait for the host it was too little."""
    return max(seconds, (LATE_FACTOR if was_late else 0.75) * before)


def results_of(value, names):
    """What a call returned, as a list in the order of the outputs."""
    if isinstance(value, torch.Tensor):
        value = [value]
    elif isinstance(value, dict):
        value = [value[name] for name in names]
    if len(value) != len(names):
        raise Failed(pages.FAILURE_OUTPUT_COUNT, f"call returned {len(value)} outputs, expected {len(names)}")
    return value


class GpuExecutor:
    """Setup message, mappings and program. Owns everything until the process ends."""

    def __init__(self, message):
        self._message = message
        setup = self._setup = message.body
        fds = message.fds
        self._signature = setup["signature"]
        self._device = setup["device"]
        command = Region(fds["command"], writable=False)
        self._reply = pages.ReplyPage(Region(fds["reply"], writable=True).bytes)
        self._source = Region(fds["source"], writable=False).bytes
        self._command = pages.CommandPage(
            command.bytes, len(self._signature["inputs"]), len(self._signature["outputs"])
        )
        self._arguments = None
        self._flush = self._reset_persisting = None
        self._begin = self._end = None  # around a call
        self._launching = None  # (seconds that the host takes for a call, seconds of a flush); None: not known yet
        self._attempts = ATTEMPTS  # of a call
        self._has_own_core = len(os.sched_getaffinity(0)) >= 2
        self._worked = 0.0  # when the GPU's last work of this process ended

    def load(self):
        """Maps the device memory, loads the program, and says that the executor is ready."""
        os.environ.pop("LD_PRELOAD", None)
        torch.set_num_threads(self._setup["threads"])
        torch.set_grad_enabled(False)
        torch.cuda.set_device(self._device)
        # The precision of the declared types, for both sides.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        cache = torch.cuda.get_device_properties(self._device).L2_cache_size
        self._flush = torch.empty(2 * cache + 1, dtype=torch.uint8, device="cuda")
        self._reset_persisting = persisting_lines_reset()
        self._begin, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._map()
        self._candidate = candidate.load(self._setup, self._source)
        self._reply.set_style(pages.STYLE_DESTINATION_PASSING)
        self._reply.set_ready()

    def _map(self):
        fds, setup = self._message.fds, self._setup
        sets = range(setup["sets"])

        def region(name, size, access):
            return DeviceRegion(fds[name], size, self._device, access)

        self._inputs = [region(f"in{s}", setup["input_bytes"], READ) for s in sets]
        self._outputs = [region(f"out{s}", setup["output_bytes"], READ_WRITE) for s in sets]
        self._statics = region("statics", setup["static_bytes"], READ) if "statics" in fds else None
        self._message.close()

    def serve(self):
        """The loop of launches."""
        expected = 0
        op = None
        while True:
            expected += 1
            # Between two judgements the core may be another session's.
            self._wait(expected, LONG_SPIN if self._has_own_core and op in (pages.OP_CALL, pages.OP_NULL_CALL) else 0)
            op = self._command.op
            if op == pages.OP_EXIT:
                failures.flush()
                os._exit(0)
            self._reply.device_times[0] = self._reply.device_times[1] = 0
            if op == pages.OP_PREPARE:
                self._prepare()
            elif op == pages.OP_CALL:
                self._run_calls()
            elif op == pages.OP_NULL_CALL:
                self._timed(FLUSHES_AFTER_REST)
            self._reply.done_seq[0] = expected
            if op == pages.OP_CALL:
                self._arguments.forget_changed()

    def fail(self, failure, text):
        failures.log(text)
        self._reply.set_failed(failure)
        os._exit(1)

    def _wait(self, expected, spin):
        launch_seq = self._command.launch_seq
        until = time.perf_counter() + spin
        while True:
            for _ in range(SPINS):
                if launch_seq[0] == expected:
                    return
            if time.perf_counter() >= until:
                break
        while launch_seq[0] != expected:
            time.sleep(20e-6)

    def _prepare(self):
        signature, plan = self._signature, self._candidate.plan
        offsets = self._setup.get("static_offsets", [])
        statics = [
            self._statics.tensor(TORCH_OF_NAME[a["dtype"]], a["shape"], offset)
            for a, offset in zip(signature["statics"], offsets)
        ]
        self._candidate.prepare(statics)
        torch.set_default_device(torch.device("cuda", self._device))
        inputs = signature["inputs"]
        fixed = {i: scalar_value(a) for i, a in enumerate(inputs) if a["role"] == "scalar"}
        if self._candidate.passes_statics:
            fixed.update((len(inputs) + i, tensor) for i, tensor in enumerate(statics))
        self._arguments = Arguments(signature, plan.order, self._command, self._inputs, self._outputs, fixed)
        if self._setup.get("compilation", "eager") != "eager":
            self._compile_now()

    def _compile_now(self):
        """torch.compile works at the first call: made here on the memory as it is, so that no limit of a
        call counts it. An error is left to the first real call."""
        try:
            self._call(self._arguments.of_set(0))
            torch.cuda.synchronize()
        except Exception as error:
            failures.log("compiling ahead failed: " + failures.describe(error))

    def _call(self, arguments):
        """Its results; those of a destination-passing function are in place already."""
        if self._candidate.keeper is not None:
            self._candidate.keeper.restore_all()
        if self._candidate.plan.destination_passing:
            self._candidate.call(*arguments)
            return None
        count = len(arguments) - len(self._signature["outputs"])
        return self._candidate.call(*arguments[:count])

    def _run_calls(self):
        if self._arguments is None:
            raise Failed(pages.FAILURE_UNSUPPORTED, "a call came before prepare")
        nanoseconds = 0
        for call in range(self._command.calls):
            self._reply.set_call(call)
            number = self._command.set_of_call[call]
            if self._launching is None:
                self._learn_launching(self._arguments.of_set(number))
            nanoseconds += self._timed_in_time(number)
        self._reply.device_times[0] = self._reply.device_times[1] = nanoseconds

    def _learn_launching(self, arguments):
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        for _ in range(WARM_UPS):
            self._call(arguments)
            torch.cuda.synchronize()
        given = sum(t.nbytes for t in arguments[-len(self._signature["outputs"]) :])
        taken = given if self._candidate.plan.destination_passing else 0
        self._reply.call_bytes[0] = taken + max(torch.cuda.max_memory_allocated() - before, 0)
        begun = time.perf_counter()
        self._call(arguments)
        host = time.perf_counter() - begun
        torch.cuda.synchronize()
        self._launching = host, self._flush_seconds()

    def _timed_in_time(self, number):
        """The nanoseconds of a call that the GPU did not wait for: the call is made again where it may have, behind more flushes each time. One that
        waits for the GPU itself is always late, and is made once."""
        flushes = flushes_for(*self._launching, time.perf_counter() - self._worked)
        for attempt in range(self._attempts):
            nanoseconds, was_late = self._timed(min(flushes << attempt, MAX_FLUSHES), number)
            if not was_late:
                break
        self._attempts = 1 if was_late else ATTEMPTS
        return nanoseconds

    def _timed(self, flushes, number=None):
        """The nanoseconds on the GPU of a call on this set, whose results are stored, and whether the GPU may have waited for its launches; None: of
        no call."""
        self._reset_persisting()
        self._flush.zero_()
        arguments = None if number is None else self._arguments.of_set(number)
        for _ in range(flushes - 1):
            self._flush.zero_()
        launched = time.perf_counter()
        self._begin.record()
        value = None if number is None else self._call(arguments)
        self._end.record()
        host = time.perf_counter() - launched
        # The GPU is at the call already.
        was_late = number is not None and self._begin.query()
        if number is not None:
            self._store(value, arguments)
        torch.cuda.synchronize()
        self._worked = time.perf_counter()
        if self._launching is not None:
            self._launching = next_launching(host, was_late, self._launching[0]), self._launching[1]
        return int(self._begin.elapsed_time(self._end) * 1e6), was_late

    def _flush_seconds(self):
        for _ in range(FLUSHES_AFTER_REST):
            self._flush.zero_()
        self._begin.record()
        self._flush.zero_()
        self._end.record()
        self._end.synchronize()
        return self._begin.elapsed_time(self._end) * 1e-3

    def _store(self, value, arguments):
        if self._candidate.plan.destination_passing:
            return
        outputs = self._signature["outputs"]
        results = results_of(value, [a["name"] for a in outputs])
        for a, output, result in zip(outputs, arguments[len(arguments) - len(outputs) :], results):
            if list(result.shape) != a["shape"] or result.dtype is not TORCH_OF_NAME[a["dtype"]]:
                text = f"output {a['name']} has {list(result.shape)}, {result.dtype}, expected {a['shape']}, {a['dtype']}"
                raise Failed(pages.FAILURE_OUTPUT_KIND, text)
            output.copy_(result)
