# The compiler role of Triton candidates: their host code runs on made-up inputs, and every kernel that it
# launches is compiled ahead of time and not run (docs/protocol.md, "Triton").
#
# Theory of operation. Only Triton's own specialisation knows what a launch compiles to: types, constants,
# which pointers and numbers are multiples of 16. So kernel[grid](...) takes its normal way up to the
# driver, which is ours. The answer is a fixed table with the binaries behind it, read by
# src/gym/compile/triton_build.cc.
import os
import socket
import struct
import sys

import torch
import triton
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources, PTXASError
from triton.runtime.jit import JITFunction

import candidate
import failures
import loading
import messages
from dtypes import TORCH_OF_NAME, scalar_value
from memory import Region

from . import autotune, host, launches
from .warm_up import warm_up  # noqa: F401  the zygote's

MAX_KERNELS = 64
MAX_TEXT = 4000
STATUS_BUILT, STATUS_FAILED, STATUS_TOO_LARGE = 0, 1, 3

_HEADER = struct.Struct("<QIiQ40x")  # BuildHeader
_BUILD_MAGIC = 0x31444C495542574B
_TABLE = struct.Struct("<QII16s32x")  # TritonTable
_TABLE_MAGIC = 0x314E54495254574B  # "KWTRITN1"
_ENTRY = struct.Struct("<32s96sIIIIQQ32x")  # TritonEntry


def main(control_fd=3):
    """Answers one request; never returns."""
    torch.set_grad_enabled(False)
    with socket.socket(fileno=control_fd) as control:
        message = messages.receive(control)
        if message is not None:
            Compiler(message).run()
    failures.flush()
    os._exit(0)


class _NoLaunch:
    """What Triton makes of a compiled kernel: it could be launched, and is not."""

    def __init__(self, source, metadata):
        pass

    def __call__(self, *args, **kwargs):
        pass


class Compiler:
    """One request. The sources are the candidate's files, one after the other."""

    def __init__(self, message):
        self._setup = message.body["setup"]
        self._files = message.body["files"]
        self._limit = message.body["artifact_limit"]
        self._sources = bytes(Region(message.fds["sources"], writable=False).bytes)
        self._output = message.fds["output"]  # kept open: the answer is written there
        self._kernels = {}  # identity -> (Kernel, compiled)
        self._identities = {}  # compiled -> identity

    def run(self):
        torch.set_num_threads(1)
        os.environ["TRITON_CACHE_DIR"] = os.path.join(loading.work_folder(), "triton")
        host.install(host.Device(self._setup["arch"]), _NoLaunch)
        autotune.Tuning(0, (OutOfResources, CompileTimeAssertionFailure, PTXASError)).install()
        self._cover_launches()
        try:
            self._call()
        except BaseException as error:
            failures.log(_told(error))
            self._answer(STATUS_FAILED, b"")
            return
        artifact = self._table()
        self._answer(STATUS_BUILT if len(artifact) <= self._limit else STATUS_TOO_LARGE, artifact)

    def _cover_launches(self):
        compile_and_launch = JITFunction.run

        def run(function, *args, grid, warmup, **kwargs):
            kernel = launches.identify(function, args, kwargs)
            compiled = compile_and_launch(function, *args, grid=grid, warmup=warmup, **kwargs)
            if compiled is None or len(self._kernels) >= MAX_KERNELS:
                return compiled
            # What Triton remembers under another identity was compiled from something else: a helper has changed since.
            if self._identities.setdefault(compiled, kernel.identity) == kernel.identity:
                self._kernels[kernel.identity] = (kernel, compiled)
            return compiled

        JITFunction.run = run

    def _call(self):
        setup = {**self._setup, "files": self._files}
        subject = candidate.load(setup, self._sources)
        signature = setup["signature"]
        statics = [_made_up(a) for a in signature["statics"]]
        subject.prepare(statics)
        given = [scalar_value(a) if a["role"] == "scalar" else _made_up(a) for a in signature["inputs"]]
        if subject.passes_statics:
            given += statics
        arguments = [given[i] for i in subject.plan.order]
        if subject.plan.destination_passing:
            arguments += [_made_up(a) for a in signature["outputs"]]
        subject.call(*arguments)

    def _table(self):
        entries, binaries = [], []
        position = _TABLE.size + _ENTRY.size * len(self._kernels)
        for kernel, compiled in self._kernels.values():
            binary = compiled.asm["cubin"]
            meta = compiled.metadata
            name = kernel.name.encode("ascii", "replace")[:95]
            entries.append(
                _ENTRY.pack(
                    kernel.identity, name, meta.num_warps, meta.num_stages, meta.num_ctas, meta.shared, position, len(binary)
                )
            )
            binaries.append(binary)
            position += len(binary)
        version = triton.__version__.encode()[:15]
        return b"".join([_TABLE.pack(_TABLE_MAGIC, len(entries), self._setup["arch"], version), *entries, *binaries])

    def _answer(self, status, artifact):
        failures.flush()
        kept = artifact if status == STATUS_BUILT else b""
        os.pwrite(self._output, kept, _HEADER.size)
        exit_code = 1 if status == STATUS_FAILED else 0
        # The magic, which says that there is an answer, comes last.
        header = _HEADER.pack(_BUILD_MAGIC, status, exit_code, len(artifact))
        os.pwrite(self._output, header[8:], 8)
        os.pwrite(self._output, header[:8], 0)


def _made_up(argument):
    """A tensor for host code that computes shapes from shapes: ones, or zeros where they may be indices."""
    dtype = TORCH_OF_NAME[argument["dtype"]]
    tensor = torch.zeros(argument["shape"], dtype=dtype)
    return tensor.fill_(1) if dtype.is_floating_point and dtype.itemsize > 1 else tensor


def _told(error):
    """Triton's message with the source line that it points to; of other errors the traceback."""
    if isinstance(error, CompilationError):
        words = []
        while error is not None:
            words.append(f"{type(error).__name__}: {error}")
            error = error.__cause__
        return failures.shorten("\n".join(words), MAX_TEXT)
    return failures.describe(error, MAX_TEXT)


if __name__ == "__main__":
    sys.exit("this is a leaf of zygote.py")
