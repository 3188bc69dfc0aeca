# Records candidates as the recorder role does, each in a fork of this process: cases as JSON on stdin, one JSON line a case on stdout.
import json
import os
import struct
import sys

import support  # noqa: F401  finds the leaves
import torch
from triton_support import recorder
from triton_support.building import Building

_HEADER = struct.Struct("<QIiQ40x")
_STATUS = {0: "built", 1: "failed", 3: "too large", 4: "refused"}


class Given(Building):
    """A request that did not come through a socket."""

    def __init__(self, setup, text):
        self.setup, self.sources = setup, text
        self._limit, self._output = 64 << 20, os.memfd_create("output")

    def result(self):
        data = os.pread(self._output, 64 << 20, 0)
        magic, status, exit_code, size = _HEADER.unpack_from(data)
        assert magic != 0, "no answer"
        out = {"status": _STATUS[status], "exit_code": exit_code}
        if status == 0:
            out["plan"], out["contents"] = _read(data[_HEADER.size : _HEADER.size + size])
        return out


def _read(file):
    """The plan, and the sizes of what stands behind it."""
    magic, size, rest = file.split(b"\n", 2)
    assert magic == b"KWPLAN1"
    plan, rest = json.loads(rest[: int(size)]), rest[int(size) :]
    sizes = []
    for blob in plan["modules"] + plan["constants"]:
        sizes.append(len(rest[: blob["bytes"]]))
        rest = rest[blob["bytes"] :]
    assert rest == b""
    return plan, sizes


def _argument(name, role, form):
    """form: (dtype, shape), or (dtype, [], value) of a host scalar."""
    dtype, shape, *value = form
    out = {"name": name, "role": "scalar" if value else role, "dtype": dtype, "shape": shape}
    if value:
        out["value"] = value[0]
    return {**out, "state_key": name} if role == "static" else out


def record(case):
    text = case["source"].encode()
    signature = {
        "inputs": [_argument(name, "input", form) for name, form in case["inputs"].items()],
        "statics": [_argument(name, "static", form) for name, form in case.get("statics", {}).items()],
        "outputs": [_argument(name, "output", form) for name, form in case["outputs"].items()],
    }
    setup = {
        "kind": case.get("kind", "definition"), "entry": "run" if "kind" not in case else "ModelNew", "signature": signature,
        "entry_file": "k.py", "arch": 90, "device": 0, "param_seed": 1, "files": [{"path": "k.py", "size": len(text)}],
        **({"choices": case["choices"]} if "choices" in case else {}),
    }  # fmt: skip
    given = Given(setup, text)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writer, 2)
        torch.set_grad_enabled(False)
        recorder.Recorder(given).run()
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as log:
        told = log.read().decode()
    os.waitpid(pid, 0)
    return {**given.result(), "log": told}


if __name__ == "__main__":
    recorder.warm_up()
    for name, case in json.load(sys.stdin).items():
        print(json.dumps({"name": name, **record(case)}), flush=True)
