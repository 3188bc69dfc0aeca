#!/usr/bin/env python3
"""Triton kernels of the programmatic author against torch: triton_equality.py PROBE [options] [NAME ...]

    --strategy LABEL  only this one (may be given several times), "tiled product_k=16" too
    --drawn           a strategy for each case, each in turn; and those of ABOUT in theirs
    --choices         also each choice's least and largest value, in the first case whose kernel it changes
    --sample N        that many of the cases
    --compile         compile every kernel for compute capability 9.0 too, without a GPU
    --keep FOLDER     leave the written files there
    --table           a line for each case and strategy

Each case of loops_cases.py is traced once and written in every strategy; the file is interpreted at the traced sizes and at others,
with the gym's changes to Triton's interpreter. Exit code 77: no torch or Triton here.
"""
import argparse
import collections
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

COMPILES = len(sys.argv) > 1 and sys.argv[1] == "compile"
if not COMPILES:
    os.environ["TRITON_INTERPRET"] = "1"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "python")]
try:
    import torch
    import triton
except ImportError:
    sys.exit(77)

# --drawn: cases that these strategies are about. A product in TF32 is beyond the tolerance.
ABOUT = {"softmax": ["online", "blocked"], "layer_norm": ["online", "blocked"], "linear": ["tiled", "online", "blocked"]}
THIRD = {"B": 4, "C": 12, "H": 5, "W": 9, "N": 70, "M": 33, "K": 5}


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Author:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the probe ended with {self.process.wait()}")
        return json.loads(line)


class Compiler:
    """A process whose Triton compiles, and launches nothing."""

    def __init__(self):
        environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        command = [sys.executable, os.path.abspath(__file__), "compile"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def problem(self, path, inputs):
        request = {"path": path, "inputs": [[str(x.dtype).removeprefix("torch."), list(x.shape)] for x in inputs]}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def compile_requests():
    from triton_support import host

    class NoLaunch:
        def __init__(self, source, metadata):
            pass

        def __call__(self, *args, **kwargs):
            pass

    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="kernels")
    host.install(host.Device(90), NoLaunch)
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        problem = None
        try:
            inputs = [torch.zeros(shape, dtype=getattr(torch, dtype)) for dtype, shape in request["inputs"]]
            load(request["path"], f"compiled{number}").run(*inputs)
        except Exception as error:
            cause = error.__cause__ or error
            problem = f"{type(cause).__name__}: {str(cause)[:600]}"
        print(json.dumps(problem), flush=True)


def interpret_like_the_gym():
    from triton.runtime import interpreter
    from triton_support import semantics

    semantics.install(interpreter)
    interpreter.GridExecutor._init_args_hst = lambda executor, args, kwargs: (args, kwargs)
    interpreter.GridExecutor._restore_args_dev = lambda executor, *_: None


def difference(got, want, tolerance):
    if list(got.shape) != list(want.shape):
        return f"shape {list(got.shape)} instead of {list(want.shape)}"
    got, want = got.double().reshape(-1), want.double().reshape(-1)
    scale = max(1.0, float(want[want.isfinite()].abs().max())) if want.isfinite().any() else 1.0
    right = torch.isclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if right.all():
        return None
    place = int((~right).nonzero()[0])
    return f"{int((~right).sum())} of {want.numel()} wrong, the first at {place}: {float(got[place])} instead of {float(want[place])}"


def serves(graph, sources, inputs):
    """Whether the graph is of these shapes too: torch may have looked at a size, and made a number of it."""
    sizes = {name: inputs[i].shape[d] for name, (i, d) in sources.items()}
    shapes = [[eval(str(extent), {}, sizes) for extent in one["shape"]] for one in graph["inputs"]]
    return shapes == [list(x.shape) for x in inputs]


class Trial:
    """A case, traced and with what torch makes of it at each size set."""

    def __init__(self, case, folder, helpers):
        self.case, self.folder = case, folder
        generator = torch.Generator().manual_seed(7)
        sets = list(case.sets)
        if len(sets) == 2 and sets[0] == helpers.DEFAULT and sets[1] == helpers.ODD:
            sets.append(THIRD)
        self.runs = []  # (sizes, graph's path, inputs, wanted)
        path = None
        for number, sizes in enumerate(sets):
            try:
                given = [helpers.single(x) for x in helpers.inputs_of(case, sizes, generator)]
                wide = [x.double() if x.dtype is torch.float32 else x for x in given]
                wanted = case.function(*[x.clone() for x in wide])
                if path is None or case.static or not serves(graph, sources, given):
                    graph, sources = helpers.trace(case.function, given, case.static)
                    path = os.path.join(folder, f"{case.name}_{number}.json")
                    with open(path, "w") as file:
                        json.dump(graph, file)
            except Exception:
                if number < len(case.sets):
                    raise
                continue  # sizes that the function does not take
            self.runs.append((sizes, path, given, list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]))

    def check(self, author, strategy, compiler):
        """None, "unsupported: ..", or what is wrong."""
        modules = {}
        for sizes, path, inputs, wanted in self.runs:
            if path not in modules:
                answer = author.ask(graph=path, language="triton", strategy=strategy)
                if "error" in answer:
                    return ("unsupported: " if answer["code"] == "unsupported" else "") + answer["error"]
                name = re.sub(r"\W", "_", f"{self.case.name}_{strategy}_{len(modules)}")
                file_name = os.path.join(self.folder, name + ".py")
                with open(file_name, "w") as file:
                    file.write("\n".join("# " + line for line in answer["plan"]) + "\n" + answer["source"])
                modules[path] = load(file_name, name)
                if compiler:
                    problem = compiler.problem(file_name, inputs)
                    if problem:
                        return f"does not compile: {problem}"
            outputs = modules[path].run(*[x.clone() for x in inputs])
            outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            narrow = any(x.dtype in (torch.float16, torch.bfloat16) for x in inputs)
            for k, (got, want) in enumerate(zip(outputs, wanted, strict=True)):
                dtype = torch.float32 if want.dtype is torch.float64 else want.dtype
                if got.dtype not in (dtype, want.dtype):
                    return f"output {k} is {got.dtype} instead of {dtype}"
                exact = not want.dtype.is_floating_point
                tolerance = 0 if exact else max(self.case.tolerance, 0.02 if narrow else 2e-4)
                if wrong := difference(got, want, tolerance):
                    return f"output {k} at {sizes}: {wrong}"
        return None


class Comparison:
    """Trials of cases, counted; prints what is wrong."""

    def __init__(self, options, folder):
        import fx_graph
        import loops_cases
        import loops_equality

        self.author = Author(options.probe)
        self.compiler = Compiler() if options.compile else None
        self.folder, self.table = folder, options.table
        self.helpers = argparse.Namespace(single=loops_equality.single, inputs_of=loops_equality.inputs_of, trace=fx_graph.trace,
                                          DEFAULT=loops_cases.DEFAULT, ODD=loops_cases.ODD)
        self.counts = collections.defaultdict(collections.Counter)
        self.unsupported, self.wrong, self.trials = set(), 0, {}

    def trial(self, case):
        """None where it cannot be traced."""
        if case.name not in self.trials:
            try:
                self.trials[case.name] = Trial(case, self.folder, self.helpers)
            except Exception as error:
                print(f"{case.name}: not traced: {type(error).__name__}: {str(error)[:300]}", flush=True)
                self.wrong += 1
                self.trials[case.name] = None
        return self.trials[case.name]

    def source(self, case, label):
        trial = self.trial(case)
        return trial and self.author.ask(graph=trial.runs[0][1], language="triton", strategy=label).get("source")

    def check(self, case, label):
        trial, start = self.trial(case), time.monotonic()
        if trial is None:
            return
        try:
            problem = trial.check(self.author, label, self.compiler)
        except Exception as error:
            cause = error.__cause__ or error
            problem = f"{type(cause).__name__}: {str(cause)[:600]}"
        word = "right" if problem is None else "unsupported" if problem.startswith("unsupported") else "wrong"
        self.counts[label][word] += 1
        if word == "unsupported":
            self.unsupported.add(f"{case.name}: {problem}")
        if word == "wrong":
            self.wrong += 1
            print(f"{case.name} ({label}): {problem}", flush=True)
        if self.table:
            print(f"{case.name:32} {label:16} {word:12} {time.monotonic() - start:6.2f} s", flush=True)

    def check_choices(self, cases, strategy, choices):
        """Each at both ends, in a case where it makes another kernel."""
        for name, usual, values in choices:
            for value in sorted({min(values), max(values)} - {usual}):
                label = f"{strategy} {name}={value}"
                found = next((case for case in cases if self.source(case, label) != self.source(case, strategy)), None)
                if found:
                    self.check(found, label)
                else:
                    self.wrong += 1
                    print(f"{label}: changes no case's kernel", flush=True)

    def report(self):
        for line in sorted(self.unsupported):
            print(line)
        for label, found in self.counts.items():
            print(f"{label:24}" + "".join(f" {count} {word}" for word, count in sorted(found.items())))


def main():
    import loops_cases

    parser = argparse.ArgumentParser()
    parser.add_argument("probe")
    parser.add_argument("--strategy", action="append")
    parser.add_argument("--drawn", action="store_true")
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    interpret_like_the_gym()
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    cases = [case for case in loops_cases.CASES if not options.names or case.name in options.names]
    if options.sample is not None and options.sample < len(cases):
        cases = random.Random(options.sample).sample(cases, options.sample)
    with tempfile.TemporaryDirectory() as folder:
        if options.keep:
            folder = options.keep
            os.makedirs(folder, exist_ok=True)
        comparison = Comparison(options, folder)
        known = comparison.author.ask(language="triton")
        labels = options.strategy or known["strategies"]
        for number, case in enumerate(cases):
            drawn = [labels[number % len(labels)]] + ABOUT.get(case.name, []) if options.drawn else labels
            for label in dict.fromkeys(drawn):
                comparison.check(case, label)
        if options.choices:
            first = known["strategies"][0]
            comparison.check_choices(cases, first, known["choices"][first])
        comparison.report()
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    sys.exit(compile_requests() if COMPILES else main())
