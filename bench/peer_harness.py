#!/usr/bin/env python3
"""What eval_rate.py compares with: one C++ candidate judged in a fresh Python process, the way that benchmark harnesses do it.

    .venv/bin/python bench/peer_harness.py PROBLEM_FOLDER CANDIDATE.cpp --header PROBLEM.H --builds FOLDER [--cached | --extension]

Imports torch, and triton when it is installed; builds the candidate with the gym's flags into FOLDER (--cached: takes it from there; --extension:
through torch's load_inline, as C++ candidates of KernelBench are built; needs Python's headers); checks it on
fresh inputs of the first workload, times it and the reference one after the other, and prints one JSON object. --header is the text that
`kernelwright problems show PROBLEM --signature` prints. One thread. Inputs are normal, or integers; scalar inputs are not supported.
"""

import argparse
import ctypes
import json
import math
import pathlib
import subprocess
import time

STARTED = time.perf_counter()
import torch  # noqa: E402  (its import is part of what is measured)

try:
    import triton  # noqa: F401
except ImportError:
    triton = None
IMPORTED = time.perf_counter()

FLAGS = ["-std=c++20", "-O3", "-fno-math-errno", "-fopenmp", "-march=native", "-fPIC", "-fno-use-linker-plugin", "-shared", "-Wl,-z,now", "-Wl,-z,defs"]
WARM_UPS = 3
ALPHA = 0.025  # of one look, src/gym/measure/sequential_interval.cc
PROCESS_ERROR = 0.005  # of one process pair, there too
EXACT_SAMPLES = 50  # src/gym/measure/statistics.h: exact up to here, normal approximation above


class Task:
    """The first workload of a definition: fresh inputs, the reference, the candidate's arguments."""

    def __init__(self, folder):
        definition = json.loads((folder / "definition.json").read_text())
        workload = json.loads((folder / "workloads.jsonl").read_text().splitlines()[0])["workload"]
        axes = {name: axis.get("value", workload["axes"].get(name)) for name, axis in definition["axes"].items()}
        self.variable_axes = [axes[name] for name, axis in definition["axes"].items() if axis["type"] == "var"]
        self.inputs = [self.shape_and_type(tensor, axes) for tensor in definition["inputs"].values()]
        self.outputs = [self.shape_and_type(tensor, axes) for tensor in definition["outputs"].values()]
        names = {}
        exec(compile(definition["reference"], "reference", "exec"), names)
        self.reference = names["run"]

    @staticmethod
    def shape_and_type(tensor, axes):
        if tensor["shape"] is None:
            raise SystemExit("scalar inputs are not supported")
        return [axes[name] for name in tensor["shape"]], getattr(torch, tensor["dtype"])

    def fresh_inputs(self):
        return [torch.randn(shape, dtype=dtype) if dtype.is_floating_point else torch.randint(-100, 100, shape).to(dtype) for shape, dtype in self.inputs]

    def empty_outputs(self):
        return [torch.empty(shape, dtype=dtype) for shape, dtype in self.outputs]

    def expected(self, inputs):
        outputs = self.reference(*inputs)
        return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)

    def native_arguments(self, inputs, outputs):
        return [ctypes.c_void_p(tensor.data_ptr()) for tensor in inputs + outputs] + [ctypes.c_int64(value) for value in self.variable_axes]


def build(source, header, library):
    unfinished = library.with_suffix(".unfinished")
    subprocess.run(["g++", *FLAGS, "-include", str(header), "-o", str(unfinished), str(source)], check=True)
    unfinished.rename(library)


C_TYPES = {torch.float32: "float", torch.float64: "double", torch.int32: "int32_t", torch.int64: "int64_t"}


def load_extension(task, source, header, folder):
    """run() by torch's own loader: a function of tensors, compiled with torch's headers."""
    from torch.utils.cpp_extension import load_inline

    tensors = [("const " + C_TYPES[dtype], i) for i, (_, dtype) in enumerate(task.inputs)]
    tensors += [(C_TYPES[dtype], len(task.inputs) + j) for j, (_, dtype) in enumerate(task.outputs)]
    arguments = [f"static_cast<{kind}*>(tensors[{i}].data_ptr())" for kind, i in tensors] + [str(value) for value in task.variable_axes]
    wrapper = f"void call(std::vector<torch::Tensor> tensors) {{ run({', '.join(arguments)}); }}"
    flags = [flag for flag in FLAGS if flag != "-shared" and not flag.startswith("-Wl,")]
    text = "\n".join([header.read_text().replace("#pragma once", ""), source.read_text(), wrapper])
    folder.mkdir()
    loaded = load_inline(name=source.stem, cpp_sources=[text], functions=["call"], extra_cflags=flags, build_directory=str(folder))
    return loaded.call


def is_correct(task, run, arguments_of, trials):
    for _ in range(trials):
        inputs, outputs = task.fresh_inputs(), task.empty_outputs()
        expected = task.expected(inputs)
        run(*arguments_of(inputs, outputs))
        if not all(torch.allclose(have, want, atol=1e-4, rtol=1e-4) for have, want in zip(outputs, expected, strict=True)):
            return False
    return True


def times_of(call, trials):
    for _ in range(WARM_UPS):
        call()
    times = []
    for _ in range(trials):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def middle(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def critical_value(count, tail):
    """The largest t with P(signed rank sum <= t) <= tail, or -1."""
    if count > EXACT_SAMPLES:
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        normal = torch.special.ndtri(torch.tensor(tail, dtype=torch.float64)).item()
        return math.floor(count * (count + 1) / 4 + normal * deviation - 0.5)
    subsets = [1] + [0] * (count * (count + 1) // 2)
    for rank in range(1, count + 1):
        for total in range(len(subsets) - 1, rank - 1, -1):
            subsets[total] += subsets[total - rank]
    cumulated = 0
    for total, number in enumerate(subsets):
        cumulated += number
        if cumulated > tail * 2**count:
            return total - 1
    return -1


def signed_rank_interval(samples):
    """Hodges-Lehmann estimate and the interval that inverts Wilcoxon's signed-rank test; infinite ends for too few samples."""
    walsh = sorted((a + b) / 2 for i, a in enumerate(samples) for b in samples[i:])
    critical = critical_value(len(samples), ALPHA / 2)
    if critical < 0:
        return middle(walsh), -math.inf, math.inf
    return middle(walsh), walsh[critical], walsh[-1 - critical]


def autocorrelation_factor(samples):
    """autocorrelation_factor of src/gym/measure/statistics.h: of ranks, at least 1."""
    count = len(samples)
    if count < 20:
        return 1
    ranks = [0.0] * count
    for place, index in enumerate(sorted(range(count), key=samples.__getitem__)):
        ranks[index] = place - (count - 1) / 2
    variance = sum(rank * rank for rank in ranks)
    factor = 1
    for lag in range(1, count // 4):
        correlation = sum(ranks[i] * ranks[i - lag] for i in range(lag, count)) / variance
        if correlation < 2 / math.sqrt(count):
            break
        factor += 2 * correlation
    return factor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", type=pathlib.Path)
    parser.add_argument("candidate", type=pathlib.Path)
    parser.add_argument("--header", type=pathlib.Path, required=True)
    parser.add_argument("--builds", type=pathlib.Path, required=True)
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--extension", action="store_true")
    parser.add_argument("--correctness-trials", type=int, default=5)
    parser.add_argument("--timing-trials", type=int, default=100)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    task = Task(arguments.problem)
    if arguments.extension:
        run = load_extension(task, arguments.candidate, arguments.header, arguments.builds / f"{arguments.candidate.stem}_extension")
        arguments_of = lambda inputs, outputs: [inputs + outputs]  # noqa: E731
    else:
        library = arguments.builds / f"{arguments.candidate.stem}.so"
        if not arguments.cached:
            build(arguments.candidate, arguments.header, library)
        run = ctypes.CDLL(str(library.resolve())).run
        run.restype = None
        arguments_of = task.native_arguments
    built = time.perf_counter()

    correct = is_correct(task, run, arguments_of, arguments.correctness_trials)
    checked = time.perf_counter()
    inputs, outputs = task.fresh_inputs(), task.empty_outputs()
    given = arguments_of(inputs, outputs)
    candidate = times_of(lambda: run(*given), arguments.timing_trials)
    reference = times_of(lambda: task.reference(*inputs), arguments.timing_trials)
    log_ratios = [math.log(slow / fast) for slow, fast in zip(reference, candidate)]
    estimate, low, high = signed_rank_interval(log_ratios)
    half_width = 50 * (high - low)
    print(json.dumps({
        "correct": correct, "ratio": math.exp(estimate), "half_width_percent": half_width,
        "half_width_widened_percent": math.hypot(half_width * math.sqrt(autocorrelation_factor(log_ratios)), 200 * PROCESS_ERROR),
        "candidate_ms": 1e3 * middle(candidate), "reference_ms": 1e3 * middle(reference), "triton": triton is not None,
        "seconds": {"import": IMPORTED - STARTED, "build": built - IMPORTED, "check": checked - built, "time": time.perf_counter() - checked},
    }))


if __name__ == "__main__":
    main()
