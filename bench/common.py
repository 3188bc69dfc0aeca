"""What the benchmarks share: `kernelwright eval` of one problem with arrival times, and of many solutions; honest kernels; quantiles."""

import ast
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HONEST = ROOT / "tests/honest"
SUFFIXES = {"triton": "py", "cuda": "cu", "cpp": "cpp", "python": "py"}
VENV_PYTHON = pathlib.Path(os.environ.get("KW_PYTHON") or ROOT / ".venv/bin/python")


def honest_kernels(target):
    """[(problem, language, text)] of tests/honest for the target; the interpreter takes Triton alone. Those that draw at random are left out."""
    out = []
    for language in {"cuda": ("triton", "cuda"), "interpret": ("triton",), "cpu": ("cpp",)}[target]:
        for file in sorted((HONEST / language).glob(f"*.{SUFFIXES[language]}")):
            if 'check = "sampling"' not in (ROOT / "problems" / file.stem / "policy.toml").read_text():
                out.append((file.stem, language, file.read_text()))
    return out


def honest_text(problem, language):
    return (HONEST / language / f"{problem}.{SUFFIXES[language]}").read_text()


def read_rows(path):
    """Lines of JSON; none where there is no file. A last line that was cut off is left out."""
    lines = path.read_text().splitlines() if path.exists() else ()
    return [json.loads(line) for line in lines if line.endswith("}")]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def add_program_option(parser):
    parser.add_argument("--program", default=str(ROOT / "build/dev/bin/kernelwright"))


def private_home(folder):
    """An environment whose caches and evidence lie in a folder: nothing is found there that an earlier run left."""
    return {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}


def evaluate(program, problem, candidates, options, environment, shows=False):
    """[(seconds from the start of the process to the verdict, verdict)]; leaves when there is an error instead of a verdict. shows: each verdict is told on
    stderr when it comes."""
    command = [program, "eval", str(problem), *map(str, candidates), "--json", *options]
    start = time.perf_counter()
    verdicts = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout:
            verdicts.append((time.perf_counter() - start, json.loads(line)))
            if shows and "outcome" in verdicts[-1][1]:
                print(f"{verdicts[-1][0]:.1f} s: {verdicts[-1][1]['candidate']['name']} {verdicts[-1][1]['outcome']}", file=sys.stderr, flush=True)
    errors = [verdict["error"]["message"] for _, verdict in verdicts if "error" in verdict]
    if errors or len(verdicts) != len(candidates):
        sys.exit(f"{problem}: {len(verdicts)} verdicts for {len(candidates)} candidates; {'; '.join(errors)}")
    return verdicts


def solution(name, problem, language, text):
    """A candidate under any name: FlashInfer-Bench's form (docs/formats/solution.md)."""
    definition = json.loads((ROOT / "problems" / problem / "definition.json").read_text())
    passes_outputs = True
    if language in ("triton", "python"):
        run = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "run")
        passes_outputs = len(run.args.args) == len(definition["inputs"]) + len(definition["outputs"])
    file = f"kernel.{SUFFIXES[language]}"
    return {"name": name, "definition": problem, "author": "kernelwright",
            "spec": {"language": language, "target_hardware": ["NVIDIA_H100"], "entry_point": f"{file}::run", "destination_passing_style": passes_outputs},
            "sources": [{"path": file, "content": text}]}


def evaluate_many(options, target, solutions, out):
    """Judges a .jsonl of solutions for problems/, without a clock, into OUT.jsonl and OUT.jsonl.verdicts.jsonl; goes on where an earlier call stopped.

    options: program, jobs, seconds (the time limit), eval_option. target: cpu, cuda, or interpret: Triton on the cpu."""
    command = [options.program, "eval", "--dataset", "problems", "--solutions", str(solutions), "--out", f"{out}.jsonl", "--no-timing", "--no-evidence"]
    command += ["--target", "cpu" if target == "interpret" else target, "--jobs", str(options.jobs), *options.eval_option]
    if pathlib.Path(f"{out}.jsonl").exists():
        command.append("--resume")
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            process.wait(options.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def verdicts_in(out):
    """Verdicts of `evaluate_many` by the candidate's name."""
    path = pathlib.Path(f"{out}.jsonl.verdicts.jsonl")
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return {line["verdict"]["candidate"]["name"]: line["verdict"] for line in lines if "verdict" in line}


def add_many_options(parser):
    """The options of `evaluate_many`."""
    add_program_option(parser)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=500, help="the stage stops then; started again, it goes on")
    parser.add_argument("--eval-option", action="append", default=[], help="of kernelwright eval; may be given again")


def evidence_of(verdict):
    return json.loads(pathlib.Path(verdict["evidence"]).read_text())["evidence"]


def explain(verdict):
    return "; ".join([verdict["outcome"], *(d["message"].splitlines()[0] for d in verdict["diagnostics"][:1])])


def numbered_copies(source, folder, count, comment="//"):
    """Files that differ in a comment, so that each is another candidate."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{source.stem}_{number}{source.suffix}" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text(f"{source.read_text()}\n{comment} candidate {number}\n")
    return files


def quantile(values, share):
    """Linear between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def median(values):
    return quantile(values, 0.5)


def spread(values, digits=2):
    """The median with p10..p90, or "-" for none."""
    if not values:
        return "-"
    return f"{median(values):.{digits}f} ({quantile(values, 0.1):.{digits}f}..{quantile(values, 0.9):.{digits}f})"


def half_width_percent(low, high):
    return 50 * math.log(high / low)
