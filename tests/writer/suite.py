#!/usr/bin/env python3
"""Kernels of the writer for the problems of problems/, beside the references:
  suite.py PROBE FOLDER [--strategies N | --labels LABEL,..] [--time] [--jobs N] [NAME ...]

A NAME is one of problems/, one of problems/modules/ (NAME.py), or the path of a module. FOLDER keeps graphs, sources and builds
between runs. Each problem's first N strategies (default 1; 0: all) are compiled with the gym's flags and run at its CPU workloads;
--time compares the first workload's least processor time with the reference's, in torch with one thread. A line a strategy:
NAME STRATEGY OUTCOME [SPEEDUP reference ms, kernel ms]; a summary. Exit code 1: a first strategy is missing or wrong; 77: no torch.
"""
import argparse
import concurrent.futures
import ctypes
import hashlib
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
import tomllib

os.environ["OMP_NUM_THREADS"] = "1"
try:
    import torch
except ImportError:
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [HERE, os.path.join(PYTHON, "tests"), PYTHON]
import describe
import graph_interpreter
import loading
import reference
import trace_suite
from dtypes import TORCH_OF_NAME

FLAGS = "-std=c++20 -O3 -march=native -fno-math-errno -fopenmp -fPIC -shared -fmax-errors=20 -I. -include problem.h -include kw_call.h".split()
SECONDS = 0.24  # of timing, each side


# ---- problems ----
def drawn(shape, dtype, policy, generator):
    dtype = TORCH_OF_NAME[dtype]
    kind, low, high = policy.get("distribution", "default"), policy.get("low"), policy.get("high")
    if dtype is torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if kind == "permutation":
        rows = torch.rand(shape, generator=generator)
        return rows.argsort(-1).to(dtype)
    if kind == "integers" or (kind == "default" and not dtype.is_floating_point):
        low, high = (-64 if low is None else int(low)), (64 if high is None else int(high))
        return torch.randint(low, high + 1, shape, generator=generator).to(dtype)
    if kind == "uniform":
        return (torch.rand(shape, generator=generator) * (high - low) + low).to(dtype)
    if kind == "probabilities":
        return torch.randn(shape, generator=generator).softmax(-1).to(dtype)
    if kind == "constant":
        return torch.full(shape, low).to(dtype)
    if kind == "one_hot":
        out = torch.zeros(shape)
        out[..., 0] = 1
        return out.to(dtype)
    values = torch.randn(shape, generator=generator)
    if kind == "normal":
        values = values * (1 if high is None else high) + (low or 0)
    if kind == "wide_range":
        values = values.sign() * torch.exp2(torch.rand(shape, generator=generator) * (high - low) + low)
    if kind == "spikes":
        values = torch.where(torch.rand(shape, generator=generator) < 0.001, values * high, values)
    return values.to(dtype)


class Definition:
    def __init__(self, name, target="cpu"):
        self.name = name
        self.definition, workloads, statics = trace_suite._read(name)
        with open(os.path.join(trace_suite.PROBLEMS, name, "policy.toml"), "rb") as file:
            self.policy = tomllib.load(file)
        self.statics = self.policy.get("static", statics)
        tables = self.policy.get("workloads", {})
        self.workloads = [w for w in workloads if target in tables.get(w["uuid"], {}).get("targets", ["cpu"])]
        self.axes = [name for name, axis in self.definition["axes"].items() if axis["type"] == "var"]
        self.source = self.definition["reference"]

    def trace(self):
        body = trace_suite.definition_body(self.definition, self.workloads[0], self.statics)
        return trace_suite.trace(trace_suite.placed(self.source), body)

    def cases(self, device="cpu"):
        """(inputs by name, sizes) of each workload, the timed one first. On another device it must be torch's default."""
        for k, workload in enumerate(self.workloads):
            axes = trace_suite.axes_of(self.definition, workload)
            generator = torch.Generator(device).manual_seed(k)
            own = self.policy.get("workloads", {}).get(workload["uuid"], {}).get("inputs", {})
            given, sizes = {}, dict(axes)
            for name, tensor in self.definition["inputs"].items():
                policy = {**self.policy.get("inputs", {}).get(name, {}), **own.get(name, {})}
                if tensor["shape"] is None:
                    given[name] = workload["inputs"][name]["value"]
                    if not isinstance(given[name], float):
                        sizes[name] = int(given[name])
                else:
                    given[name] = drawn([axes[a] for a in tensor["shape"]], tensor["dtype"], policy, generator)
            yield given, sizes

    def function(self):
        entry = loading.load(trace_suite.placed(self.source)).run
        names = list(self.definition["inputs"])
        return lambda given: entry(*[given[name] for name in names])


class Module:
    def __init__(self, name):
        self.name, self.axes = name, []
        self.path = name if os.sep in name else os.path.join(trace_suite.MODULES, name)
        with open(self.path) as file:
            self.source = file.read()

    def trace(self):
        return trace_suite.trace(trace_suite.placed(self.source), {"kind": "module", "entry": "Model"})

    def cases(self):
        loaded = loading.load(trace_suite.placed(self.source))
        module = reference.Module(loaded, loaded.Model)
        values = module.generate(5)
        self.built = module.build(3)
        names = describe.Names()
        items = describe.input_items(self.built, values, names)
        given = {item["name"]: v for item, v in zip(items, values)}
        self.inputs = list(given)
        given.update({names.new(key): value.detach().clone() for key, value in module.state().items()})
        yield given, None

    def function(self):
        return lambda given: self.built(*[given[name] for name in self.inputs])


def problem_of(name):
    return Module(name) if name.endswith(".py") else Definition(name)


# ---- steps ----
def traced(name, folder):
    """The path of its graph. RuntimeError where there is none."""
    problem = problem_of(name)
    key = hashlib.sha256(problem.source.encode()).hexdigest()[:16]
    path = os.path.join(folder, "graphs", f"{os.path.basename(name)}.{key}.json")
    if not os.path.exists(path):
        graph = problem.trace()
        with open(path, "w") as file:
            json.dump(graph, file)
    return path


def written(probe, name, graph, folder, labels):
    """(folder of the sources, strategies). RuntimeError says what is missing."""
    place = os.path.join(folder, "kernels", os.path.basename(name))
    os.makedirs(place, exist_ok=True)
    done = subprocess.run([probe, "kernels", graph, place, *problem_of(name).axes, "--", *labels], capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(f"the probe ended with {done.returncode}: {done.stderr[-300:]}")
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return place, answer["strategies"]


def compiled(place, strategy):
    """The library's path, built again only when the text differs."""
    parts = [open(os.path.join(place, file)).read() for file in ("problem.h", "kw_call.h", f"{strategy}.cpp")]
    flags = FLAGS + [flag for line in parts[-1].splitlines() if line.startswith("// flags: ") for flag in line.split()[2:]]
    key = hashlib.sha256("\0".join([*parts, *flags]).encode()).hexdigest()[:16]
    library = os.path.join(place, f"{strategy}.{key}.so")
    if not os.path.exists(library):
        for old in os.listdir(place):
            if old.startswith(f"{strategy}.") and old.endswith(".so"):
                os.remove(os.path.join(place, old))
        made = library + ".part"
        done = subprocess.run(["g++", *flags, f"{strategy}.cpp", "-o", made], cwd=place, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("compile error: " + next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)[:250])
        os.rename(made, library)
    return library


def aligned(tensor, extra=64):
    """A copy at a 64-byte boundary with readable bytes behind it."""
    size = tensor.numel() * tensor.element_size()
    memory = torch.zeros(size + extra + 64, dtype=torch.uint8)
    start = -memory.data_ptr() % 64
    out = memory[start:start + size].view(tensor.dtype).view(tensor.shape)
    out.copy_(tensor)
    return out


class Kernel:
    def __init__(self, library, graph, axes):
        self.call_ = ctypes.CDLL(library).kw_call
        self.graph, self.axes = graph, axes

    def bind(self, given, sizes, outputs):
        """The call's arguments, and what keeps them alive."""
        keep, pointers = [], []
        for item in self.graph["inputs"]:
            value = given[item["name"]]
            if isinstance(value, torch.Tensor):
                value = aligned(value.contiguous())
                pointers.append(value.data_ptr())
            else:
                value = (ctypes.c_double if item["dtype"].startswith("float") else ctypes.c_int64)(value)
                pointers.append(ctypes.addressof(value))
            keep.append(value)
        for output in outputs:
            keep.append(output)
            pointers.append(output.data_ptr())
        for axis in sorted(self.axes):
            value = ctypes.c_int64(sizes[axis])
            keep.append(value)
            pointers.append(ctypes.addressof(value))
        return (ctypes.c_void_p * max(1, len(pointers)))(*pointers), keep

    def __call__(self, arguments):
        self.call_(None, arguments)


def wide(values):
    return {k: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for k, v in values.items()}


def difference(got, want, exact, values=None):
    """None, or what is wrong. exact: the reference in float64, or None. values: of places their values; neighbours that are equal may change places."""
    if not want.is_floating_point():
        wrong = (got != want)
        if values is not None and values.shape == want.shape and values.dim():
            same = values[..., 1:] == values[..., :-1]
            wrong &= ~(torch.nn.functional.pad(same, (1, 0)) | torch.nn.functional.pad(same, (0, 1)))
        wrong = int(wrong.sum())
        return None if wrong <= max(1, 1e-4 * want.numel()) else f"{wrong} of {want.numel()} wrong"
    target = (want if exact is None else exact).double()
    half = want.element_size() < 4
    finite = target[target.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    usual = float((target - want.double()).nan_to_num(0, 0, 0).abs().max()) if exact is not None and want.numel() else 0.0
    allowed = (0.02 if half else 2e-5) * (target.abs() + 0.1 * scale) + 10 * usual + 1e-30
    wrong = ~(((got.double() - target).abs() <= allowed) | (got == want) | (got.isnan() & want.isnan()))
    if not wrong.any():
        return None
    place = int(wrong.flatten().nonzero()[0])
    return f"{int(wrong.sum())} of {want.numel()} wrong, the first at {place}: {float(got.flatten()[place])} instead of {float(target.flatten()[place])}"


def least_ms(call, seconds):
    """Of processor time, which a busy machine lengthens least."""
    least, rounds = math.inf, 0
    end = time.perf_counter() + seconds
    while rounds < 3 or (time.perf_counter() < end and rounds < 2000):
        start = time.thread_time()
        call()
        least = min(least, time.thread_time() - start)
        rounds += 1
    return least * 1e3


def measured(name, libraries, path, timed, channel):
    """For each library its outcome, sent one after the other: (strategy, outcome, speedup, times)."""
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    problem = problem_of(name)
    with open(path) as file:
        graph = json.load(file)
    cases = []
    for given, sizes in problem.cases():
        if sizes is not None and graph_interpreter.broken_conditions(graph, sizes):
            continue
        function = problem.function()
        want = [w.contiguous() for w in reference.as_outputs(function(given))]
        try:
            exact = [w.contiguous() for w in reference.as_outputs(function(wide(given)))]
            exact = [e if e.is_floating_point() and e.shape == w.shape else None for e, w in zip(exact, want)]
        except Exception:
            exact = [None] * len(want)
        cases.append((given, sizes, function, want, exact))
    for strategy, library in libraries:
        kernel = Kernel(library, graph, problem.axes)
        outcome, speedup, times = "correct", None, None
        for k, (given, sizes, function, want, exact) in enumerate(cases):
            outputs = [aligned(torch.full_like(w, math.nan if w.is_floating_point() else 1)) for w in want]
            arguments, keep = kernel.bind(given, sizes, outputs)
            channel.send(("running", strategy))
            kernel(arguments)
            for i, (got, w, e) in enumerate(zip(outputs, want, exact)):
                values = want[i - 1] if i > 0 and want[i - 1].is_floating_point() else None
                if wrong := difference(got, w, e, values):
                    outcome = f"wrong at workload {k}, output {i}: {wrong}"
                    break
            if outcome != "correct":
                break
            if k == 0 and timed:
                # Alternately, so that other load meets both.
                rounds = [(least_ms(lambda: function(given), SECONDS / 4), least_ms(lambda: kernel(arguments), SECONDS / 4)) for _ in range(4)]
                theirs, ours = (min(r[i] for r in rounds) for i in (0, 1))
                speedup, times = theirs / ours, (theirs, ours)
        channel.send((strategy, outcome, speedup, times))
    channel.send(None)


def run_problem(name, graph, libraries, timed):
    """In a process of its own: kernels may crash."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=measured, args=(name, libraries, graph, timed, theirs))
    process.start()
    theirs.close()
    results, running = [], libraries[0][0]
    try:
        while ours.poll(240):
            message = ours.recv()
            if message is None:
                break
            if message[0] == "running":
                running = message[1]
            else:
                results.append(message)
        else:
            results.append((running, "took too long", None, None))
    except EOFError:
        process.join()
        results.append((running, f"the process ended with {process.exitcode}", None, None))
    process.kill()
    process.join()
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("probe")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--strategies", type=int, default=1)
    parser.add_argument("--labels", default="", help='kernels by name: "blocked,blocked lanes=16"')
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_intermixed_args()
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    folder = os.path.abspath(options.folder)
    os.makedirs(os.path.join(folder, "graphs"), exist_ok=True)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    names = options.names or trace_suite.all_names()

    def built(name, path):
        labels = [label for label in options.labels.split(",") if label]
        place, strategies = written(options.probe, name, path, folder, labels)
        chosen = strategies if labels or not options.strategies else strategies[:options.strategies]
        out = []
        for strategy in chosen:
            try:
                out.append((strategy, compiled(place, strategy)))
            except RuntimeError as error:
                out.append((strategy, error))
        return out

    jobs, table = [], {}
    for name in names:
        try:
            path = traced(name, folder)
            jobs.append((name, path, pool.submit(built, name, path)))
        except Exception as error:
            table[name] = [("-", f"not traced: {type(error).__name__}: {str(error)[:200]}", None, None)]
            print(f"{os.path.basename(name):32} {table[name][0][1]}", flush=True)
    for name, path, job in jobs:
        try:
            libraries = job.result()
            good = [(s, library) for s, library in libraries if isinstance(library, str)]
            results = [(s, str(error), None, None) for s, error in libraries if not isinstance(error, str)]
            results += run_problem(name, path, good, options.time) if good else []
        except RuntimeError as error:
            results = [("-", str(error)[:250], None, None)]
        table[name] = results
        for strategy, outcome, speedup, times in results:
            timing = f" {speedup:6.2f}x  {times[0]:9.3f} ms  {times[1]:9.3f} ms" if times else ""
            print(f"{os.path.basename(name):32} {strategy:14} {outcome}{timing}", flush=True)
    best = {name: max((r[2] for r in results if r[2]), default=None) for name, results in table.items()}
    correct = sum(any(r[1] == "correct" for r in results[:1]) for results in table.values())
    print(f"{len(table)} problems: {correct} correct in their first strategy")
    if options.time:
        known = [b for b in best.values() if b]
        print(f"{sum(b > 1 for b in known)} of {len(table)} faster than torch in the best strategy tried; geometric mean of {len(known)}: "
              f"{math.exp(sum(math.log(b) for b in known) / max(1, len(known))):.2f}x")
    return 0 if correct == len(table) else 1


if __name__ == "__main__":
    sys.exit(main())
