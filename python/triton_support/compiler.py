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
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources, PTXASError
from triton.runtime.jit import JITFunction

import candidate
import failures
import loading
import messages
from dtypes import TORCH_OF_NAME, scalar_value

from . import autotune, host, launches
from .building import Building, told
from .warm_up import warm_up  # noqa: F401  the zygote's

MAX_KERNELS = 64

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
    """One request."""

    def __init__(self, message):
        self._building = Building(message)
        self._kernels = {}  # identity -> (Kernel, compiled)
        self._identities = {}  # compiled -> identity

    def run(self):
        torch.set_num_threads(1)
        os.environ["TRITON_CACHE_DIR"] = os.path.join(loading.work_folder(), "triton")
        host.install(host.Device(self._building.setup["arch"]), _NoLaunch)
        autotune.Tuning(0, (OutOfResources, CompileTimeAssertionFailure, PTXASError)).install()
        self._cover_launches()
        try:
            self._call()
        except BaseException as error:
            return self._building.fail(told(error))
        self._building.answer(self._table())

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
        setup = self._building.setup
        subject = candidate.load(setup, self._building.sources)
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
        return b"".join([_TABLE.pack(_TABLE_MAGIC, len(entries), self._building.setup["arch"], version), *entries, *binaries])


def _made_up(argument):
    """A tensor for host code that computes shapes from shapes: ones, or zeros where they may be indices."""
    dtype = TORCH_OF_NAME[argument["dtype"]]
    tensor = torch.zeros(argument["shape"], dtype=dtype)
    return tensor.fill_(1) if dtype.is_floating_point and dtype.itemsize > 1 else tensor


if __name__ == "__main__":
    sys.exit("this is a leaf of zygote.py")
