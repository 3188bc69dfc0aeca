# From recorded steps to the file of a launch plan (docs/formats/launch_plan.md, src/gym/cuda/plan_file.h).
import ctypes
import dataclasses
import hashlib
import json

import triton

MAX_CHOICES = 256  # that a plan names

_MAGIC = b"KWPLAN1\n"


class Plan:
    """The plan of one call.

    steps: a Recording's, those of the preparation first. outputs: Region -> number of the output that lies there, for memory
    that the call made itself. phases: in which the steps were recorded. refuse(text): raises. choices: of autotuners
    (autotune.Choice).
    """

    def __init__(self, steps, outputs, phases, refuse, choices=()):
        self._choices = [dataclasses.asdict(choice) for choice in choices[:MAX_CHOICES]]
        self._outputs = outputs
        self._phases = phases
        self._refuse = refuse
        self._modules = {}  # SHA-256 -> (number, Loaded)
        self._scratch = {}  # Region -> (number, zeroed)
        self._constants = {}  # Region -> (number, bytes)
        self._steps = [getattr(self, "_" + kind)(*parts) for kind, *parts in steps]

    def same_as(self, other):
        """Whether both do the same to the same constants."""
        return self._json() == other._json() and list(self._constants) == list(other._constants)

    def launches(self):
        return sum("launch" in step for step in self._steps)

    def file(self):
        contents = [loaded.binary for _, loaded in self._modules.values()]
        contents += [content for _, content in self._constants.values()]
        text = json.dumps(self._json()).encode()
        return b"".join([_MAGIC, b"%d\n" % len(text), text, *contents])

    def _json(self):
        plan = {"schema": 1, "triton": triton.__version__, "modules": [], "constants": [], "scratch": [], "steps": self._steps}
        if self._choices:
            plan["choices"] = self._choices
        for _, loaded in self._modules.values():
            plan["modules"].append({"kind": "cubin", **_blob(loaded.name, loaded.binary)})
        for number, content in self._constants.values():
            plan["constants"].append(_blob(f"constant_{number}", content))
        for region, (number, zeroed) in self._scratch.items():
            plan["scratch"].append({"name": f"memory_{number}", "bytes": region.size, "zeroed": zeroed})
        return plan

    def _launch(self, loaded, launch):
        digest = hashlib.sha256(loaded.binary).hexdigest()
        number, _ = self._modules.setdefault(digest, (len(self._modules), loaded))
        given = []
        for argument in launch["arguments"]:
            if "tensor_map" in argument:
                given.append({"tensor_map": self._resolved(argument["tensor_map"])})
            else:
                given.append(self._resolved(argument) if "memory" in argument else argument)
        return {"launch": {"module": number, **launch, "arguments": given}}

    def _fill(self, to, fill):
        return {"fill": {**self._memory(*to, replaces=fill["bytes"]), **fill}}

    def _copy(self, source, to, copy):
        return {"copy": {"from": self._memory(*source), "to": self._memory(*to, replaces=copy["bytes"]), **copy}}

    def _resolved(self, part):
        out = {key: value for key, value in part.items() if key != "memory"}
        region, offset = part["memory"]
        return {**out, **({"null": True} if region is None else self._memory(region, offset))}

    def _memory(self, region, offset, replaces=0):
        """Memory as the plan names it. replaces: so many bytes from there are written without being read."""
        place = {"offset": offset} if offset else {}
        if region in self._outputs:
            return {"output": self._outputs[region], **place}
        if region.kind == "scratch":
            if region not in self._scratch:
                zeroed = replaces < region.size and self._is_kept_zero(region)
                self._scratch[region] = (len(self._scratch), zeroed)
            return {"scratch": self._scratch[region][0], **place}
        if region.kind == "constant":
            if region.born == self._phases[-1]:
                self._refuse("a kernel reads a tensor that the call makes of the host's numbers")
            if region not in self._constants:
                self._constants[region] = (len(self._constants), ctypes.string_at(region.address, region.size))
            return {"constant": self._constants[region][0], **place}
        return {region.kind: region.index, **place}

    def _is_kept_zero(self, region):
        """Whether memory that an earlier call made must be zero when this one begins. Refuses what else it could hold."""
        if region.born in self._phases:
            return False
        if region.before == "written":
            self._refuse("a call reads memory that an earlier call has filled")
        if region.touches.get(region.born, set()) - region.touches.get(self._phases[-1], set()):
            self._refuse("a call reads memory that kernels of an earlier call have written")
        return region.before == "zeroed"


def _blob(name, content):
    return {"name": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
