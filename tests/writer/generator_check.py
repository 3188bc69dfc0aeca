#!/usr/bin/env python3
"""Generated problems against torch: generator_check.py FOLDER [--seed S] [--first I] [--count N] [--operator NAME] [--jobs J]
[--max-elements E] [--trace K] [--show] [--all-ways] [--half TYPE]

FOLDER holds kw_generator_probe and kw_writer_probe. Each problem's module runs in float64; its definition and both graphs (by the
interpreter of the loops) must give the same, the definition and its graph at its other workloads too. --trace K: every K-th module is also traced, and the traced graph must give the same.
Up to 1 % may have an output that is constant.
One in half precision must also run in it. --half TYPE: only such problems, of the operators that hold in it.
--all-ways: then a problem for each way of writing an operator as well, every (2 K)-th of them traced; it is an error when one is missing. Exit code 77: no torch here.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile
import types

try:
    import torch
except ImportError:
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loops_equality import Probe, compare

TOLERANCE = 1e-7
MOST_WORK = 4e7


MOST_CONSTANT = 0.01


class Wrong(Exception):
    pass


class Constant(Wrong):
    """Inputs that an admission would refuse, as people's problems have them too."""


NARROW = {".float()": ".double()", ".half()": ".double()", ".bfloat16()": ".double()", "torch.float32": "torch.float64",
          "torch.float16": "torch.float64", "torch.bfloat16": "torch.float64"}


def is_half(form):
    return any(item["dtype"] in ("float16", "bfloat16") for item in form["graph"]["inputs"])


def load(source, name, wide=True):
    for narrow, wider in NARROW.items() if wide else ():
        source = source.replace(narrow, wider)
    module = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
    return module


def check_half(row):
    """In their own type both forms run here, and give it."""
    torch.set_default_dtype(torch.float32)
    try:
        loaded = load(row["module"]["source"], "problem", wide=False)
        model = loaded.Model(*loaded.get_init_inputs())
        inputs = loaded.get_inputs()
        want = [getattr(torch, dtype) for dtype in row["module"]["outputs"]]
        got = flat(model(*[value.clone() for value in inputs]))
        if [value.dtype for value in got] != want:
            raise Wrong(f"outputs of {[value.dtype for value in got]} instead of {want}")
        if not all(bool(value.isfinite().all()) for value in got):
            raise Wrong("an output is not finite in its own type")
        run = load(row["definition"]["definition"]["reference"], "reference", wide=False).run
        state = model.state_dict()
        given = list(inputs) + [state[key] for key in row["module"]["state_keys"] if key is not None]
        named = dict(zip(row["module"]["inputs"], given))
        by_name = dict(zip(row["definition"]["names"], (named[m] for m in row["definition"]["inputs"])))
        again = flat(run(*[by_name[name] for name in row["definition"]["definition"]["inputs"]]))
        if [value.dtype for value in again] != want:
            raise Wrong(f"the definition's outputs are of {[value.dtype for value in again]} instead of {want}")
    finally:
        torch.set_default_dtype(torch.float64)


def flat(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def state_of(model):
    state = dict(model.state_dict(keep_vars=True))
    with torch.no_grad():
        for tensor in state.values():
            if tensor.is_floating_point() and tensor.numel() > 0 and bool((tensor == tensor.flatten()[0]).all()):
                tensor.add_(torch.rand_like(tensor) * 0.4)  # a layer's ones and zeros say nothing
    return {key: value.detach().clone() for key, value in state.items()}


def check_values(values):
    for value in values:
        if value.is_floating_point() and not bool(value.isfinite().all()):
            raise Wrong("an output is not finite")
        if value.numel() > 4 and bool((value == value.flatten()[0]).all()):
            raise Constant(f"an output is constant ({float(value.flatten()[0])})")
        if value.is_floating_point() and value.numel() > 4 and float(value.std()) < 1e-9 * (1e-30 + float(value.abs().max())):
            raise Constant("an output is all but constant")


def same(what, got, want):
    if len(got) != len(want):
        raise Wrong(f"{what}: {len(got)} outputs instead of {len(want)}")
    for k, (a, b) in enumerate(zip(got, want)):
        if isinstance(a, torch.Tensor) and a.dim() != 1 and a.shape != b.shape:
            raise Wrong(f"{what}: shape {list(a.shape)} instead of {list(b.shape)}")
        if wrong := compare(a.double().reshape(-1), b, TOLERANCE):
            raise Wrong(f"{what}, output {k}: {wrong}")


def interpreted(probe, form, given, folder, sizes=None):
    path = os.path.join(folder, "graph.json")
    with open(path, "w") as file:
        file.write(json.dumps(form["graph"]).replace('"bfloat16"', '"float32"').replace('"float16"', '"float32"'))
    return probe.run(path, sizes or form["graph"]["sizes"], given, False, MOST_WORK)


def shape_of(item, sizes):
    return [eval(str(d), {"min": min, "max": max}, dict(sizes)) for d in item["shape"]]


def check_other_sizes(form, run, given, probe, folder):
    """The definition's other workloads: its reference against its graph, on numbers picked from those of the first."""
    for axes in form["workloads"][1:]:
        sizes = form["graph"]["sizes"] | axes
        values = []
        for item, value in zip(form["graph"]["inputs"], given):
            shape = shape_of(item, sizes)
            picked = torch.randint(value.numel(), (math.prod(shape),))
            values.append(value.flatten()[picked].reshape(shape))
        named = dict(zip(form["names"], values))
        want = flat(run(*[named[name].clone() for name in form["definition"]["inputs"]]))
        got = interpreted(probe, form, values, folder, sizes)
        if got is not None:
            same(f"definition at {axes}", got, want)


def traced(row, folder):
    """The tracer's graph, in this process."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
    import tracer

    path = os.path.join(folder, "problem.py")
    source = row["module"]["source"]
    for name in ("half", "bfloat16"):
        source = source.replace(f".{name}()", ".float()")
    with open(path, "w") as file:
        file.write(source.replace("torch.bfloat16", "torch.float32").replace("torch.float16", "torch.float32"))
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        return {"graph": tracer.trace(path, {"kind": "module", "entry": "Model"})}
    finally:
        torch.set_default_dtype(default)


def check(row, probe, folder, trace):
    """Raises what is wrong; True when the graphs could be interpreted."""
    if "error" in row:
        raise Wrong(row["error"])
    if is_half(row["module"]):
        check_half(row)
    if "way" in row and f"{row['way']} module" not in row["renderings"]:
        raise Wrong(f"not written as {row['way']}")
    torch.manual_seed(row["index"])
    loaded = load(row["module"]["source"], "problem")
    model = loaded.Model(*loaded.get_init_inputs())
    state = state_of(model)
    inputs = loaded.get_inputs()
    outputs = flat(model(*[value.clone() for value in inputs]))
    check_values(outputs)
    form = row["module"]
    dynamic = [i for i, key in enumerate(form["state_keys"]) if key is None]
    if len(dynamic) != len(inputs):
        raise Wrong(f"{len(inputs)} inputs instead of {len(dynamic)}")
    unknown = [key for key in form["state_keys"] if key is not None and key not in state]
    if unknown:
        raise Wrong(f"no state {unknown}, only {list(state)}")
    given = list(inputs) + [state[key] for key in form["state_keys"] if key is not None]
    order = [key for key in state if key in form["state_keys"]]
    if order != [key for key in form["state_keys"] if key is not None]:
        raise Wrong(f"the state is in the order {list(state)}")
    for item, value in zip(form["graph"]["inputs"], given):
        shape = shape_of(item, form["graph"]["sizes"])
        if shape != list(value.shape):
            raise Wrong(f"{item['name']} has shape {list(value.shape)}, the graph says {shape}")
    by_meaning = dict(zip(form["inputs"], given))
    definition = row["definition"]["definition"]
    run = load(definition["reference"], "reference").run
    named = dict(zip(row["definition"]["names"], (by_meaning[m] for m in row["definition"]["inputs"])))
    same("definition", flat(run(*[named[name].clone() for name in definition["inputs"]])), outputs)
    got = interpreted(probe, form, given, folder)
    if got is not None:
        same("graph", got, outputs)
        again = [by_meaning[m] for m in row["definition"]["inputs"]]
        same("definition's graph", interpreted(probe, row["definition"], again, folder), outputs)
        check_other_sizes(row["definition"], run, again, probe, folder)
    if trace:
        found = traced(row, folder)
        names = [item["name"] for item in found["graph"]["inputs"]]
        mine = dict(zip(form["names"], given))
        if set(names) - set(mine):
            raise Wrong(f"the traced graph has inputs {names}, not {list(mine)}")
        got = interpreted(probe, found, [mine[name] for name in names], folder)
        if got is not None:
            same("traced graph", got, outputs)
    return got is not None


def work(arguments, kind, first, count):
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    command = [os.path.join(arguments.folder, "kw_generator_probe"), kind, str(arguments.seed), str(first), str(count),
               str(arguments.max_elements), str(arguments.max_elements * 64)]
    if arguments.operator or arguments.half:
        command.append(arguments.operator or "-")
    if arguments.half:
        command.append(arguments.half)
    rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    ways, wrong, constant, run = collections.Counter(), [], [], 0
    every = arguments.trace * (2 if kind == "ways" else 1)
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(os.path.join(arguments.folder, "kw_writer_probe"), folder)
        for line in rows:
            row = json.loads(line)
            ways.update(row.get("renderings", []))
            if arguments.show:
                print(row.get("module", {}).get("source", ""), row.get("definition", {}).get("definition", {}).get("reference", ""), sep="\n# ---- definition\n")
            try:
                run += check(row, probe, folder, every and row["index"] % every == 0)
            except Constant as error:
                constant.append((row.get("way", row["index"]), row.get("renderings", []), str(error)))
            except Exception as error:
                text = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
                wrong.append((row.get("way", row["index"]), row.get("renderings", []), text[:600]))
                if probe.process.poll() is not None:
                    probe = Probe(os.path.join(arguments.folder, "kw_writer_probe"), folder)
        probe.process.stdin.close()
        probe.process.wait(10)
    return len(rows), run, ways, wrong, constant


def main(given):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--operator", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--max-elements", type=int, default=2000)
    parser.add_argument("--trace", type=int, default=0)
    parser.add_argument("--half", default="", choices=("", "float16", "bfloat16"))
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--all-ways", action="store_true")
    arguments = parser.parse_args(given)
    operators = [json.loads(line) for line in subprocess.run([os.path.join(arguments.folder, "kw_generator_probe"), "operators"], check=True, capture_output=True, text=True).stdout.splitlines()]
    block = max(1, min(50, arguments.count // arguments.jobs))
    starts = range(arguments.first, arguments.first + arguments.count, block)
    blocks = [("problems", start, min(block, arguments.first + arguments.count - start)) for start in starts]
    operators = [o for o in operators if o["half"] or not arguments.half]
    if arguments.all_ways:
        asked = sum(o["module_ways"] for o in operators if arguments.operator in ("", o["name"]))
        blocks += [("ways", start, 50) for start in range(0, asked, 50)]
    problems = run = failures = constant = 0
    ways = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for done in pool.map(work, [arguments] * len(blocks), *zip(*blocks)):
            problems, run = problems + done[0], run + done[1]
            ways += done[2]
            constant += len(done[4])
            for index, chosen, text in done[4]:
                print(f"{index} {' '.join(chosen)}: {text}", flush=True)
            for index, chosen, text in done[3]:
                failures += 1
                print(f"{index} {' '.join(w for w in chosen)}: {text}", flush=True)
    seen = {way.split()[0] for way in ways}
    missing = [f"{o['name']}/{k}" for o in operators if arguments.operator in ("", o["name"]) for k in range(o["module_ways"]) if f"{o['name']}/{k}" not in seen]
    print(f"{problems - failures - constant} of {problems} problems agree with torch, {run} of them with their graphs; {constant} have a constant output; "
          f"{len(seen)} ways of {len(operators)} operators, {len(missing)} did not occur: {' '.join(missing[:40])}")
    return 1 if failures or constant > MOST_CONSTANT * problems or (arguments.all_ways and missing) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
