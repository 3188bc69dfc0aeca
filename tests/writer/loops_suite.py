#!/usr/bin/env python3
"""Problems of problems/ as loops: loops_suite.py PROBE [NAME ...]

Each reference is traced by python/tracer.py and lowered; the loops are run at a small size set, where one is small enough, and
compared with the reference. One line a problem that has no loops or other results; a summary. Exit code 77: no torch here.
"""
import json
import os
import sys
import tempfile

try:
    import torch
except ImportError:
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [HERE, os.path.join(PYTHON, "tests"), PYTHON]
import graph_interpreter
import loading
import reference
import trace_suite
from loops_equality import Probe, compare

MOST_WORK = 2e7
SMALL = (6, 9, 7, 11, 5, 8)


def numbers(value):
    return value if isinstance(value, torch.Tensor) else torch.tensor(value)


def small_axes(definition, workload):
    """Variable axes in small sizes, all different."""
    axes = trace_suite.axes_of(definition, workload)
    variable = [name for name, axis in definition["axes"].items() if axis["type"] == "var"]
    return [{**axes, **{name: SMALL[(i + k) % len(SMALL)] for i, name in enumerate(variable)}} for k in range(3)] + [axes]


def run_definition(probe, name, path):
    """What came of it: "equal", "not run", or what is wrong."""
    definition, workloads, statics = trace_suite._read(name)
    source = trace_suite.placed(definition["reference"])
    graph = trace_suite.trace(source, trace_suite.definition_body(definition, workloads[0], statics))
    with open(path, "w") as file:
        json.dump(graph, file)
    entry = loading.load(source).run
    for axes in small_axes(definition, workloads[0]):
        given, sizes = trace_suite._example(definition, workloads[0], axes)
        if graph_interpreter.broken_conditions(graph, sizes):
            continue
        for key, value in given.items():
            if isinstance(value, torch.Tensor) and not value.is_floating_point() and value.dtype is not torch.bool:
                given[key] = value % 4
        try:
            want = reference.as_outputs(entry(*[v.clone() if isinstance(v, torch.Tensor) else v for v in given.values()]))
        except Exception:
            continue
        got = probe.run(path, sizes, [numbers(given[i["name"]]) for i in graph["inputs"]], True, MOST_WORK)
        if got is None:
            continue
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            half = any(isinstance(v, torch.Tensor) and v.dtype in (torch.float16, torch.bfloat16) for v in [*given.values(), b])
            if wrong := compare(a, b, 0.02 if half else 2e-5):
                return f"output {k} at {axes}: {wrong}"
        return "equal"
    return "not run"


def run_module(probe, name, path):
    with open(os.path.join(trace_suite.MODULES, name)) as file:
        graph = trace_suite.trace(trace_suite.placed(file.read()), {"kind": "module", "entry": "Model"})
    with open(path, "w") as file:
        json.dump(graph, file)
    probe.run(path, graph["sizes"], [], True, 0)
    return "not run"


def main(arguments):
    program, *names = arguments
    torch.set_grad_enabled(False)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(program, folder)
        path = os.path.join(folder, "graph.json")
        for name in names or trace_suite.all_names():
            try:
                results[name] = (run_module if name.endswith(".py") else run_definition)(probe, name, path)
            except Exception as error:
                results[name] = f"{type(error).__name__}: {str(error)[:300]}"
                if probe.process.poll() is not None:
                    probe = Probe(program, folder)
            if results[name] != "equal":
                print(f"{name}: {results[name]}", flush=True)
    equal = sum(r == "equal" for r in results.values())
    unrun = sum(r == "not run" for r in results.values())
    print(f"{len(results)} problems: {equal} lowered and equal, {unrun} lowered only, {len(results) - equal - unrun} neither")
    return 0 if equal + unrun == len(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
