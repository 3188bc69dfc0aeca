#!/usr/bin/env python3
"""Whether admission gives the same answer each time: small modules with scalar, boolean, index and float8 outputs are checked
several times, each time with nothing cached.

    bench/admission_repeat.py [--repeats 10] [--jobs 2] [--kind scalar] [--folder tests/writer/modules] [--suite problems] [--out FILE] [--seconds S]

The modules are those of the table below, those of --folder, or all problems of --suite, of any form. Every round checks all of them, modules in an order
of its own, with `kernelwright problems check` and an empty cache. An answer is the verdict with its reasons by name. Exit 1 when a module has
two answers. --seconds ends the run after the round in which they are over; the rounds that were made are printed.
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from common import ROOT, add_program_option, private_home

X = "torch.randn(64, 128)"
XY = f"{X}, {X}"
POSITIVE = "torch.rand(64, 128) + 0.1"
LABELS = "torch.randint(0, 128, (64,))"
WHOLE = "torch.randint(0, 100, (64, 128))"

# Kind: {name: (inputs, parameters of forward, result)}. F is torch.nn.functional.
MODULES = {
    "scalar": {
        "mean": (X, "x", "x.mean()"),
        "sum_relu": (X, "x", "x.relu().sum()"),
        "variance": (X, "x", "x.var()"),
        "largest": (X, "x", "x.max()"),
        "frobenius": (X, "x", "torch.linalg.norm(x)"),
        "logsumexp_all": (X, "x", "x.flatten().logsumexp(0)"),
        "mse": (XY, "x, y", "F.mse_loss(x, y)"),
        "l1": (XY, "x, y", "F.l1_loss(x, y)"),
        "smooth_l1": (XY, "x, y", "F.smooth_l1_loss(x, y)"),
        "huber": (XY, "x, y", "F.huber_loss(x, y, delta=0.5)"),
        "cross_entropy": (f"{X}, {LABELS}", "x, t", "F.cross_entropy(x, t)"),
        "cross_entropy_smooth": (f"{X}, {LABELS}", "x, t", "F.cross_entropy(x, t, label_smoothing=0.1)"),
        "nll": (f"{X}, {LABELS}", "x, t", "F.nll_loss(x.log_softmax(-1), t)"),
        "kl": (XY, "x, y", "F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean')"),
        "bce_logits": (f"{X}, torch.rand(64, 128).round()", "x, z", "F.binary_cross_entropy_with_logits(x, z)"),
        "hinge": (f"{X}, torch.rand(64, 128).round() * 2 - 1", "x, z", "(1 - x * z).clamp(min=0).mean()"),
        "poisson_nll": (f"{X}, {POSITIVE}", "x, y", "F.poisson_nll_loss(x, y)"),
        "gaussian_nll": (f"{XY}, {POSITIVE}", "x, y, v", "F.gaussian_nll_loss(x, y, v)"),
        "triplet": (f"{XY}, {X}", "x, y, z", "F.triplet_margin_loss(x, y, z)"),
        "cosine_mean": (XY, "x, y", "F.cosine_similarity(x, y).mean()"),
        "correlation": (XY, "x, y", "torch.corrcoef(torch.stack([x.flatten(), y.flatten()]))[0, 1]"),
        "total_variation": (X, "x", "(x[1:] - x[:-1]).abs().mean() + (x[:, 1:] - x[:, :-1]).abs().mean()"),
        "dice": ("torch.rand(64, 128), torch.rand(64, 128).round()", "x, z", "1 - 2 * (x * z).sum() / (x.sum() + z.sum() + 1)"),
        "contrastive": (XY, "x, y", "F.cross_entropy(F.normalize(x) @ F.normalize(y).T / 0.1, torch.arange(64))"),
    },
    "boolean": {
        "greater": (XY, "x, y", "x > y"),
        "positive": (X, "x", "x > 0"),
        "finite": (X, "x", "torch.isfinite(x)"),
        "any_positive": (X, "x", "(x > 0).any(-1)"),
        "any_large": (X, "x", "(x > 2.5).any(-1)"),
        "any_rare": (X, "x", "(x > 4.2).any(-1)"),
        "all_below": (X, "x", "(x < 2.5).all(-1)"),
        "all_of_all": (X, "x", "(x < 4.0).all()"),
        "equal_whole": (f"{WHOLE}, {WHOLE}", "x, y", "x == y"),
        "is_even": (WHOLE, "x", "x % 2 == 0"),
        "close": (XY, "x, y", "torch.isclose(x, y, atol=0.5)"),
        "close_rows": (XY, "x, y", "torch.isclose(x, y, atol=0.02).any(-1)"),
        "above_mean": (X, "x", "x > x.mean(-1, keepdim=True)"),
        "in_range": (X, "x", "(x > -1) & (x < 1)"),
        "first_wins": (X, "x", "x[:, 0] > x[:, 1:].amax(-1)"),
        "sorted_rows": (X, "x", "(x[:, 1:] >= x[:, :-1]).all(-1)"),
        "same_sign": (XY, "x, y", "torch.signbit(x) == torch.signbit(y)"),
    },
    "index": {
        "argmax": (X, "x", "x.argmax(-1)"),
        "argmin": (X, "x", "x.argmin(-1)"),
        "argmax_all": (X, "x", "x.argmax()"),
        "argmax_softmax": (X, "x", "x.softmax(-1).argmax(-1)"),
        "argsort": (X, "x", "x.argsort(-1)"),
        "argsort_ties": (WHOLE, "x", "torch.argsort(x, dim=-1, stable=True)"),
        "top_3": (X, "x", "x.topk(3).indices"),
        "top_3_both": (X, "x", "tuple(x.topk(3))"),
        "median_place": (X, "x", "x.median(-1).indices"),
        "kth_place": (X, "x", "x.kthvalue(5, -1).indices"),
        "cummax_place": (X, "x", "x.cummax(-1).indices"),
        "nearest": (f"{X}, torch.randn(32, 128)", "x, c", "torch.cdist(x, c).argmin(-1)"),
        "bucket": (X, "x", "torch.bucketize(x, torch.linspace(-2, 2, 9))"),
        "search": ("torch.randn(64, 128).sort(-1).values, torch.randn(64, 8)", "s, x", "torch.searchsorted(s, x)"),
        "count_positive": (X, "x", "(x > 0).sum(-1)"),
        "count_all": (X, "x", "(x > 2.0).sum()"),
        "histogram": (WHOLE, "x", "torch.bincount(x.flatten(), minlength=100)"),
        "quantized": (X, "x", "(x * 8).round().clamp(-127, 127).to(torch.int8)"),
        "ranks": (X, "x", "x.argsort(-1).argsort(-1)"),
    },
    # A trivial answer is right on a share of the draws: between 0.6 and 0.9 either verdict is right, and it is the same one.
    "borderline": {
        "none_is_7_of_200": ("torch.randint(0, 200, (4, 8))", "x", "(x != 7).all()"),
        "none_is_7_of_120": ("torch.randint(0, 120, (4, 8))", "x", "(x != 7).all()"),
        "none_is_7_of_80": ("torch.randint(0, 80, (4, 8))", "x", "(x != 7).all()"),
        "none_is_7_of_60": ("torch.randint(0, 60, (4, 8))", "x", "(x != 7).all()"),
        "first_below_75": ("torch.randint(0, 100, (8,))", "x", "x[0] < 75"),
        "first_below_80": ("torch.randint(0, 100, (8,))", "x", "x[0] < 80"),
        "first_below_70": ("torch.randint(0, 100, (8,))", "x", "x[0] < 70"),
        "uniform_below_77": ("torch.rand(8)", "x", "x[3] < 0.77"),
        "uniform_below_72": ("torch.rand(8)", "x", "(x[3] < 0.72).to(torch.int32)"),
        "normal_below": ("torch.randn(8)", "x", "x[0] < 0.75"),
        "count_of_rare": ("torch.randint(0, 100, (4, 8))", "x", "(x == 7).sum()"),
        "float8_of_rare": ("torch.randint(0, 100, (4, 8))", "x", "(x == 7).sum().to(torch.float8_e4m3fn)"),
        "coarse_mean": ("torch.randn(64)", "x", "(x.mean() * 3).round()"),
        "coarse_mean_8": ("torch.rand(64)", "x", "(x.mean() * 8).to(torch.float8_e4m3fn)"),
        "coarse_float8": ("torch.rand(16)", "x", "x.mean().to(torch.float8_e5m2)"),
        "most_frequent": ("torch.randint(0, 3, (9,))", "x", "torch.bincount(x, minlength=3).argmax()"),
        "argmax_skewed": ("torch.rand(4) + torch.tensor([0.5, 0.0, 0.0, 0.0])", "x", "x.argmax()"),
        "not_of_70": ("torch.rand(1) < 0.70", "x", "~x"),
        "not_of_75": ("torch.rand(1) < 0.75", "x", "~x"),
        "not_of_77": ("torch.rand(1) < 0.77", "x", "~x"),
        "not_of_80": ("torch.rand(1) < 0.80", "x", "~x"),
        "not_of_85": ("torch.rand(1) < 0.85", "x", "~x"),
        "any_of_77": ("torch.rand(8) < 0.17", "x", "x.any()"),
        "any_of_72": ("torch.rand(8) < 0.147", "x", "x.any()"),
        "place_of_7": ("torch.randint(0, 100, (4, 8))", "x", "(x == 7).any(-1).any(-1).to(torch.int64)"),
    },
    "float8": {
        "cast": (X, "x", "x.to(torch.float8_e4m3fn)"),
        "cast_wide": (X, "x", "x.to(torch.float8_e5m2)"),
        "scaled_all": (X, "x", "(x * (448 / x.abs().amax())).to(torch.float8_e4m3fn)"),
        "scaled_rows": (X, "x", "(x * (448 / x.abs().amax(-1, keepdim=True))).to(torch.float8_e4m3fn)"),
        "scaled_both": (X, "x", "(lambda s: ((x / s).to(torch.float8_e4m3fn), s))(x.abs().amax(-1, keepdim=True) / 448)"),
        "relu": (X, "x", "x.relu().to(torch.float8_e4m3fn)"),
        "gelu": (X, "x", "F.gelu(x).to(torch.float8_e4m3fn)"),
        "tanh": (X, "x", "x.tanh().to(torch.float8_e5m2)"),
        "add": (XY, "x, y", "(x + y).to(torch.float8_e4m3fn)"),
        "gated": (XY, "x, y", "(F.silu(x) * y).to(torch.float8_e4m3fn)"),
        "softmax": (X, "x", "x.softmax(-1).to(torch.float8_e4m3fn)"),
        "rms_norm": (X, "x", "F.rms_norm(x, (128,)).to(torch.float8_e4m3fn)"),
        "layer_norm": (X, "x", "F.layer_norm(x, (128,)).to(torch.float8_e5m2)"),
        "matmul": ("torch.randn(64, 32), torch.randn(32, 64)", "x, y", "(x @ y).to(torch.float8_e4m3fn)"),
        "row_means": (X, "x", "x.mean(-1).to(torch.float8_e4m3fn)"),
        "one_mean": (X, "x", "(x.mean() * 100).to(torch.float8_e4m3fn)"),
        "signs": (X, "x", "x.sign().to(torch.float8_e4m3fn)"),
    },
}

TEXT = """import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, {parameters}):
        return {result}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def write_modules(folder, kinds):
    """{name: path} of files that `problems check` reads."""
    files = {}
    for kind in kinds:
        for name, (inputs, parameters, result) in MODULES[kind].items():
            files[f"{kind}_{name}"] = folder / f"{kind}_{name}.py"
            files[f"{kind}_{name}"].write_text(TEXT.format(inputs=inputs, parameters=parameters, result=result))
    return files


def answer_of(record):
    """The verdict with what decided it, without numbers."""
    return " ".join([record["verdict"], record["cause"], *sorted(record["names"]), *sorted(record["failing"])]).strip()


def check(program, problems, jobs, home):
    """The records of one run from nothing cached, and what it said."""
    command = [program, "problems", "check", str(problems), "--json", "--jobs", str(jobs)]
    done = subprocess.run(command, env=private_home(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def check_modules(program, files, jobs, folder, seed):
    """{name: (answer, reason)} of modules in an order drawn by the seed."""
    names = sorted(files)
    random.Random(seed).shuffle(names)
    for place, name in enumerate(names):
        (folder / f"{place:03}_{name}.py").symlink_to(files[name])
    records, said = check(program, folder, jobs, folder)
    found = {record["name"].split("_", 1)[1]: (answer_of(record), record["reason"]) for record in records}
    missing = sorted(set(files) - set(found))
    if missing:
        sys.exit(f"no answer for {', '.join(missing)}: {said[-2000:]}")
    return found


def check_suite(program, suite, jobs, folder):
    """{name: (answer, reason)} of all problems of a folder."""
    records, said = check(program, suite, jobs, folder)
    if not records:
        sys.exit(f"no answer for {suite}: {said[-2000:]}")
    return {record["name"]: (answer_of(record), record["reason"]) for record in records}


def print_table(kinds, answers):
    print("| kind | modules | admitted | quarantined | two answers |\n|---|---|---|---|---|")
    for kind, names in kinds.items():
        sets = [set(answers[name]) for name in names]
        same = [next(iter(one)) for one in sets if len(one) == 1]
        admitted = sum(one.startswith("admitted") for one in same)
        print(f"| {kind} | {len(names)} | {admitted} | {len(same) - admitted} | {len(sets) - len(same)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kind", action="append", choices=list(MODULES), help="these alone")
    parser.add_argument("--folder", type=pathlib.Path, help="modules of this folder instead of the table's")
    parser.add_argument("--suite", type=pathlib.Path, help="all problems of this folder instead")
    parser.add_argument("--out", type=pathlib.Path, help="write every answer with its reason here, a line of JSON each")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    arguments = parser.parse_args()
    started = time.monotonic()
    answers, reasons = collections.defaultdict(list), collections.defaultdict(dict)
    with tempfile.TemporaryDirectory(prefix="kw-admission-") as place:
        scratch = pathlib.Path(place)
        if arguments.suite:
            files, kinds = {}, {}
        elif arguments.folder:
            files = {path.stem: path.resolve() for path in sorted(arguments.folder.glob("*.py"))}
            kinds = {arguments.folder.name: list(files)}
        else:
            names = arguments.kind or list(MODULES)
            files = write_modules(scratch, names)
            kinds = {kind: [f"{kind}_{name}" for name in MODULES[kind]] for kind in names}
        rounds = 0
        while rounds < arguments.repeats and time.monotonic() - started < arguments.seconds:
            folder = scratch / f"round_{rounds}"
            folder.mkdir()
            found = (check_suite(arguments.program, arguments.suite, arguments.jobs, folder) if arguments.suite
                     else check_modules(arguments.program, files, arguments.jobs, folder, rounds))
            for name, (answer, reason) in found.items():
                answers[name].append(answer)
                reasons[name].setdefault(answer, reason)
                if arguments.out:
                    with arguments.out.open("a") as out:
                        out.write(json.dumps({"round": rounds, "name": name, "answer": answer, "reason": reason}) + "\n")
            rounds += 1
            print(f"round {rounds} after {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print_table(kinds or {arguments.suite.name: list(answers)}, answers)
    differing = {name: collections.Counter(given) for name, given in answers.items() if len(set(given)) > 1}
    for name, counts in sorted(differing.items()):
        for answer, count in counts.most_common():
            print(f"{name}: {count} of {rounds}: {answer}: {reasons[name][answer]}")
    print(f"{len(answers)} problems, {rounds} rounds, {time.monotonic() - started:.0f} s: {len(differing)} with two answers")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
