#!/usr/bin/env python3
"""The writer's Triton kernels on tensors of more than 2^31 elements: offsets that do not fit 32 bits, grids of millions of programs.

    bench/triton_large.py prepare FOLDER [--probe build/dev/bin/kw_author_probe]
    bench/triton_large.py run FOLDER [--seconds 400] [NAME ...]

`prepare` needs no GPU: it traces the problems of SIZES and writes a file a strategy. `run` compares each on a GPU with the reference, piece by piece, at the last
elements as well. It needs 60 GiB of device memory. Exit 1: some kernel is wrong.
"""
import argparse
import gc
import json
import os
import sys
import tempfile
import time

import triton_gpu

_OVER = 1 << 31
# Axes whose product is above 2^31 in some tensor; none of them a power of two.
SIZES = {
    "relu": {"N": _OVER + 4099},
    "softmax": {"M": 1048583, "N": 2053},
    "softmax_columns": {"M": 2053, "N": 1048583},
    "rms_norm": {"M": 2097169},
    "layer_norm": {"M": 2097169},
    "mean_columns": {"M": 1048583, "N": 2053},
    "cumsum": {"M": 1048583, "N": 2053},
    "argmax": {"M": 1048583, "N": 2053},
    "argmax_columns": {"M": 2053, "N": 1048583},
    "transpose": {"M": 46349, "N": 46351},
    "nchw_to_nhwc": {"B": 257, "C": 129, "H": 255, "W": 257},
    "embedding": {"T": 8388617},
    "scatter_add_rows": {"T": 8388617},
    "sort_rows": {"M": 16777259, "N": 129},
    "matmul_tall_skinny": {"M": 16777259, "N": 17, "K": 129},
    "batched_matmul": {"B": 131101, "M": 129, "N": 129, "K": 33},
    "conv2d_pointwise": {"B": 259, "H": 255, "W": 257},
    "max_pool2d": {"B": 515, "C": 65, "H": 256, "W": 254, "H_out": 128, "W_out": 127},
    "group_norm": {"B": 515, "H": 257, "W": 255},
    "rotary_embedding": {"T": 1048583, "H": 33},
}


def prepare(options):
    import suite
    import trace_suite
    from triton_equality import Author

    author = Author(os.path.abspath(options.probe))
    os.makedirs(os.path.join(options.folder, "graphs"), exist_ok=True)
    rows = []
    for name, sizes in SIZES.items():
        problem = suite.Definition(name, "cuda")
        axes = trace_suite.axes_of(problem.definition, {"axes": sizes})
        with open(suite.traced(name, options.folder)) as file:
            graph = json.load(file)
        graph["sizes"].update(axes)
        files = {}
        for strategy in triton_gpu.STRATEGIES:
            sized = os.path.join(options.folder, "graphs", "sized.json")
            with open(sized, "w") as file:
                json.dump(graph, file)
            answer = author.ask(graph=sized, language="triton", strategy=strategy)
            if "error" in answer:
                sys.exit(f"{name}: {answer['error']}")
            if answer["source"] not in files.values():
                files[strategy] = answer["source"]
        rows.append({"name": name, "axes": axes, "files": files, "inputs": [item["name"] for item in graph["inputs"]]})
    with open(os.path.join(options.folder, "large.jsonl"), "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    print(f"{len(rows)} problems, {sum(len(r['files']) for r in rows)} kernels")
    return 0


def inputs_of(problem, axes):
    """By name, on the GPU, as the problem's policy has them."""
    generator = triton_gpu.torch.Generator("cuda").manual_seed(1)
    policies = problem.policy.get("inputs", {})
    return {name: triton_gpu.suite.drawn([axes[a] for a in tensor["shape"]], tensor["dtype"], policies.get(name, {}), generator)
            for name, tensor in problem.definition["inputs"].items()}


def wrong_in_pieces(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{list(got.shape)} {got.dtype} instead of {list(want.shape)} {want.dtype}"
    pieces = zip(got.flatten().split(1 << 27), want.flatten().split(1 << 27))
    for number, (g, w) in enumerate(pieces):
        if text := triton_gpu.suite.difference(g, w, None):
            return f"elements from {number << 27} on: {text}"
    return None


def outcome(problem, axes, strategy, source, names, folder):
    torch = triton_gpu.torch
    given = inputs_of(problem, axes)
    elements = max(v.numel() for v in given.values())
    want = triton_gpu.outputs_of(triton_gpu.module_of(problem.source, folder).run, *triton_gpu.arguments_of(problem, given))
    elements = max([elements] + [w.numel() for w in want])
    begun = time.monotonic()
    got = triton_gpu.outputs_of(triton_gpu.module_of(source, folder).run, *[given[name] for name in names])
    torch.cuda.synchronize()
    seconds = time.monotonic() - begun
    texts = [text for g, w in zip(got, want) if (text := wrong_in_pieces(g, w))]
    return elements, seconds, texts[0] if texts else "right"


def run(options):
    with open(os.path.join(options.folder, "large.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    triton_gpu.start()
    torch, end, wrong, counted = triton_gpu.torch, time.monotonic() + options.seconds, 0, 0
    print("| problem | strategy | elements | outcome | s, with compiling |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            problem = triton_gpu.suite.Definition(row["name"], "cuda")
            for strategy, source in row["files"].items():
                if (options.names and row["name"] not in options.names) or time.monotonic() > end:
                    continue
                try:
                    elements, seconds, text = outcome(problem, row["axes"], strategy, source, row["inputs"], folder)
                except Exception as error:
                    elements, seconds, text = 0, 0, f"error: {type(error).__name__}: {str(error)[:200]}"
                gc.collect()
                torch.cuda.empty_cache()
                counted += 1
                wrong += text != "right"
                print(f"| {row['name']} | {strategy} | {elements:,} | {text} | {seconds:.1f} |", flush=True)
    print(f"{counted} of {sum(len(row['files']) for row in rows)} kernels, {wrong} not right")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("prepare")
    one.add_argument("folder")
    one.add_argument("--probe", default="build/dev/bin/kw_author_probe")
    two = kinds.add_parser("run")
    two.add_argument("folder")
    two.add_argument("--seconds", type=float, default=400)
    two.add_argument("names", nargs="*")
    options = parser.parse_args()
    return {"prepare": prepare, "run": run}[options.kind](options)


if __name__ == "__main__":
    sys.exit(main())
