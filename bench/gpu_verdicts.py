#!/usr/bin/env python3
"""Seconds a verdict on kernels for a GPU, all candidates of a problem in one resident process: a relu of the given numbers of elements
against torch eager. The first verdict opens the problem (torch, reference, admission) and stands by itself.

Each candidate is another text, so that nothing is taken from the cache of builds. Every third one is wrong in one element.
"""

import argparse
import json
import pathlib
import tempfile

import common

KERNEL = """// launch: {"kernel": "relu", "grid": ["ceil_div(M * N, 1024)"], "block": [256]}
extern "C" __global__ void relu(const float4* __restrict__ x, float4* __restrict__ y, long long m, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (4 * i >= m * n) return;
  float4 v = x[i];
  v.x = v.x > 0 ? v.x : 0;
  v.y = v.y > 0 ? v.y : 0;
  v.z = v.z > 0 ? v.z : 0;
  v.w = v.w > 0 ? v.w : 0;
  WRONG
  y[i] = v;
}
// candidate NUMBER
"""
DEFINITION = {
    "name": "relu",
    "op_type": "activation",
    "axes": {"M": {"type": "var"}, "N": {"type": "var"}},
    "inputs": {"x": {"shape": ["M", "N"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}},
    "reference": "import torch\n\n\ndef run(x):\n    return torch.relu(x)\n",
}


def write_problem(folder, rows, columns):
    folder.mkdir(parents=True)
    workload = {"uuid": "main", "axes": {"M": rows, "N": columns}, "inputs": {"x": {"type": "random"}}}
    line = {"definition": "relu", "solution": None, "workload": workload, "evaluation": None}
    (folder / "definition.json").write_text(json.dumps(DEFINITION))
    (folder / "workloads.jsonl").write_text(json.dumps(line) + "\n")
    (folder / "policy.toml").write_text('schema = 1\n[workloads.main]\ntargets = ["cuda"]\n')


def write_candidates(folder, count):
    folder.mkdir(parents=True)
    files = [folder / f"relu_{number}.cu" for number in range(count)]
    for number, file in enumerate(files):
        wrong = "if (i == m * n / 7) v.y += 1;" if number % 3 == 2 else ""
        file.write_text(KERNEL.replace("WRONG", wrong).replace("NUMBER", str(number)))
    return files


def measure(program, rows, columns, count, options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_problem(folder / "problem", rows, columns)
        files = write_candidates(folder / "candidates", count)
        verdicts = common.evaluate(program, folder / "problem", files, options, common.private_home(folder))
    print(f"\n{rows} x {columns}, {rows * columns * 4 / 1e9:.2f} GB of input, {' '.join(options)}")
    before, seconds = 0.0, []
    for number, (at, verdict) in enumerate(verdicts):
        took, before = at - before, at
        cost = {key: round(value) for key, value in verdict.get("cost", {}).items()}
        shown = "first" if number == 0 else "right" if number % 3 != 2 else "wrong"
        print(f"  {shown}: {took:.2f} s, {common.explain(verdict)}, speedup {verdict.get('speedup')}, {cost}")
        if number > 0:
            seconds.append(took)
    if seconds:
        print(f"  seconds a verdict: {common.spread(seconds)}, {60 / common.median(seconds):.0f} a minute")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_option(parser)
    parser.add_argument("--sizes", nargs="+", default=["1024x1024", "4096x4096", "4096x393216"], help="ROWSxCOLUMNS")
    parser.add_argument("--candidates", type=int, default=7)
    parser.add_argument("--max-seconds", default="1")
    parser.add_argument("--no-timing", action="store_true")
    arguments = parser.parse_args()
    options = ["--target", "cuda", *(["--no-timing"] if arguments.no_timing else ["--max-seconds", arguments.max_seconds])]
    for size in arguments.sizes:
        rows, columns = (int(part) for part in size.split("x"))
        measure(arguments.program, rows, columns, arguments.candidates, options)


if __name__ == "__main__":
    main()
