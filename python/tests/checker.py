# A checker for the tests of the executor: sets it up, orders launches, and reads what came back.
import struct
import time
import unittest

import torch

from support import Leaf, MemoryFile

import pages
from dtypes import NUMBER_OF_NAME, TORCH_OF_NAME


def tensor_argument(name, dtype, shape, role="input", **more):
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape), **more}


def scalar(name, dtype, value):
    return {"name": name, "role": "scalar", "dtype": dtype, "shape": [], "value": value}


def of(name, tensor, role="input", **more):
    """The argument that describes a tensor."""
    return tensor_argument(name, str(tensor.dtype).removeprefix("torch."), tensor.shape, role, **more)


class Checker:
    """One executor. Keyword arguments go into the setup message over the defaults."""

    BUFFER = 1 << 20

    def __init__(self, source, inputs, outputs, statics=(), arena=True, buffer=None, **setup):
        """source: text, or {path: text}. statics: [(argument, tensor)]. arena: True or its bytes."""
        files = source if isinstance(source, dict) else {"main.py": source}
        size = buffer or self.BUFFER
        signature = {"inputs": inputs, "statics": [a for a, _ in statics], "outputs": outputs}
        sets = setup.setdefault("sets", 3)
        self.signature = signature
        self.files = {"command": MemoryFile("command", pages.COMMAND_BYTES, True)}
        self.files["reply"] = MemoryFile("reply", pages.REPLY_BYTES)
        body = {"op": "setup", "language": "python", "kind": "definition", "entry": "run"}
        body.update(destination_passing=None, init_args="[]", param_seed=1, threads=1)
        body.update(compilation="eager", entry_file="main.py", signature=signature)
        body["static_offsets"] = self._write_statics(statics)
        if arena:
            self.files["arena"] = MemoryFile("arena", 4 * size if arena is True else arena)
        content = "".join(files.values()).encode()
        self.files["source"] = MemoryFile("source", max(len(content), 1))
        self.files["source"].map[: len(content)] = content
        body["files"] = [{"path": p, "size": len(t.encode())} for p, t in files.items()]
        for s in range(sets):
            self.files[f"in{s}"] = MemoryFile("in", size, True)
            self.files[f"out{s}"] = MemoryFile("out", size)
        body.update(setup)
        self.leaf = Leaf("executor")
        self.leaf.send(body, self.files)
        self._expected = 0
        self._next_offset = 0

    def _write_statics(self, statics):
        offsets, data = [], bytearray()
        for _, tensor in statics:
            offsets.append(len(data))
            data += to_bytes(tensor)
            data += bytes(-len(data) % 64)
        if statics:
            self.files["statics"] = MemoryFile("statics", len(data), True)
            self.files["statics"].map[:] = bytes(data)
        return offsets

    def close(self):
        self.leaf.close()
        for file in self.files.values():
            file.close()

    # ---- launches ----
    def words(self):
        """state, failure, style, fault_signal, fault_address, fault_on_input, failed_call."""
        return struct.unpack_from("<IIIIQII", self.files["reply"].map, 8)

    def wait_ready(self):
        """Whether it became ready; False: failed or dead."""
        for _ in range(60_000):
            if self.words()[0] != 0:
                return self.words()[0] == pages.STATE_READY
            time.sleep(0.001)
        raise TimeoutError

    def go(self, op, calls=0):
        """Whether it was done; False: it failed or died."""
        self._say(op, calls)
        for _ in range(120_000):
            if struct.unpack_from("<Q", self.files["reply"].map, 0)[0] == self._expected:
                return True
            if self.words()[0] == pages.STATE_FAILED or self.words()[3] != 0:
                return False
            time.sleep(0.0005)
        raise TimeoutError

    def _say(self, op, calls):
        self._expected += 1
        command = self.files["command"].map
        struct.pack_into("<II", command, 8, op, calls)
        struct.pack_into("<Q", command, 0, self._expected)

    def exit(self):
        """Its exit code after being asked to exit."""
        self._say(pages.OP_EXIT, 0)
        return self.leaf.wait()

    def prepare(self):
        return self.wait_ready() and self.go(pages.OP_PREPARE)

    def call(self, *inputs_of_calls, offset=None):
        """One launch: for each call the values of its tensor inputs; call c uses set c. Success or not."""
        command = self.files["command"].map
        for call, tensors in enumerate(inputs_of_calls):
            start = offset if offset is not None else 64
            struct.pack_into("<I", command, 64 + 4 * call, call)
            tensors = iter(tensors)
            for i, argument in enumerate(self.signature["inputs"]):
                if argument["role"] != "input":
                    continue
                data = to_bytes(next(tensors))
                self.files[f"in{call}"].map[start : start + len(data)] = data
                struct.pack_into("<Q", command, 4096 + 8 * (32 * call + i), start)
                start += len(data) + -len(data) % 64
            where = offset if offset is not None else 64
            for j, argument in enumerate(self.signature["outputs"]):
                struct.pack_into("<Q", command, 4096 + 8 * 64 * 32 + 8 * (8 * call + j), where)
                where += 64 * 1024
        return self.go(pages.OP_CALL, len(inputs_of_calls))

    # ---- what came back ----
    def report(self, call=0, output=0):
        """offset, dtype number, shape, strides of a returned output."""
        start = 4096 + 144 * (8 * call + output)
        values = struct.unpack_from("<QII8q8q", self.files["reply"].map, start)
        rank = values[2]
        return values[0], values[1], list(values[3 : 3 + rank]), list(values[11 : 11 + rank])

    def returned(self, call=0, output=0):
        """A copy of a returned output, read from the arena through its report."""
        offset, number, shape, strides = self.report(call, output)
        name = next(n for n, v in NUMBER_OF_NAME.items() if v == number)
        arena = self.files["arena"].map
        base = torch.frombuffer(arena, dtype=torch.uint8)[offset:]
        dtype = TORCH_OF_NAME[name]
        base = base[: base.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
        return base.as_strided(shape, strides).clone()

    def written(self, call=0, output=0, offset=64):
        """A copy of an output that was written in place (destination passing)."""
        argument = self.signature["outputs"][output]
        dtype = TORCH_OF_NAME[argument["dtype"]]
        count = torch.Size(argument["shape"]).numel()
        start = offset + 64 * 1024 * output
        data = torch.frombuffer(self.files[f"out{call}"].map, dtype=dtype, count=count, offset=start)
        return data.view(argument["shape"]).clone()


def to_bytes(tensor):
    return bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist())


class ExecutorTest(unittest.TestCase):
    def start(self, *args, **kwargs):
        checker = Checker(*args, **kwargs)
        self.addCleanup(checker.close)
        return checker

    def prepared(self, *args, **kwargs):
        checker = self.start(*args, **kwargs)
        self.assertTrue(checker.prepare(), "prepare failed")
        return checker
