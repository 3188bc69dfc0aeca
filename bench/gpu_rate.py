#!/usr/bin/env python3
"""Verdicts a minute on kernels for a GPU, and where their time goes: a relu over ROWS x COLUMNS float32 against torch eager, all candidates of a run
in one process of the gym. Each candidate is another text: in the first series nothing was built before ("cold"), in the second all of it ("compiled").

    bench/gpu_rate.py [--size 1024x1024] [--candidates 60] [--jobs 1] [--context resident] [--wrong-every 0] [--max-seconds 1]

The first verdicts (two for each job) open sessions and are left out. A verdict without an interval counts as time, not as a verdict. "Phases" are means
in milliseconds: compile and total of the verdict, the others of its evidence; lease is the wait for others' blocks. "Busy" is the share of the series'
time in which the GPU had something outstanding: a launch, a flush, a kernel or copy of the checker's. Exit 1 when a right candidate is rejected or a
wrong one passes.
"""

import argparse
import pathlib
import sys
import tempfile

import common
from gpu_verdicts import KERNEL, write_problem

PHASES = ["load_ms", "calibrate_ms", "fill_ms", "check_ms", "time_ms", "lease_ms"]


def write_candidates(folder, count, wrong_every):
    """[(file, whether it is right)]"""
    folder.mkdir(parents=True)
    out = []
    for number in range(count):
        right = wrong_every == 0 or number % wrong_every != wrong_every - 1
        wrong = "" if right else "if (i == m * n / 7) v.y += 1;"
        file = folder / f"relu_{number}.cu"
        file.write_text(KERNEL.replace("WRONG", wrong).replace("NUMBER", str(number)))
        out.append((file, right))
    return out


def judged_rightly(verdict, right):
    return verdict["outcome"] in (("passed", "noisy") if right else ("wrong_value",))


def counts(verdict, right):
    """Whether it is a verdict that a trainer could use."""
    return verdict.get("speedup") is not None if right else True


def mean(values):
    return sum(values) / max(1, len(values))


def series(name, arguments, folder, files):
    options = ["--target", "cuda", "--jobs", str(arguments.jobs), "--gpu-context", arguments.context, "--max-seconds", arguments.max_seconds]
    verdicts = common.evaluate(arguments.program, folder / "problem", [file for file, _ in files], options, common.private_home(folder))
    right = {file.stem: is_right for file, is_right in files}
    mistakes = [v for _, v in verdicts if not judged_rightly(v, right[pathlib.Path(v["candidate"]["name"]).stem])]
    for verdict in mistakes[:5]:
        print(f"  MISJUDGED {verdict['candidate']['name']}: {common.explain(verdict)}")
    left_out = min(2 * arguments.jobs, len(verdicts) - 2)
    rest = verdicts[left_out:]
    useful = [v for _, v in rest if counts(v, right[pathlib.Path(v["candidate"]["name"]).stem])]
    seconds = verdicts[-1][0] - verdicts[left_out - 1][0]
    totals = [v["cost"]["total_ms"] for _, v in rest]
    costs = [workload["cost"] for _, v in rest for workload in common.evidence_of(v)["workloads"]]
    phases = {"compile": mean([v["cost"]["compile_ms"] for _, v in rest])}
    phases.update((key.removesuffix("_ms"), mean([cost.get(key, 0) for cost in costs])) for key in PHASES)
    phases["total"] = mean(totals)
    busy = sum(cost.get("gpu_busy_ms", 0) for cost in costs) / 1e3 / seconds
    widths = [common.half_width_percent(v["speedup"]["low"], v["speedup"]["high"]) for _, v in rest if v.get("speedup")]
    speedups = [v["speedup"]["median"] for _, v in rest if v.get("speedup")]
    contexts = [workload.get("gpu", {}).get("context") for _, v in rest for workload in v["workloads"]]
    print(
        f"{name}: {60 * len(useful) / seconds:.0f} verdicts a minute ({len(useful)} of {len(rest)} count), "
        f"a verdict takes {common.spread(totals, 0)} ms, first after {verdicts[0][0]:.1f} s"
    )
    print(f"  phases, ms: {', '.join(f'{key} {value:.1f}' for key, value in phases.items())}; busy {100 * busy:.0f} %")
    print(
        f"  speedup {common.spread(speedups, 3)}, half-width {common.spread(widths, 1)} %, "
        f"samples {common.spread([len((v.get('times') or {'samples': {'candidate_ms': []}})['samples']['candidate_ms']) for _, v in rest], 0)}, "
        f"fresh contexts {contexts.count('fresh')} of {len(contexts)}"
    )
    sys.stdout.flush()
    return not mistakes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_option(parser)
    parser.add_argument("--size", default="1024x1024", help="ROWSxCOLUMNS")
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--context", default="resident")
    parser.add_argument("--wrong-every", type=int, default=0)
    parser.add_argument("--max-seconds", default="1")
    arguments = parser.parse_args()
    rows, columns = (int(part) for part in arguments.size.split("x"))
    print(f"{rows} x {columns}, {arguments.jobs} jobs, context {arguments.context}, wrong every {arguments.wrong_every or '-'}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_problem(folder / "problem", rows, columns)
        files = write_candidates(folder / "candidates", arguments.candidates, arguments.wrong_every)
        right = [series(each, arguments, folder, files) for each in ("cold", "compiled")]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
