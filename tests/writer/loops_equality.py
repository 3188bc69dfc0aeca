#!/usr/bin/env python3
"""Operators as loops against torch: loops_equality.py PROBE [--sample N] [NAME ...]
The same cases as graphs, for kw_writer_kernels: loops_equality.py --dump FILE [NAME ...]

Each case is traced once, and the loops that come of it are run at every size set. Floating cases run in float64; those of 16-bit
types and integers are compared with what torch gives in the dtype itself. Exit code 77: no torch here.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fx_graph
from loops_cases import CASES


def tensor_of(kind, shape, generator):
    if kind.startswith("index"):  # index:10: below 10
        return torch.randint(0, int(kind.split(":")[1]), shape, generator=generator)
    if kind == "bool":
        return torch.rand(shape, generator=generator) < 0.6
    if kind in ("int32", "int64", "uint8", "int8"):
        return torch.randint(0 if kind == "uint8" else -50, 50, shape, generator=generator).to(getattr(torch, kind))
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    if kind == "positive":
        return values.abs() + 0.1
    if kind == "unit":
        return torch.rand(shape, generator=generator, dtype=torch.float64) * 0.98 + 0.01
    if kind == "ties":
        return (values * 2).round()
    return values if kind == "float32" else values.to(getattr(torch, kind))


def inputs_of(case, sizes, generator):
    out = []
    for spec in case.inputs.split(";"):
        kind, _, dims = spec.strip().rpartition(" ") if " " in spec.strip() else ("float32", "", spec.strip())
        kind = eval(f"f{kind!r}", {}, sizes) if "{" in kind else kind
        shape = [] if dims == "-" else [eval(d, {}, sizes) for d in dims.split(",")]
        out.append(tensor_of(kind, shape, generator))
    return out


def fits(graph, sources, inputs):
    """Whether the graph is one of inputs of these shapes: an operator may have made a size a number."""
    symbols = {name: inputs[i].shape[d] for name, (i, d) in sources.items()}
    return all(eval(str(size), {}, symbols) == extent for item, value in zip(graph["inputs"], inputs)
               for size, extent in zip(item["shape"], value.shape))


def single(value):
    return value.float() if value.dtype is torch.float64 else value


class Probe:
    def __init__(self, program, folder):
        self.folder = folder
        self.process = subprocess.Popen([program, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, graph, sizes, inputs, rounded, most_work=1e18):
        """The outputs, flat; None where the loops are more work than that."""
        with open(os.path.join(self.folder, "in"), "wb") as file:
            for value in inputs:
                file.write(value.double().contiguous().numpy().tobytes())
        request = {"graph": graph, "sizes": sizes, "inputs": os.path.join(self.folder, "in"),
                   "outputs": os.path.join(self.folder, "out"), "rounded": rounded, "most_work": most_work}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the probe ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        if "work" in answer:
            return None
        with open(os.path.join(self.folder, "out"), "rb") as file:
            data = file.read()
        numbers = torch.frombuffer(bytearray(data), dtype=torch.float64) if data else torch.zeros(0, dtype=torch.float64)
        return list(numbers.split(answer["counts"]))


def compare(got, want, tolerance):
    want = want.double().reshape(-1)
    if got.shape != want.shape:
        return f"{got.numel()} elements instead of {want.numel()}"
    scale = max(1.0, float(want[want.isfinite()].abs().max())) if want.isfinite().any() else 1.0
    if not torch.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        wrong = ~torch.isclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        place = int(wrong.nonzero()[0])
        return f"{int(wrong.sum())} of {want.numel()} wrong, the first at {place}: {float(got[place])} instead of {float(want[place])}"
    return None


def check(case, probe):
    """None, or what is wrong."""
    generator = torch.Generator().manual_seed(7)
    path = os.path.join(probe.folder, "graph.json")
    sources = None
    for sizes in case.sets:
        inputs = inputs_of(case, sizes, generator)
        if sources is None or case.static or not fits(graph, sources, inputs):
            graph, sources = fx_graph.trace(case.function, [single(value) for value in inputs], case.static)
            with open(path, "w") as file:
                json.dump(graph, file)
        symbols = {name: inputs[i].shape[d] for name, (i, d) in sources.items()}
        outputs = case.function(*[value.clone() for value in inputs])
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        exact = any(value.dtype in (torch.float16, torch.bfloat16) for value in inputs)
        got = probe.run(path, symbols, inputs, exact or case.rounded)
        for k, (a, b) in enumerate(zip(got, outputs, strict=True)):
            tolerance = case.tolerance or (0.02 if exact else 1e-9)
            if wrong := compare(a, b, tolerance):
                return f"output {k} at {sizes}: {wrong}"
    return None


def kinds_of(case, sizes):
    """One an input: "float32", "index:12"."""
    out = []
    for spec in case.inputs.split(";"):
        kind = spec.strip().rpartition(" ")[0] or "float32"
        out.append(eval(f"f{kind!r}", {}, sizes))
    return out


def dumped(case):
    """The case's lines: one, or one a size set where sizes are numbers in the graph."""
    generator = torch.Generator().manual_seed(7)
    lines, sources = [], None
    for sizes in case.sets:
        inputs = inputs_of(case, sizes, generator)
        if sources is None or case.static or not fits(graph, sources, inputs):
            graph, sources = fx_graph.trace(case.function, [single(value) for value in inputs], case.static)
            rounded = case.rounded or any(value.dtype in (torch.float16, torch.bfloat16) for value in inputs)
            lines.append({"name": case.name, "tolerance": case.tolerance, "rounded": rounded, "sets": [], "graph": graph})
        symbols = {name: inputs[i].shape[d] for name, (i, d) in sources.items()}
        lines[-1]["sets"].append({"sizes": symbols, "kinds": kinds_of(case, sizes)})
    return lines


def dump(path, names):
    torch.set_grad_enabled(False)
    with open(path, "w") as file:
        for case in CASES:
            if names and case.name not in names:
                continue
            try:
                lines = dumped(case)
            except Exception as error:
                print(f"{case.name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
                continue
            for line in lines:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return 0


def main(arguments):
    if arguments[:1] == ["--dump"]:
        return dump(arguments[1], arguments[2:])
    program, *rest = arguments
    count = None
    if rest[:1] == ["--sample"]:
        count, rest = int(rest[1]), rest[2:]
    cases = [case for case in CASES if not rest or case.name in rest]
    if count is not None and count < len(cases):
        cases = random.Random(count).sample(cases, count)
    wrong = 0
    torch.set_grad_enabled(False)
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(program, folder)
        for case in cases:
            try:
                problem = check(case, probe)
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error)[:400]}"
                if probe.process.poll() is not None:
                    probe = Probe(program, folder)
            if problem:
                wrong += 1
                print(f"{case.name}: {problem}", flush=True)
        probe.process.stdin.close()
        probe.process.wait(10)
    print(f"{len(cases) - wrong} of {len(cases)} cases agree with torch")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
