# A candidate or a baseline in the executor: a definition's run or a module's class.
import os
import sys

import torch

import calling
import loading
import modules
import pages
from failures import Failed

# torch.compile's mode for each form of a reference (src/gym/compilation.h); None: not compiled. Graphs would only save launches, which no time here contains.
COMPILE_MODES = {"eager": None, "compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}


def load(setup, source):
    """The Definition or Module of a setup message; source: its files' bytes. Failed, or its errors."""
    folder = loading.work_folder()
    loading.write_files(folder, setup["files"], source)
    path = os.path.join(folder, setup["entry_file"])
    source_module = loading.load(path, root=folder)
    entry = getattr(source_module, setup["entry"], None)
    if not callable(entry):
        text = f"{setup['entry_file']} has no {setup['entry']}"
        raise Failed(pages.FAILURE_ENTRY_MISSING, text)
    kind = Definition if setup["kind"] == "definition" else Module
    loaded = kind(setup, source_module, entry)
    copied = setup.get("copied_inputs", [])
    loaded.copies = [place for place, i in enumerate(loaded.plan.order) if i in copied]
    return loaded


def _with_copies(call, places):
    """The function with copies of the arguments at these places, which it writes to."""

    def with_copies(*arguments):
        given = list(arguments)
        for place in places:
            given[place] = given[place].clone()
        return call(*given)

    return with_copies


class Definition:
    """run(inputs and statics [, outputs]) with an optional prepare(**statics)."""

    keeper = None
    copies = ()

    def __init__(self, setup, source_module, entry):
        signature = setup["signature"]
        self._names = [a["name"] for a in signature["inputs"] + signature["statics"]]
        outputs = [a["name"] for a in signature["outputs"]]
        try:
            self.plan = calling.plan(entry, self._names, outputs, setup.get("destination_passing"))
        except calling.CallError as error:
            raise Failed(pages.FAILURE_ENTRY_MISSING, str(error)) from error
        self._prepare = getattr(source_module, "prepare", None)
        self._static_names = [a["name"] for a in signature["statics"]]
        self._compile_mode = COMPILE_MODES[setup.get("compilation", "eager")]
        self.call = entry
        self.passes_statics = True

    def prepare(self, statics):
        if callable(self._prepare):
            self._prepare(**dict(zip(self._static_names, statics)))
        if self.copies:
            self.call = _with_copies(self.call, self.copies)
        if self._compile_mode:
            self.call = torch.compile(self.call, mode=self._compile_mode)


class Module:
    """A module's class, constructed at prepare. Its results are returned.

    hand_over(module, given) gives it the problem's state; keeps_state: calls cannot change it for good.
    """

    hand_over = staticmethod(modules.copy_state)
    keeps_state = True
    copies = ()

    def __init__(self, setup, source_module, entry):
        self._setup = setup
        self._entry = entry
        inputs = setup["signature"]["inputs"]
        self.plan = calling.Plan(False, list(range(len(inputs))))
        self.passes_statics = False
        self.keeper = None
        self.call = None

    def prepare(self, statics):
        """Constructed under the seed, given the state by name and shape, then prepared.

        With hand_over_state false the seed alone decides, and calls may change the state.
        """
        setup = self._setup
        init_inputs = modules.from_literal(setup.get("init_args") or "[]")
        module = modules.construct(self._entry, init_inputs, setup["param_seed"])
        if not callable(module):
            raise Failed(pages.FAILURE_ENTRY_MISSING, f"{setup['entry']} makes no callable object")
        if "device" in setup and isinstance(module, torch.nn.Module):
            module.to(torch.device("cuda", setup["device"]))
        self.call = _with_copies(module, self.copies) if self.copies else module
        if not isinstance(module, torch.nn.Module):
            return
        hand_over = setup.get("hand_over_state", True)
        given = {a["state_key"]: t for a, t in zip(setup["signature"]["statics"], statics)}
        if hand_over:
            self.hand_over(module, given)
            note = modules.unmatched_note(module, given)
            if note:
                print(note, file=sys.stderr, flush=True)
        if callable(getattr(module, "prepare", None)):
            module.prepare()
        if hand_over and self.keeps_state:
            self.keeper = modules.StateKeeper(module, given)
        compile_mode = COMPILE_MODES[setup.get("compilation", "eager")]
        if compile_mode:
            self.call = torch.compile(self.call, mode=compile_mode)
