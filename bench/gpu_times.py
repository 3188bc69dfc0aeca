#!/usr/bin/env python3
"""The gym's times of fifty kernels on a GPU, from some microseconds to 20 ms, against CUDA events in a process of torch that launches the same kernels.

    bench/gpu_times.py [--rounds 30] [--max-seconds 2] [--program build/dev/bin/kernelwright]

A kernel is a relu with STEPS multiplications behind each element that change nothing, over each of SIZES. Both sides empty the cache before a call: the
gym as docs/gpu.md says, torch by writing 256 MiB before the first event. Each call of torch has two events of its own; its time is the median. The gym
judges all first, and torch follows on the same GPU. A pair agrees within 2 %, or within 0.3 us. Exit 1 when a kernel is rejected, or fewer than 90 % agree.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import common
from gpu_verdicts import DEFINITION

SIZES = [(64, 1024), (512, 1024), (4096, 1024), (8192, 4096), (65536, 4096)]
STEPS = [0, 4, 16, 32, 64, 128, 256, 512, 1024, 2048]
# Blocks are whole and sizes are not looked at, so that both sides launch the same kernel.
KERNEL = """// launch: {"kernel": "relu", "grid": ["ceil_div(M * N, 1024)"], "block": [256], "arguments": ["x", "y"]}
extern "C" __global__ void relu(const float4* __restrict__ x, float4* __restrict__ y) {
  const unsigned i = blockIdx.x * 256u + threadIdx.x;
  const float one = gridDim.y < 2 ? 1.0f : 2.0f;
  float4 v = x[i];
  for (int step = 0; step < STEPS; ++step) {
    v.x *= one;
    v.y *= one;
    v.z *= one;
    v.w *= one;
  }
  v.x = v.x > 0 ? v.x : 0;
  v.y = v.y > 0 ? v.y : 0;
  v.z = v.z > 0 ? v.z : 0;
  v.w = v.w > 0 ? v.w : 0;
  y[i] = v;
}
"""


def label_of(size):
    return f"{size[0]}x{size[1]}"


def write_problem(folder):
    folder.mkdir()
    lines = []
    for size in SIZES:
        workload = {"uuid": label_of(size), "axes": {"M": size[0], "N": size[1]}, "inputs": {"x": {"type": "random"}}}
        lines.append({"definition": "relu", "solution": None, "workload": workload, "evaluation": None})
    (folder / "definition.json").write_text(json.dumps(DEFINITION))
    (folder / "workloads.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "policy.toml").write_text("schema = 1\n" + "".join(f'[workloads.{label_of(size)}]\ntargets = ["cuda"]\n' for size in SIZES))


def times_of_gym(arguments, folder):
    """{(size, steps): milliseconds}"""
    write_problem(folder / "problem")
    files = [folder / f"relu_{steps}.cu" for steps in STEPS]
    for steps, file in zip(STEPS, files):
        file.write_text(KERNEL.replace("STEPS", str(steps)))
    options = ["--target", "cuda", "--max-seconds", str(arguments.max_seconds)]
    out = {}
    for steps, (_, verdict) in zip(STEPS, common.evaluate(arguments.program, folder / "problem", files, options, common.private_home(folder), shows=True)):
        if verdict["outcome"] not in ("passed", "noisy"):
            sys.exit(f"{steps} steps: {common.explain(verdict)}")
        for workload in verdict["workloads"]:
            if workload["times"]:
                out[workload["uuid"], steps] = workload["times"]["candidate_ms"]
    return out


def times_of_torch(rounds):
    import torch

    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    out = {}
    for steps in STEPS:
        kernel = torch.cuda._compile_kernel(KERNEL.replace("STEPS", str(steps)), "relu")
        for rows, columns in SIZES:
            x = torch.randn(rows, columns, device="cuda")
            y = torch.empty_like(x)
            taken = []
            for number in range(rounds + 3):
                first, second = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                flush.zero_()
                flush.zero_()
                first.record()
                kernel(grid=((rows * columns + 1023) // 1024, 1, 1), block=(256, 1, 1), args=[x, y])
                second.record()
                torch.cuda.synchronize()
                if number >= 3:
                    taken.append(first.elapsed_time(second))
            if not torch.equal(y, torch.relu(x)):
                sys.exit(f"torch's launch of {rows} x {columns}, {steps} steps, is wrong")
            out[label_of((rows, columns)), steps] = statistics.median(taken)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_option(parser)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--max-seconds", type=float, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours = times_of_gym(arguments, pathlib.Path(folder))
    theirs = times_of_torch(arguments.rounds)
    print("| elements | steps | gym, us | events, us | difference |\n|---|---|---|---|---|")
    agreeing = 0
    for key, time in sorted(ours.items(), key=lambda pair: pair[1]):
        apart = 1e3 * (time - theirs[key])
        agrees = abs(apart) <= max(0.3, 0.02 * 1e3 * theirs[key])
        agreeing += agrees
        print(f"| {key[0]} | {key[1]} | {1e3 * time:.2f} | {1e3 * theirs[key]:.2f} | {apart:+.2f} us, {100 * (time / theirs[key] - 1):+.1f} %{'' if agrees else ' *'} |")
    print(f"{agreeing} of {len(ours)} within 2 % or 0.3 us; no time for {len(theirs) - len(ours)}")
    sys.exit(0 if len(ours) == len(theirs) and agreeing >= 0.9 * len(ours) else 1)


if __name__ == "__main__":
    main()
