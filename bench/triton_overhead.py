#!/usr/bin/env python3
"""What judging a Triton candidate costs beside interpreting its kernels, against a harness with fresh Python processes per candidate.

    bench/triton_overhead.py [--problems softmax layer_norm add matmul_square] [--candidates 10] [--peers 3]

Ours: total_ms of a verdict less call_ms, the wall time of all interpreted calls: processes, compilation for sm_90, checking, the run without stores. The first
verdict of a problem (zygotes, admission) is left out. "Cached": the same files once more, whose builds are in the cache.
Peer, for each candidate: one process with TRITON_INTERPRET=1 imports torch and triton, runs the same workloads three times on fresh inputs and compares with
the reference (allclose); a second one without it compiles the kernels for sm_90. Its overhead is the wall time of both less the time of the calls.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from common import ROOT, VENV_PYTHON, add_program_option, evaluate, evidence_of, explain, median, numbered_copies, private_home, spread

PEER = r"""
import importlib.util, json, sys, time
import torch, triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
candidate_file, definition_file, workloads_file, compile_only = sys.argv[1:5]
torch.manual_seed(0)
torch.set_num_threads(1)
definition = json.load(open(definition_file))
spec = importlib.util.spec_from_file_location("candidate", candidate_file)
candidate = importlib.util.module_from_spec(spec)
sys.modules["candidate"] = candidate
space = {}
exec(definition["reference"], space)
calls = 0.0
# Without a GPU Triton has no driver: the gym's stand-in serves here too. Launches of the second process are compiled and not run.
sys.path.insert(0, sys.argv[5])
from triton_support import host
class NoLaunch:
    def __init__(self, *_): pass
    def __call__(self, *_, **__): pass
host.install(host.Device(90), NoLaunch)
triton.runtime.driver.active.get_benchmarker = lambda: lambda call, quantiles=None, **_: (call(), [1.0] * 3)[1]
spec.loader.exec_module(candidate)
for workload in json.load(open(workloads_file)):
    sizes = {name: axis.get("value", workload["axes"].get(name)) for name, axis in definition["axes"].items()}
    def value_of(name, t):
        if t["shape"] is None:
            return workload["inputs"][name]["value"]
        return torch.randn([sizes[d] for d in t["shape"]], dtype=getattr(torch, t["dtype"]))
    for _ in range(1 if compile_only == "1" else 3):
        inputs = [value_of(name, t) for name, t in definition["inputs"].items()]
        outputs = [torch.empty([sizes[d] for d in t["shape"]], dtype=getattr(torch, t["dtype"])) for t in definition["outputs"].values()]
        start = time.perf_counter()
        passing = candidate.run.__code__.co_argcount > len(inputs)
        got = candidate.run(*inputs, *outputs) if passing else candidate.run(*inputs)
        calls += time.perf_counter() - start
        if compile_only == "1":
            continue
        got = outputs[0] if passing else got
        assert torch.allclose(got.float(), space["run"](*inputs).float(), rtol=1e-2, atol=1e-2)
print(json.dumps({"calls_ms": 1e3 * calls}))
"""


def interpreted_workloads(problem):
    policy = (problem / "policy.toml").read_text()
    rows = [json.loads(line)["workload"] for line in (problem / "workloads.jsonl").read_text().splitlines()]
    chosen = []
    for row in rows:
        section = policy.partition(f'[workloads."{row["uuid"]}"]')[2].partition("[workloads.\"")[0]
        if '"interpret"' in section:
            chosen.append(row)
    return chosen


def peer(scratch, problem, candidate):
    """(overhead ms, ms of the calls) of one candidate; compilation counts as overhead on both sides."""
    script, workloads = scratch / "peer.py", scratch / "workloads.json"
    script.write_text(PEER)
    workloads.write_text(json.dumps(interpreted_workloads(problem)))
    overhead = calls = 0.0
    for compile_only in ("0", "1"):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRITON_CACHE_DIR": str(scratch / f"triton_{candidate.stem}")}
        if compile_only == "0":
            environment["TRITON_INTERPRET"] = "1"
        start = time.perf_counter()
        command = [VENV_PYTHON, script, candidate, problem / "definition.json", workloads, compile_only, ROOT / "python"]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        wall = 1e3 * (time.perf_counter() - start)
        if run.returncode != 0:
            sys.exit(f"the peer failed on {candidate}:\n{run.stderr[-2000:]}")
        inside = json.loads(run.stdout.splitlines()[-1])["calls_ms"] if compile_only == "0" else 0.0
        overhead, calls = overhead + wall - inside, calls + inside
    return overhead, calls


def ours(verdicts):
    rows = []
    for _, verdict in verdicts:
        if verdict["outcome"] != "passed":
            sys.exit(f"FAILED {explain(verdict)}")
        calls = sum(workload["call_ms"] for workload in evidence_of(verdict)["workloads"])
        rows.append((verdict["cost"]["total_ms"] - calls, calls))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--problems", nargs="+", default=["softmax", "layer_norm", "add", "gemm"])
    parser.add_argument("--candidates", type=int, default=10)
    parser.add_argument("--peers", type=int, default=3)
    arguments = parser.parse_args()
    print("problem | calls, ms | ours, ms | ours cached, ms | peer calls, ms | peer, ms | ratio | ratio cached")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for name in arguments.problems:
            problem = ROOT / "problems" / name
            source = ROOT / "tests/honest/triton" / f"{name}.py"
            files = numbered_copies(source, scratch / name, arguments.candidates + 1, "#")
            home = private_home(scratch)
            fresh = ours(evaluate(arguments.program, problem, files, [], home))[1:]
            cached = ours(evaluate(arguments.program, problem, files, [], home))[1:]
            peers = [peer(scratch, problem, file) for file in files[:arguments.peers]]
            theirs = median([row[0] for row in peers])
            print(" | ".join([name, spread([row[1] for row in fresh], 0), spread([row[0] for row in fresh], 0), spread([row[0] for row in cached], 0),
                              spread([row[1] for row in peers], 0), spread([row[0] for row in peers], 0),
                              f"{theirs / median([row[0] for row in fresh]):.1f}", f"{theirs / median([row[0] for row in cached]):.1f}"]), flush=True)


if __name__ == "__main__":
    main()
