"""What `kernelwright report --json` says against the same numbers worked out here, from the definitions: exact rationals for pass@k, sums over
binomials for McNemar, the bootstrap and the sign flips with the generator's own words.

usage: equality.py KERNELWRIGHT
exit: 0 equal; 1 not, with the first differences
"""

import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
from fractions import Fraction

import make_runs

MASK = (1 << 64) - 1
P = [0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5]
NORMAL = statistics.NormalDist()


class Xoshiro:
    """xoshiro256++ seeded by SplitMix64."""

    def __init__(self, seed):
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.s.append(z ^ (z >> 31))

    def next(self):
        s = self.s
        rotl = lambda x, k: ((x << k) | (x >> (64 - k))) & MASK  # noqa: E731
        result = (rotl((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)
        return result

    def below(self, bound):
        threshold = ((1 << 64) - bound) % bound
        while (r := self.next()) < threshold:
            pass
        return r % bound


def resamples(n, count):
    rng = Xoshiro(0)
    return [[rng.below(n) for _ in range(n)] for _ in range(count)]


def mean(pairs):
    weight = sum(w for _, w in pairs)
    return sum(v * w for v, w in pairs) / weight if weight > 0 else None


def quantile(values, p):
    at = p * (len(values) - 1)
    low = int(at)
    return values[-1] if low + 1 >= len(values) else values[low] + (at - low) * (values[low + 1] - values[low])


def interval(pairs, draws, share):
    """BCa; exact for shares that are all 0 or all 1."""
    centre = mean(pairs)
    if centre is None:
        return None
    kept = {v for v, w in pairs if w > 0}
    if len(kept) == 1:
        value, n = kept.pop(), sum(1 for _, w in pairs if w > 0)
        edge = 0.025 ** (1 / n)
        if not share or value not in (0, 1):
            return None
        return (0, 1 - edge, "exact") if value == 0 else (edge, 1, "exact")
    means = sorted(m for m in (mean([pairs[i] for i in draw]) for draw in draws) if m is not None)
    tie = 1e-12 * max(1, abs(centre))
    below = sum(1 if m < centre - tie else 0.5 if m <= centre + tie else 0 for m in means)
    bias = NORMAL.inv_cdf(below / len(means)) if 0 < below < len(means) else 0
    without = [m for m in (mean(pairs[:i] + pairs[i + 1 :]) for i in range(len(pairs))) if m is not None]
    middle = sum(without) / len(without)
    squares = sum((middle - m) ** 2 for m in without)
    a = sum((middle - m) ** 3 for m in without) / (6 * squares**1.5) if squares > 0 else 0
    ends = []
    for p in (0.025, 0.975):
        z = bias + NORMAL.inv_cdf(p)
        ends.append(quantile(means, NORMAL.cdf(bias + z / (1 - a * z))))
    return ends[0], ends[1], "bca"


def estimate(pairs, draws, share=True, shape=lambda x: x):
    found = interval(pairs, draws, share)
    out = {"value": shape(mean(pairs) or 0), "low": None, "high": None, "interval": None}
    if found:
        out.update(low=shape(found[0]), high=shape(found[1]), interval=found[2])
    return out


def pass_at_k(n, c, k):
    n = max(n, k)
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def best(attempts):
    timed = [s for ok, s in attempts if ok and s]
    return max(timed, key=lambda s: s["median"]) if timed else None


def of_correct(bests, solved, p, draws):
    return estimate([(float(bool(b) and b["median"] > p), float(ok)) for b, ok in zip(bests, solved)], draws) if any(solved) else None


def quartiles(bests):
    values = sorted(b["median"] for b in bests if b)
    return {name: quantile(values, p) for name, p in (("first", 0.25), ("median", 0.5), ("third", 0.75))} if values else None


STAGES = ["nothing", "extracted", "compiled", "ran", "right_shape", "correct"]


def order(child, parent):
    """1: the child came further; -1: the parent did."""
    stages = [STAGES.index(attempt["stage"]) for attempt in (child, parent)]
    if stages[0] != stages[1]:
        return 1 if stages[0] > stages[1] else -1
    if child["stage"] != "correct" or not child["speedup"] or not parent["speedup"]:
        return 0
    a, b = child["speedup"]["median"], parent["speedup"]["median"]
    return (a > b) - (a < b)


def turns(records, count):
    """What a run whose attempts go on from others has beside the rest, and what all of it cost."""
    draws = resamples(len(records), count)
    last = [record["attempts"][-1] if record["attempts"] else None for record in records]
    over = lambda p: [(float(bool(a) and bool(a["speedup"]) and a["speedup"]["median"] > p), 1) for a in last]  # noqa: E731
    pairs = []
    for record in records:
        by_id = {attempt["id"]: attempt for attempt in record["attempts"]}
        pairs += [order(attempt, by_id[attempt["parent"]]) for attempt in record["attempts"] if attempt["parent"] in by_id]
    steps = [[0, 0, 0, 0] for _ in range(max(len(record["attempts"]) for record in records))]
    for record in records:
        at = [(i, attempt["spent"]) for i, attempt in enumerate(record["attempts"])]
        for i, spent in [*at, (max(len(at) - 1, 0), record["beside"])]:
            for j, amount in enumerate(spent):
                steps[i][j] += amount
    sums = [[sum(step[j] for step in steps[: i + 1]) for j in range(4)] for i in range(len(steps))]
    bests = [best([(a["stage"] == "correct", a["speedup"]) for a in record["attempts"]]) for record in records]
    return {
        "pass_at_k": None,
        "last_attempt": {
            "correctness": estimate([(float(bool(a) and a["stage"] == "correct"), 1) for a in last], draws),
            "fast_p": [{"p": p, **estimate(over(p), draws)} for p in P],
        },
        "refinement": {"improved": pairs.count(1), "unchanged": pairs.count(0), "regressed": pairs.count(-1)},
        "speedup_quartiles": quartiles(bests),
        "tokens": {"prompt": sums[-1][0], "completion": sums[-1][1]},
        "cost_usd": sums[-1][2],
        "attempt_seconds": sums[-1][3],
        "best_so_far": [{"attempt": i + 1, "tokens": s[0] + s[1], "cost_usd": s[2], "attempt_seconds": s[3]} for i, s in enumerate(sums)],
    }


def wins(workloads, count):
    draws = resamples(len(workloads), count)
    return [{"p": p, **estimate([(sum(s > p for s in speedups) / len(speedups), len(speedups)) for speedups in workloads], draws)} for p in P]


def metrics(run, names, count):
    draws = resamples(len(names), count)
    tried = [run.get(name, []) for name in names]
    bests = [best(attempts) for attempts in tried]
    solved = [any(ok for ok, _ in attempts) for attempts in tried]
    shares = lambda values: estimate([(float(v), 1) for v in values], draws)  # noqa: E731
    most = max(len(attempts) for attempts in tried)
    ks = [k for k in (1, 2, 4, 8, 16) if k < most] + [most]
    logs = [math.log(b["median"]) if b else 0 for b in bests]
    return {
        "problems": len(names),
        "unattempted": sum(not attempts for attempts in tried),
        "correctness": shares(solved),
        "fast_p": [{"p": p, "median": shares([bool(b) and b["median"] > p for b in bests]), "low_end": shares([bool(b) and b["low"] > p for b in bests]), "of_correct": of_correct(bests, solved, p, draws)} for p in P],
        "pass_at_k": [{"k": k, **shares([pass_at_k(len(t), sum(ok for ok, _ in t), k) for t in tried]), "short_problems": sum(len(t) < k for t in tried)} for k in ks],
        "geometric_mean": {
            "correct": estimate([(x, float(bool(b))) for x, b in zip(logs, bests)], draws, False, math.exp) if any(bests) else None,
            "timed": sum(bool(b) for b in bests),
            "with_failures": estimate([(x, 1) for x in logs], draws, False, math.exp),
        },
        "speedup_quartiles": quartiles(bests),
        "last_attempt": None,
        "refinement": None,
        "win_at_p": None,
    }


def sign_flips(differences, count):
    kept = [d for d in differences if d != 0]
    observed, rng, as_large = abs(sum(kept)), Xoshiro(0), 0
    for _ in range(count):
        as_large += abs(sum(d if rng.next() >> 63 == 0 else -d for d in kept)) >= observed * (1 - 1e-12)
    return (1 + as_large) / (1 + count)


def comparison(run, baseline, names, count):
    draws = resamples(len(names), count)
    measures = []
    score = {
        "correct": lambda attempts: float(any(ok for ok, _ in attempts)),
        "fast_1": lambda attempts: float(bool(best(attempts)) and best(attempts)["median"] > 1),
        "fast_1_low": lambda attempts: float(bool(best(attempts)) and best(attempts)["low"] > 1),
        "geometric_mean": lambda attempts: math.log(best(attempts)["median"]) if best(attempts) else 0.0,
    }
    for name, of in score.items():
        a, b = [of(run.get(p, [])) for p in names], [of(baseline.get(p, [])) for p in names]
        differences = [x - y for x, y in zip(a, b)]
        ratio = name == "geometric_mean"
        shape = math.exp if ratio else lambda x: x
        row = {"measure": name, "run": shape(sum(a) / len(a)), "baseline": shape(sum(b) / len(b))}
        row["ratio" if ratio else "difference"] = estimate([(d, 1) for d in differences], draws, False, shape)
        if ratio:
            row["p_value"] = sign_flips(differences, count)
        else:
            up, down = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
            row.update(only_run=up, only_baseline=down)
            row["p_value"] = min(1.0, 2 * sum(math.comb(up + down, i) for i in range(min(up, down) + 1)) / 2 ** (up + down))
        measures.append(row)
    order = sorted(range(4), key=lambda i: measures[i]["p_value"])
    largest = 0
    for rank, i in enumerate(order):
        largest = max(largest, measures[i]["p_value"] * (4 - rank))
        measures[i]["p_holm"] = min(1, largest)
    for row in measures:
        difference = row.get("ratio") or row["difference"]
        equal = 1 if "ratio" in row else 0
        low, high = (difference["value"] if difference[end] is None else difference[end] for end in ("low", "high"))
        significant = row["p_holm"] < 0.05
        row["winner"] = "b" if significant and low > equal else "a" if significant and high < equal else None
    return {"problems": len(names), "measures": measures}


def differences(expected, found, where="$"):
    """Whatever is expected must be found; there may be more."""
    if isinstance(expected, dict):
        return [d for key, value in expected.items() for d in differences(value, (found or {}).get(key), f"{where}.{key}")]
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return [f"{where}: {len(expected)} expected, found {found}"]
        return [d for i, value in enumerate(expected) for d in differences(value, found[i], f"{where}[{i}]")]
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return [] if math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-9) else [f"{where}: {expected} expected, found {found}"]
    return [] if expected == found else [f"{where}: {expected!r} expected, found {found!r}"]


def report_of(program, *words):
    return json.loads(subprocess.run([program, "report", *map(str, words), "--json"], check=True, capture_output=True, timeout=900).stdout)


def folders_and_traces(program, names):
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        records = make_runs.solve_folder(folder / "run", 5, names, 0.5, 0.1)
        report = report_of(program, folder / "run")
        wrong += differences(turns([records[p] for p in names], report["resamples"]), report["runs"][0]["metrics"], "a folder of solve")
        best_of = make_runs.trace_file(folder / "t.jsonl", 6, names)
        report = report_of(program, folder / "t.jsonl")
        wrong += differences(wins([best_of[p] for p in names], report["resamples"]), report["runs"][0]["metrics"]["win_at_p"], "traces")
    return wrong


def main():
    program = sys.argv[1]
    names = [f"problem_{i}" for i in range(24)]
    wrong = folders_and_traces(program, names)
    for seed, chances in ((1, (0.35, 0.4)), (2, (0.15, 0.6)), (3, (0.0, 0.5))):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ("a.jsonl", "b.jsonl")]
            runs = [make_runs.verdict_file(path, seed * 10 + i, names[: 20 + 2 * i], chances[i], 0.1 * i) for i, path in enumerate(paths)]
            # The rest was asked too, and has no verdict.
            dataset = pathlib.Path(folder) / "dataset"
            for name in names:
                (dataset / name).mkdir(parents=True)
                definition = {"name": name, "op_type": "test", "axes": {"N": {"type": "var"}}, "inputs": {"x": {"shape": ["N"], "dtype": "float32"}}, "outputs": {"y": {"shape": ["N"], "dtype": "float32"}}, "reference": "def run(x):\n    return x\n"}
                (dataset / name / "definition.json").write_text(json.dumps(definition))
                workload = {"definition": name, "solution": None, "workload": {"uuid": "w", "axes": {"N": 8}, "inputs": {"x": {"type": "random"}}}, "evaluation": None}
                (dataset / name / "workloads.jsonl").write_text(json.dumps(workload) + "\n")
            report = report_of(program, *paths, "--dataset", dataset)
            count = report["resamples"]
            for i, run in enumerate(runs):
                wrong += differences(metrics(run, names, count), report["runs"][i]["metrics"], f"seed {seed}, run {i}")
            wrong += differences(comparison(runs[1], runs[0], names, count), report["comparisons"][0], f"seed {seed}, comparison")
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    print(f"equality: {len(wrong)} differences")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
