#!/usr/bin/env python3
"""How many Triton candidates become launch plans (docs/gpu.md). No GPU is needed.

    bench/replayable.py FOLDER|KERNELS.jsonl [NAME ...]

FOLDER has files NAME.py for problems of problems/, as tests/honest/triton does; KERNELS.jsonl is what `bench/triton_gpu.py prepare`
wrote, of which each problem's first strategy counts. Each is recorded at the problem's cuda workload that has the largest inputs.
A line for each that is no plan, with the reason; then shares.
"""
import argparse
import collections
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("tests/writer", "python/tests", "python")]
import record_cases
import suite
import trace_suite


def candidates(place):
    """(name, source) pairs."""
    if os.path.isdir(place):
        for file in sorted(os.listdir(place)):
            if file.endswith(".py"):
                with open(os.path.join(place, file), encoding="utf-8") as opened:
                    yield file[:-3], opened.read()
        return
    with open(place, encoding="utf-8") as opened:
        for row in map(json.loads, opened):
            if row["files"]:
                yield row["name"], next(iter(row["files"].values()))


def case_of(name, source):
    """The candidate at the problem's largest workload, as record_cases takes it."""
    problem = suite.Definition(name, "cuda")
    forms = []
    for workload in problem.workloads:
        axes = trace_suite.axes_of(problem.definition, workload)

        def form(given, tensor, axes=axes, workload=workload):
            if tensor["shape"] is None:
                return (tensor["dtype"], [], workload["inputs"][given]["value"])
            return (tensor["dtype"], [axes[axis] for axis in tensor["shape"]])

        inputs = {given: form(given, tensor) for given, tensor in problem.definition["inputs"].items()}
        outputs = {made: form(made, tensor) for made, tensor in problem.definition["outputs"].items()}
        forms.append((inputs, outputs))
    inputs, outputs = max(forms, key=lambda one: sum(math.prod(shape) for _, shape, *_ in one[0].values()))
    statics = {given: inputs.pop(given) for given in problem.statics}
    return {"source": source, "inputs": inputs, "statics": statics, "outputs": outputs}


def main(place, names):
    counts = collections.Counter()
    kinds = collections.Counter()
    record_cases.recorder.warm_up()
    for name, source in candidates(place):
        if names and name not in names:
            continue
        result = record_cases.record(case_of(name, source))
        counts[result["status"]] += 1
        if result["status"] != "built":
            print(f"{name}: {result['status']}: {result['log'].strip().splitlines()[0][:200]}", flush=True)
            continue
        kinds.update({next(iter(step)) for step in result["plan"]["steps"]})
        kinds["several launches"] += len(result["plan"]["steps"]) > 1
    print(f"{sum(counts.values())} candidates:", ", ".join(f"{count} {status}" for status, count in counts.items()))
    print("plans with", ", ".join(f"{kind}: {count}" for kind, count in kinds.items()))
    return 0 if counts["failed"] == 0 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", metavar="FOLDER|KERNELS.jsonl")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    sys.exit(main(options.place, set(options.names)))
