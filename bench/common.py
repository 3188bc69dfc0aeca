"""What the benchmarks share: `kernelwright eval` with arrival times, evidence, quantiles."""

import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV_PYTHON = pathlib.Path(os.environ.get("KW_PYTHON") or ROOT / ".venv/bin/python")


def add_program_option(parser):
    parser.add_argument("--program", default=str(ROOT / "build/dev/bin/kernelwright"))


def private_home(folder):
    """An environment whose caches and evidence lie in a folder: nothing is found there that an earlier run left."""
    return {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}


def evaluate(program, problem, candidates, options, environment):
    """[(seconds from the start of the process to the verdict, verdict)]; leaves when there is an error instead of a verdict."""
    command = [program, "eval", str(problem), *map(str, candidates), "--json", *options]
    start = time.perf_counter()
    verdicts = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout:
            verdicts.append((time.perf_counter() - start, json.loads(line)))
    errors = [verdict["error"]["message"] for _, verdict in verdicts if "error" in verdict]
    if errors or len(verdicts) != len(candidates):
        sys.exit(f"{problem}: {len(verdicts)} verdicts for {len(candidates)} candidates; {'; '.join(errors)}")
    return verdicts


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
