# The recorder role of Triton candidates on a GPU: their host code runs here, without a GPU, and what it launches becomes a launch
# plan that an executor of ours carries out (docs/gpu.md).
#
# Theory of operation. Tensors are decoys: addresses in memory that nobody can read, so host code can only hand them on. Three calls
# are made, each on decoys of its own. The first makes what a candidate makes once; the plans of the other two must be equal. Host
# code that touches a decoy's memory ends the process, which is an answer too.
import faulthandler
import os
import signal
import socket
import sys

import torch
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources, PTXASError

import candidate
import failures
import loading
import messages
import modules
from dtypes import TORCH_OF_NAME, scalar_value

from . import autotune, decoys, host, replay
from .building import Building, told
from .recording import Loaded, NotReplayable, Recording
from .warm_up import warm_up  # noqa: F401  the zygote's

_PREPARATION, _FIRST, _SECOND, _THIRD = range(4)  # phases


def main(control_fd=3):
    """Answers one request; never returns."""
    torch.set_grad_enabled(False)
    with socket.socket(fileno=control_fd) as control:
        message = messages.receive(control)
        if message is not None:
            Recorder(Building(message)).run()
    failures.flush()
    os._exit(0)


class Mistake(Exception):
    """What a call returned is not what the problem asks for."""


class Recorder:
    """One request."""

    def __init__(self, building):
        self._building = building
        self._signature = building.setup["signature"]
        unusable = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
        self._tuning = autotune.Tuning(0, unusable, building.setup.get("choices", ()))
        self._recording = Recording(lambda: self._tuning.choosing)

    def run(self):
        torch.set_num_threads(1)
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(loading.work_folder(), "triton"))
        faulthandler.enable(file=2)
        host.install(host.Device(self._building.setup["arch"]), self._recording.launcher(), Loaded)
        self._tuning.install()
        self._building.expect_end(signal.SIGSEGV)
        try:
            plan = self._record()
        except Mistake as mistake:
            return self._building.fail(str(mistake))
        except BaseException as error:
            if self._recording.refusal is None:
                return self._building.fail(told(error))
        if self._recording.refusal is not None:
            return self._building.refuse(self._recording.refusal)
        self._building.answer(plan.file())

    def _record(self):
        setup, recording = self._building.setup, self._recording
        subject = candidate.load(setup, self._building.sources)
        recording.begin(_PREPARATION)
        statics = [self._decoy("static", i, a) for i, a in enumerate(self._signature["statics"])]
        self._prepare(subject, statics)
        prepared = recording.steps
        plans = [self._plan_of_call(subject, statics, phase, prepared) for phase in (_FIRST, _SECOND, _THIRD)]
        if not plans[_SECOND - _FIRST].same_as(plans[_THIRD - _FIRST]):
            recording.refuse("two calls launch different things: they depend on addresses, or on calls before")
        if plans[-1].launches() == 0:
            recording.refuse("a call launches no kernel")
        return plans[-1]

    def _prepare(self, subject, statics):
        if isinstance(subject, candidate.Definition):
            self._recording.start()
            return subject.prepare(statics)

        def adopt(module, given):
            """Puts the statics' decoys in the place of the module's state."""
            for key, tensor in modules.state_tensors(module).items():
                decoy = given.get(key)
                if decoy is not None and decoy.shape == tensor.shape and decoy.dtype == tensor.dtype:
                    tensor.data = decoy
            self._recording.start()

        subject.hand_over = adopt
        subject.keeps_state = False
        subject.prepare(statics)
        if not self._recording.is_on:  # no module of torch's
            self._recording.start()

    def _plan_of_call(self, subject, statics, phase, prepared):
        recording, signature = self._recording, self._signature
        recording.begin(phase)
        given = []
        for i, a in enumerate(signature["inputs"]):
            given.append(scalar_value(a) if a["role"] == "scalar" else self._decoy("input", i, a))
        if subject.passes_statics:
            given += statics
        arguments = [given[i] for i in subject.plan.order]
        if subject.plan.destination_passing:
            arguments += [self._decoy("output", j, a) for j, a in enumerate(signature["outputs"])]
            subject.call(*arguments)
            outputs = {}
        else:
            outputs = self._outputs_of(subject.call(*arguments))
        phases = (_PREPARATION, phase)
        if phase == _FIRST:
            return None
        return replay.Plan([*prepared, *recording.steps], outputs, phases, recording.refuse, self._tuning.choices)

    def _decoy(self, kind, index, argument):
        return self._recording.tensor(kind, index, TORCH_OF_NAME[argument["dtype"]], argument["shape"])

    def _outputs_of(self, value):
        """Region -> output. Results that are not a region of their own are copied."""
        outputs = {}
        for j, (tensor, argument) in enumerate(zip(self._returned(value), self._signature["outputs"])):
            dtype, shape = TORCH_OF_NAME[argument["dtype"]], list(argument["shape"])
            if not isinstance(tensor, torch.Tensor):
                raise Mistake(f"output {j} is a {type(tensor).__name__}, not a tensor")
            if tensor.dtype != dtype or list(tensor.shape) != shape:
                raise Mistake(f"output {j} is {list(tensor.shape)} of {tensor.dtype}; the problem asks for {shape} of {dtype}")
            if tensor.numel() == 0:
                continue
            region, offset = self._recording.place(tensor)
            whole = offset == 0 and region.size == decoys.bytes_of(tensor) and tensor.is_contiguous()
            if whole and region.kind == "scratch" and region not in outputs:
                outputs[region] = j
            else:
                self._decoy("output", j, argument).copy_(tensor)
        return outputs

    def _returned(self, value):
        expected = self._signature["outputs"]
        values = [value] if isinstance(value, torch.Tensor) else value
        if isinstance(values, dict):
            values = [values.get(a["name"]) for a in expected]
        if not isinstance(values, (list, tuple)):
            raise Mistake(f"a call returned a {type(values).__name__}, not a tensor")
        if len(values) != len(expected):
            raise Mistake(f"a call returned {len(values)} outputs, expected {len(expected)}")
        return values


if __name__ == "__main__":
    sys.exit("this is a leaf of zygote.py")
