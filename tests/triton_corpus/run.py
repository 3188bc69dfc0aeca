#!/usr/bin/env python3
"""Real Triton kernels of public wheels, judged in the interpreter or run on a GPU, each against a reference in torch.

    tests/triton_corpus/run.py [--only WORD] [--wheels FOLDER]           with the gym: needs a built kernelwright
    tests/triton_corpus/run.py --gpu                                     torch and triton alone, on a CUDA device

The sources are read from wheels that pip fetches into a temporary folder; only the wrappers around them are ours (cases.py). Exit code 1
where a kernel failed.
"""
import argparse
import ast
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
import shims

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHEELS = ("geak-eval", "liger-kernel", "flag-gems", "conch-triton-kernels", "fla-core")
_SEPARATOR = re.compile(r"\n#{30,}\n")  # TritonBench: tests come behind it

PROBLEM = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, {names}):
{reference}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""

CANDIDATE = """import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
{source}


class ModelNew(nn.Module):
    def forward(self, {names}):
{call}
"""


def fetch(folder):
    """The wheels, unpacked into one folder."""
    have = " ".join(os.listdir(folder)).replace("_", "-")
    for wheel in WHEELS:
        if wheel not in have:
            subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", folder, wheel], check=True)
    unpacked = os.path.join(folder, "unpacked")
    for path in glob.glob(os.path.join(folder, "*.whl")):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(unpacked)
    return unpacked


def body(text):
    """Statements, or one expression that is returned, indented for a method."""
    lines = textwrap.dedent(text).strip()
    if "return" not in lines:
        lines = f"return {lines}"
    return textwrap.indent(lines, " " * 8)


def candidate_files(case, unpacked):
    """[(path, content)]: the wrapper first, then what it needs of the wheel."""
    names = ", ".join(case.inputs)
    if case.module is None:
        with open(os.path.join(unpacked, case.path), encoding="utf-8") as file:
            source = _SEPARATOR.split(file.read())[0]
        return [("main.py", CANDIDATE.format(source=source, names=names, call=body(case.call)))]
    source = f"from {case.module} import {case.imports}"
    main = CANDIDATE.format(source=source, names=names, call=body(case.call))
    return [("main.py", main), *package_files(case.module, unpacked)]


def package_files(module, unpacked):
    """A module and what it imports of its own package. The __init__ of packages that nothing asks for by name, and of the topmost one, are
    left empty, so that nothing else is loaded."""
    top, found, waiting = module.split(".")[0], {}, [module]
    while waiting:
        name = waiting.pop()
        path = name.replace(".", "/")
        if os.path.isfile(os.path.join(unpacked, path + ".py")):
            path += ".py"
        elif os.path.isfile(os.path.join(unpacked, path, "__init__.py")):
            path += "/__init__.py"
        else:
            continue
        if path in found or name == top:
            continue
        if path in shims.FILES:
            found[path] = shims.FILES[path]
        else:
            with open(os.path.join(unpacked, path), encoding="utf-8") as file:
                found[path] = file.read()
        waiting += imports_of(found[path], name, top, path.endswith("__init__.py"))
    found[f"{top}/__init__.py"] = '__version__ = "0"\n'
    if any("einops" in text for text in found.values()):  # their references use it, their kernels do not
        found["einops.py"] = "repeat = rearrange = None\n"
    for path in list(found):
        for depth in range(1, path.count("/") + 1):
            found.setdefault("/".join(path.split("/")[:depth]) + "/__init__.py", "")
    return sorted(found.items())


def imports_of(text, name, top, is_package):
    wanted = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            wanted += [alias.name for alias in node.names if alias.name.split(".")[0] == top]
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, *([base] if base else [])])
            if base.split(".")[0] == top:
                wanted += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return wanted


def write_problem(case, folder):
    inputs = ",\n            ".join(case.inputs.values())
    path = os.path.join(folder, "problem.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROBLEM.format(names=", ".join(case.inputs), reference=body(case.reference), inputs=inputs))
    return path


def judge(case, unpacked, folder, program):
    """(outcome, why) of the gym."""
    problem = write_problem(case, folder)
    files = candidate_files(case, unpacked)
    if len(files) == 1:
        candidate = os.path.join(folder, "candidate.py")
        with open(candidate, "w", encoding="utf-8") as file:
            file.write(files[0][1])
    else:
        candidate = os.path.join(folder, "solution.json")
        solution = {
            "name": case.name, "definition": "problem", "author": "corpus",
            "spec": {"language": "triton", "target_hardware": ["cpu"], "entry_point": "main.py::ModelNew", "destination_passing_style": False},
            "sources": [{"path": path, "content": content} for path, content in files],
        }  # fmt: skip
        with open(candidate, "w", encoding="utf-8") as file:
            json.dump(solution, file)
    command = [program, "eval", problem, candidate, "--json", "--no-evidence", "--no-timing", "--language", "triton"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    try:
        verdict = json.loads(done.stdout)
    except json.JSONDecodeError:
        return "error", done.stderr.strip()[-300:]
    told = verdict["diagnostics"] + [one for workload in verdict["workloads"] for one in workload["diagnostics"]]
    words = [one["message"].strip() for one in told if one["kind"] != "kernels"]
    outcome = verdict["outcome"] + (f" {verdict['violation']}" if verdict.get("violation") else "")
    return outcome, " | ".join(line for text in words for line in text.split("\n")[-3:])[-500:]


GPU = """
import importlib.util, sys, torch
sys.path.insert(0, {folder!r})
def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
problem, candidate = load({problem!r}, "problem"), load({main!r}, "candidate")
torch.manual_seed(0)
inputs = [x.cuda() if isinstance(x, torch.Tensor) else x for x in problem.get_inputs()]
with torch.no_grad():
    wanted = problem.Model()(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    got = candidate.ModelNew()(*inputs)
wanted, got = ([x] if isinstance(x, torch.Tensor) else list(x) for x in (wanted, got))
assert len(wanted) == len(got)
for a, b in zip(got, wanted):
    a, b = a.double(), b.double()
    error, size = (a - b).abs().nan_to_num().max().item(), b.abs().nan_to_num().max().item()
    assert a.shape == b.shape and error <= {tolerance} * max(size, 1e-6), f"wrong_value: off by {{error}}, of {{size}}"
"""


def run_on_gpu(case, unpacked, folder):
    problem = write_problem(case, folder)
    for path, content in candidate_files(case, unpacked):
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(content)
    script = GPU.format(folder=folder, problem=problem, main=os.path.join(folder, "main.py"), tolerance=case.tolerance)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    return ("passed", "") if done.returncode == 0 else ("failed", done.stderr.strip().split("\n")[-1][-300:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpu", action="store_true", help="torch and triton alone")
    parser.add_argument("--only", default="", help="cases with this word in their names")
    parser.add_argument("--wheels", help="folder with the wheels, kept; else a temporary one")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "dev", "bin", "kernelwright"))
    parser.add_argument("--json", help="write name, outcome and reason of each case here")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        unpacked = fetch(options.wheels or temporary)
        for case in cases.all_cases():
            if options.only not in case.name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    outcome, why = run_on_gpu(case, unpacked, folder) if options.gpu else judge(case, unpacked, folder, options.program)
                except (OSError, subprocess.TimeoutExpired) as error:
                    outcome, why = "error", str(error)
            results.append({"name": case.name, "outcome": outcome, "why": why})
            print(f"{case.name:32} {outcome:24} {why if outcome != 'passed' else ''}".rstrip(), flush=True)
    counts = {}
    for result in results:
        counts[result["outcome"]] = counts.get(result["outcome"], 0) + 1
    print(f"{len(results)} kernels: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0 if set(counts) <= {"passed", "unsupported"} else 1


if __name__ == "__main__":
    sys.exit(main())
