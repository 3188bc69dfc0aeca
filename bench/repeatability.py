#!/usr/bin/env python3
"""Repeatability: one outcome for a candidate, however often it is judged.

    bench/repeatability.py prepare FOLDER [--target cuda] [--mutants FOLDER] [--count 200] [--problems 0]
    bench/repeatability.py calibrate FOLDER [--jobs 8] [--seconds 500]
    bench/repeatability.py judge FOLDER [--times 20] [--jobs 8] [--seconds 500]
    bench/repeatability.py report FOLDER

Candidates are honest kernels, mutants near the error budget (of bench/mutants.py, where its folder is given), and borderline ones: honest kernels whose result is
off in one element of 509, in turn up and down, by a scale that makes the largest error 0.9 to 1.1 budgets. `calibrate` lets the gym measure the budgets at several scales and
chooses by them. --problems draws so many problems and takes all candidates from these: on a GPU a problem takes longer to open than a candidate to judge. `judge` judges each candidate 20 times, as copies that may differ in a comment; it stops at its time limit and goes on where it stopped. `report`
counts outcomes, and the judgements that differ from their candidate's usual outcome: 0.5 % of all may, and none of a candidate whose errors stay 10 % away from
the budget. It counts judgements whose payment differs, too: passed and not borderline against all else. Of the judgements with an error beyond the budget by at most 10 % all
must be called borderline; below it an error may be the baseline comparison's, which does not decide. Exit 1 where something is missed. --target cpu takes references in Python as honest kernels, interpret Triton.
"""

import argparse
import ast
import collections
import json
import math
import pathlib
import random
import sys

import common

ASKED = 0.005  # of all judgements
INSIDE = (0.9, 1.1)  # budgets
COPIES = 10  # more than jobs
TARGETS = (0.9, 0.95, 1.0, 1.05, 1.1)
SCALES = [2.0**-k for k in range(23, 9, -1)]
PLANTED_TRITON = '''

@triton.jit
def planted_kernel(y_ptr, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    chosen = (i % 509 == 3) & (i < n)
    sign = 1.0 - 2.0 * (i // 509 % 2).to(tl.float32)
    y = tl.load(y_ptr + i, mask=chosen, other=0.0)
    tl.store(y_ptr + i, y + y * (sign * SCALE), mask=chosen)


def run({parameters}):
    {call}
    planted_kernel[(triton.cdiv({y}.numel(), 1024),)]({y}, {y}.numel(), SCALE={scale!r}, BLOCK=1024)
    return {result}
'''
PLANTED_PYTHON = '''

def run({parameters}):
    {call}
    flat = {y}.reshape(-1)
    flat[3::1018] *= 1 + {scale!r}
    flat[512::1018] *= 1 - {scale!r}
    return {y}
'''


def definition_of(problem):
    return json.loads((common.ROOT / "problems" / problem / "definition.json").read_text())


def honest(target):
    """[(problem, language, text)]"""
    if target != "cpu":
        return common.honest_kernels(target)
    return [(problem, "python", definition_of(problem)["reference"]) for problem, _, _ in common.honest_kernels("cpu")]


def can_be_planted(problem, language):
    outputs = list(definition_of(problem)["outputs"].values())
    return language != "cuda" and len(outputs) == 1 and outputs[0]["dtype"] == "float32" and len(outputs[0]["shape"] or ()) > 0


def planted(text, scale):
    """The kernel with an error of `scale` in one element of 509."""
    run = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "run")
    names = [argument.arg for argument in run.args.args]
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(run))
    y = "planted_y" if returns else names[-1]
    call = f"{'planted_y = ' if returns else ''}honest_run({', '.join(names)})"
    form = PLANTED_TRITON if "triton.jit" in text else PLANTED_PYTHON
    lines = text.splitlines(keepends=True)
    lines[run.lineno - 1] = lines[run.lineno - 1].replace("def run(", "def honest_run(", 1)
    return "".join(lines) + form.format(parameters=", ".join(names), call=call, y=y, scale=scale, result=y if returns else "None")


def worst_error(verdict):
    """The largest error of all outputs and workloads, in budgets; None where no values were compared."""
    values = [error["max_of_budget"] for part in (verdict, *verdict["workloads"]) for error in part["errors"]]
    numbers = [math.inf if isinstance(value, str) else value for value in values]
    return max(numbers, default=None)


# ---- stages ----
def prepare(options):
    draw = random.Random(options.seed)
    kernels = honest(options.target)
    draw.shuffle(kernels)
    if options.problems:
        fit = sorted({problem for problem, language, _ in kernels if can_be_planted(problem, language)})
        chosen = draw.sample(fit, min(options.problems, len(fit)))
        kernels = [kernel for kernel in kernels if kernel[0] in chosen]
    names = {problem for problem, _, _ in kernels}
    bases = [(problem, language, text) for problem, language, text in kernels if can_be_planted(problem, language)]
    bases = bases[:max(1, 2 * options.count // 5 // len(TARGETS))]
    candidates = []
    if options.mutants:
        compared = {row["name"]: row for row in common.read_rows(options.mutants / "compared.jsonl")}
        near = [(row.get("budgets", math.inf), mutant) for mutant in common.read_rows(options.mutants / "mutants.jsonl")
                if mutant["problem"] in names and (row := compared.get(mutant["name"])) and row["status"] in ("near", "differs") and 0.3 < row.get("budgets", math.inf) < 200]
        near.sort(key=lambda one: abs(math.log(one[0])))
        candidates += [{"name": m["name"], "kind": "near mutant", **{key: m[key] for key in ("problem", "language", "text")}} for _, m in near[:3 * options.count // 10]]
    left = options.count - len(candidates) - len(bases) * len(TARGETS)
    candidates += [{"name": f"{problem}__{language}_honest", "kind": "honest", "problem": problem, "language": language, "text": text}
                   for problem, language, text in kernels[:left]]
    options.folder.mkdir(parents=True, exist_ok=True)
    common.write_rows(options.folder / "candidates.jsonl", candidates)
    common.write_rows(options.folder / "bases.jsonl", [{"problem": p, "language": language, "text": text} for p, language, text in bases])
    (options.folder / "settings.json").write_text(json.dumps({"target": options.target}))
    print(f"{len(candidates)} candidates and {len(bases)} kernels to plant errors in: {dict(collections.Counter(one['kind'] for one in candidates))}")
    return 0


def evaluate(options, name, rows):
    """Verdicts of rows by their name."""
    path = options.folder / f"{name}.solutions.jsonl"
    common.write_rows(path, [common.solution(row["name"], row["problem"], row["language"], row["text"]) for row in rows])
    target = json.loads((options.folder / "settings.json").read_text())["target"]
    common.evaluate_many(options, target, path, options.folder / name)
    return common.verdicts_in(options.folder / name)


def scale_for(errors, wanted):
    """Between the measured (scale, error in budgets), which grow together; None where they do not reach so far."""
    for (low, below), (high, above) in zip(errors, errors[1:]):
        if below <= wanted <= above and 0 < below < above < math.inf:
            share = (math.log(wanted) - math.log(below)) / (math.log(above) - math.log(below))
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    return None


def calibrate(options):
    bases = common.read_rows(options.folder / "bases.jsonl")
    trials = [{"name": f"{base['problem']}__scale_{k}", "problem": base["problem"], "language": base["language"], "text": planted(base["text"], scale)}
              for base in bases for k, scale in enumerate(SCALES)]
    verdicts = evaluate(options, "calibration", trials)
    made = []
    for base in bases:
        errors = [(scale, worst_error(verdict)) for k, scale in enumerate(SCALES) if (verdict := verdicts.get(f"{base['problem']}__scale_{k}"))]
        errors = [one for one in errors if one[1] is not None]
        for wanted in TARGETS:
            if scale := scale_for(errors, wanted):
                made.append({"name": f"{base['problem']}__planted_{100 * wanted:.0f}", "kind": f"planted {wanted}", "problem": base["problem"],
                             "language": base["language"], "text": planted(base["text"], scale)})
    kept = [row for row in common.read_rows(options.folder / "candidates.jsonl") if not row["kind"].startswith("planted")]
    common.write_rows(options.folder / "candidates.jsonl", kept + made)
    print(f"{len(verdicts)} of {len(trials)} scales judged; {len(made)} borderline candidates, {len(kept)} others")
    return 0


def repeated(options):
    """Neighbouring copies of a candidate differ in a comment: the gym gives the judgement of a text that it is judging already to its other copies."""
    rows = common.read_rows(options.folder / "candidates.jsonl")
    return [{**row, "name": f"{row['name']}__time_{time}", "text": f"{row['text']}\n{'//' if row['language'] == 'cuda' else '#'} copy {time % COPIES}\n"}
            for time in range(options.times) for row in rows]


def judge(options):
    rows = repeated(options)
    verdicts = evaluate(options, "verdicts", rows)
    print(f"{len(verdicts)} of {len(rows)} judged")
    return 0


def outcome_of(verdict):
    return verdict["violation"] or verdict["outcome"]


def is_called_borderline(verdict):
    return any("borderline" in workload for workload in verdict["workloads"])


def is_paid(verdict):
    return verdict["outcome"] == "passed" and not is_called_borderline(verdict)


def hidden_shape(verdict):
    """The unannounced shape that the candidate met, by its text's hash; None where it failed before."""
    return next((workload["uuid"] for workload in verdict["workloads"] if workload["uuid"].startswith("hidden ")), None)


def differing(verdicts, finding=outcome_of):
    """Judgements that differ from the usual finding. Copies with another unannounced shape are another candidate, as the shape follows from the text."""
    groups = collections.defaultdict(list)
    for verdict in verdicts:
        groups[hidden_shape(verdict)].append(verdict)
    before = groups.pop(None, [])
    if groups:
        max(groups.values(), key=len).extend(before)
    else:
        groups[None] = before
    return sum(len(own) - max(collections.Counter(map(finding, own)).values()) for own in groups.values())


def report(options):
    verdicts = common.verdicts_in(options.folder / "verdicts")
    rows = []
    for candidate in common.read_rows(options.folder / "candidates.jsonl"):
        own = [verdict for time in range(options.times) if (verdict := verdicts.get(f"{candidate['name']}__time_{time}"))]
        if not own:
            continue
        errors = [error for verdict in own if (error := worst_error(verdict)) is not None]
        near = [verdict for verdict in own if INSIDE[0] <= (worst_error(verdict) or 0) <= INSIDE[1]]
        beyond = [verdict for verdict in near if worst_error(verdict) > 1]
        outcomes = collections.Counter(map(outcome_of, own))
        middle = common.median(errors) if errors else None
        rows.append({"name": candidate["name"], "kind": candidate["kind"], "outcomes": outcomes, "times": len(own), "error": middle,
                     "least": min(errors, default=None), "most": max(errors, default=None), "differ": differing(own),
                     "inside": bool(errors) and min(errors) <= INSIDE[1] and max(errors) >= INSIDE[0],
                     "borderline": sum(map(is_called_borderline, own)), "near": len(near), "near_called": sum(map(is_called_borderline, near)),
                     "beyond": len(beyond), "beyond_called": sum(map(is_called_borderline, beyond)), "paid": sum(map(is_paid, own)), "paid_differ": differing(own, is_paid)})
    total, differ = sum(row["times"] for row in rows), sum(row["differ"] for row in rows)
    if not total:
        print("nothing is judged")
        return 1
    inside = [row for row in rows if row["inside"]]
    outside = [row for row in rows if not row["inside"] and row["differ"]]
    print(f"{len(rows)} candidates, {total} judgements; {differ} differ from their candidate's usual outcome: {100 * differ / total:.2f} % (asked: {100 * ASKED} %)")
    print("| kind | candidates | judgements | differ | candidates with several outcomes | called borderline | paid | payment differs |\n|---|---|---|---|---|---|---|---|")
    for kind in sorted({row["kind"] for row in rows}):
        some = [row for row in rows if row["kind"] == kind]
        print(f"| {kind} | {len(some)} | {sum(r['times'] for r in some)} | {sum(r['differ'] for r in some)} | {sum(len(r['outcomes']) > 1 for r in some)} | "
              f"{sum(r['borderline'] for r in some)} | {sum(r['paid'] for r in some)} | {sum(r['paid_differ'] for r in some)} |")
    near, near_called, beyond, called = (sum(row[key] for row in rows) for key in ("near", "near_called", "beyond", "beyond_called"))
    print(f"candidates whose errors reach within 10 % of the budget: {len(inside)}, {sum(row['differ'] for row in inside)} of their {sum(row['times'] for row in inside)} judgements differ")
    print(f"judgements with an error within 10 % of the budget: {near}, of which {near_called} carry `borderline`; beyond it {beyond}, of which {called} do")
    print(f"judgements that are paid otherwise than their candidate usually is: {sum(row['paid_differ'] for row in rows)}, of candidates that stay 10 % away from the budget "
          f"{sum(row['paid_differ'] for row in rows if not row['inside'])}")
    print(f"other candidates with more than one outcome: {len(outside)}")
    for row in [row for row in rows if row["differ"]]:
        print(f"  {row['name']} ({row['kind']}): {dict(row['outcomes'])}, error {row['least']:.3g} to {row['most']:.3g} budgets, usually {row['error']:.3g}"
              if row["error"] is not None else f"  {row['name']} ({row['kind']}): {dict(row['outcomes'])}")
    common.write_rows(options.folder / "rows.jsonl", rows)
    return 1 if outside or differ > ASKED * total or called < beyond else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_many_options(parser)
    parser.add_argument("stage", choices=["prepare", "calibrate", "judge", "report"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", default="cuda", choices=["cuda", "cpu", "interpret"])
    parser.add_argument("--mutants", type=pathlib.Path, help="a folder of bench/mutants.py, compared")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--problems", type=int, default=0, help="how many; 0: all")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if options.jobs > COPIES:
        parser.error(f"--jobs: at most {COPIES}")
    if options.stage != "prepare" and not (options.folder / "candidates.jsonl").exists():
        sys.exit(f"{options.folder}/candidates.jsonl: missing; `prepare` writes it")
    return globals()[options.stage](options)


if __name__ == "__main__":
    sys.exit(main())
