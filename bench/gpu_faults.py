#!/usr/bin/env python3
"""Right kernels among kernels that fault, hang or exhaust memory, on a GPU: is each judged as what it is, and is everything as before afterwards?

    bench/gpu_faults.py [--pairs 200] [--jobs 2] [--seed 1] [--program build/dev/bin/kernelwright]

One run of `eval` has a right relu and a bad one for each pair, in an order drawn by the seed. Every right one has to pass, and every bad one to get the
outcome of its kind. Kernels that hang end by themselves after 10 s. Beforehand and 2 s after the end of the run the GPU's memory in use, the contexts on it
and the host's processes of the gym are counted. Exit 1 when a verdict is another one, or something is left.
"""

import argparse
import collections
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import common
from gpu_verdicts import write_problem

LAUNCH = '// launch: {"kernel": "relu", "grid": ["ceil_div(M * N, 256)"], "block": [256]}\n'
HEAD = """extern "C" __global__ void relu(const float* __restrict__ x, float* __restrict__ y, long long m, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= m * n) return;
"""
RIGHT = "  y[i] = x[i] > 0 ? x[i] : 0;\n"
SPIN = """  unsigned long long begun, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begun));
  do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - begun < 10000000000ull);
"""
SCRATCH = """// scratch: {"name": "huge", "bytes": "M * 1000000000"}
// launch: {"kernel": "relu", "grid": [1], "block": [256], "arguments": ["x", "y", "huge"]}
extern "C" __global__ void relu(const float* x, float* y, float* z) {}
"""
BAD = {  # name: (text, outcomes)
    "null": (LAUNCH + HEAD + "  reinterpret_cast<float*>(8)[i] = 1;\n}\n", ("runtime_error",)),
    "far": (LAUNCH + HEAD + RIGHT + "  if (i == 5) y[1ll << 40] = 1;\n}\n", ("runtime_error",)),
    "misaligned": (LAUNCH + HEAD + '  *reinterpret_cast<float4*>(reinterpret_cast<char*>(y) + 4) = make_float4(0, 0, 0, 0);\n}\n', ("runtime_error",)),
    "input": (LAUNCH + HEAD + "  const_cast<float*>(x)[i] = 0;\n}\n", ("runtime_error",)),
    "trap": (LAUNCH + HEAD + RIGHT + '  if (i == 77) asm volatile("trap;");\n}\n', ("runtime_error",)),
    "beside": (LAUNCH + HEAD + RIGHT + "  if (i == 0) y[m * n] = 7;\n}\n", ("violation",)),
    "hang": (LAUNCH + HEAD + RIGHT + SPIN + "}\n", ("timeout",)),
    "block": (LAUNCH.replace("[256]", "[2048]") + HEAD + RIGHT + "}\n", ("runtime_error",)),
    "scratch": (SCRATCH, ("runtime_error", "memory_limit")),
}


def asked(*words):
    answer = subprocess.run(["nvidia-smi", *words, "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True)
    return [line.strip() for line in answer.stdout.splitlines() if line.strip()]


def present_state():
    names = subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True, check=True).stdout.split()
    return {"MiB of each GPU": [int(value) for value in asked("--query-gpu=memory.used")],
            "contexts": len(asked("--query-compute-apps=pid")), "processes of the gym": sum(name.startswith("kernelwright") for name in names)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_option(parser)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    before = present_state()
    kinds = [kind for number in range(arguments.pairs) for kind in ("right", list(BAD)[number % len(BAD)])]
    random.Random(arguments.seed).shuffle(kinds)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_problem(folder / "problem", 512, 512)
        files = [folder / f"{kind}_{number}.cu" for number, kind in enumerate(kinds)]
        for kind, file in zip(kinds, files):
            file.write_text((LAUNCH + HEAD + RIGHT + "}\n" if kind == "right" else BAD[kind][0]) + f"// {file.stem}\n")
        options = ["--target", "cuda", "--no-timing", "--jobs", str(arguments.jobs)]
        verdicts = common.evaluate(arguments.program, folder / "problem", files, options, common.private_home(folder), shows=True)
    outcomes = collections.Counter()
    mistakes = 0
    for _, verdict in verdicts:
        kind = pathlib.Path(verdict["candidate"]["name"]).stem.rpartition("_")[0]
        outcomes[kind, verdict["outcome"]] += 1
        if verdict["outcome"] not in (("passed",) if kind == "right" else BAD[kind][1]):
            mistakes += 1
            print(f"{verdict['candidate']['name']}: {common.explain(verdict)}")
    for (kind, outcome), count in sorted(outcomes.items()):
        print(f"{kind}: {outcome} {count}")
    time.sleep(2)
    after = present_state()
    print(f"{len(verdicts)} verdicts in {verdicts[-1][0]:.0f} s, {mistakes} of them others than expected\nbefore {before}\nafter  {after}")
    sys.exit(1 if mistakes or after != before else 0)


if __name__ == "__main__":
    main()
