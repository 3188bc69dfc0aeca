"""Runs and data sets as the programs write them, made up from a seed: verdict files of `eval`, a folder of `solve`, samples. For the tests beside this file."""

import hashlib
import json
import math
import pathlib
import random

HOSTILE = "</script></pre></style></title>--><img src=x onerror=document.title='owned'>\"'><svg/onload=document.title='owned'>"
OUTCOMES = [("compile_error", "extracted"), ("wrong_value", "right_shape"), ("runtime_error", "compiled"), ("wrong_shape", "ran"), ("timeout", "compiled")]
CODE = """#include "problem.h"
#include <algorithm>

// Rows in blocks of %d, so that a block stays in the first-level cache.
extern "C" void run(const float* x, float* y, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += %d) {
    const int64_t end = std::min<int64_t>(begin + %d, n);
    for (int64_t i = begin; i < end; ++i) y[i] = std::max(x[i], 0.0f);  // a long line, so that the box of the code has to scroll on a narrow screen
  }
}
"""


def draw_attempt(rng, chance, centre):
    """(outcome, progress, speedup)"""
    if rng.random() >= chance:
        return (*rng.choice(OUTCOMES), None)
    median = math.exp(rng.gauss(centre, 0.35))
    width = rng.uniform(0.01, 0.08)
    return "passed", "correct", {"median": median, "low": median * (1 - width), "high": median * (1 + width)}


def verdict(problem, name, outcome, speedup, diagnostics):
    compat = {"kernelbench": {"compiled": True, "correctness": False, "runtime": -1}, "flashinfer": {"status": "PASSED", "max_relative_error": 0, "max_absolute_error": 0}}
    return {
        "schema": 1, "target": "cpu", "evidence_level": "timed", "problem": {"name": problem, "hash": hashlib.sha256(problem.encode()).hexdigest()},
        "candidate": {"name": name, "hash": hashlib.sha256((problem + name).encode()).hexdigest(), "language": "cpp"},
        "outcome": outcome, "violation": None, "compat": compat, "errors": [], "times": None, "speedup": speedup, "coverage": None, "baseline": "eager",
        "workloads": [], "cost": {"compile_ms": 200, "load_ms": 10, "prepare_ms": 10, "check_ms": 80, "time_ms": 700, "total_ms": 1000},
        "diagnostics": diagnostics, "evidence": None,
    }


def verdict_file(path, seed, problems, chance, centre, samples=8):
    """A file as `eval --out` leaves beside the traces; samples of a problem differ in number. Returns {problem: [(correct, speedup), ...]}."""
    rng = random.Random(seed)
    attempts = {}
    with open(path, "w") as file:
        for problem in problems:
            strength = chance * rng.choice([0, 0.4, 1, 1.6])
            for sample in range(rng.randint(max(1, samples - 2), samples)):
                outcome, _, speedup = draw_attempt(rng, strength, centre)
                if outcome == "passed" and rng.random() < 0.1:
                    speedup = None  # judged without timing
                line = {"schema": 1, "gym_version": 2, "trace_bytes": 0, "judged_with": {}, "verdict": verdict(problem, f"sample_{sample}", outcome, speedup, [])}
                file.write(json.dumps(line) + "\n")
                attempts.setdefault(problem, []).append((outcome == "passed", speedup))
    return attempts


class RunFolder:
    def __init__(self, folder, settings):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        (self.folder / "run.toml").write_text(settings)
        self.events = (self.folder / "events.jsonl").open("w")
        self.at_ms = 0

    def blob(self, text):
        data = text.encode()
        name = hashlib.sha256(data).hexdigest()
        path = self.folder / "blobs" / name[:2] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return name

    def event(self, kind, /, **fields):
        self.at_ms += 40
        self.events.write(json.dumps({"at_ms": self.at_ms, "type": kind, **fields}) + "\n")


def solve_folder(folder, seed, problems, chance, centre, attempts=8, hostile=False):
    """Iterative refinement by a model: each attempt refines an earlier one. With `hostile`, every text tries to be markup.

    Some requests fail at first and cost something, and some answers could not be judged. Returns {problem: {"attempts": those with a result, "beside": what
    the others cost}}, an attempt as {"id", "parent", "stage", "speedup", "spent"}, "spent" as (prompt tokens, completion tokens, cost, seconds).
    """
    rng = random.Random(seed)
    run = RunFolder(folder, '[search]\nmethod = "refine"\nsamples = %d\nseed = %d\nproposer = "model"\n\n[eval]\nbaseline = "eager"\ntarget = "cpu"\n' % (attempts, seed))
    keys = [{"key": p, "name": p, "hash": hashlib.sha256(p.encode()).hexdigest()} for p in problems]
    run.event("run_started", schema=1, version="0.1", gym_version=2, at="2025-01-31T12:00:00Z", command="solve", settings={"eval": {"baseline": "eager", "target": "cpu"}}, problems=keys)
    out = {}
    for problem in problems:
        record = out[problem] = {"attempts": [], "beside": (0, 0, 0, 0)}
        run.event("problem_started", problem=problem)
        best, strength = -1, chance * rng.choice([0.2, 1, 1.5])
        for attempt in range(attempts):
            parent = best if best >= 0 else (attempt - 1 if attempt and rng.random() < 0.5 else -1)
            outcome, progress, speedup = draw_attempt(rng, strength, centre + 0.05 * attempt)
            by = HOSTILE if hostile else "model-7b"
            place = {"problem": problem, "attempt": attempt}
            run.event("decided", **place, visible=attempt, parent=parent, draw=None, seed=attempt, template="refine", prompt=run.blob("[]"))
            code = HOSTILE + "\n" + CODE % (256, 256, 256) if hostile else CODE % ((64 << attempt,) * 3)
            failed = {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0}
            if rng.random() < 0.2:
                failed = {"prompt_tokens": rng.randint(900, 2500), "completion_tokens": rng.randint(1, 500), "cost_usd": 0.25}
                run.event("failed", **place, stage="propose", number=1, code="unavailable", message="cut", again=True, kind="cut", **failed, estimated=False)
            finish = rng.choice(["stop", "stop", "stop", "length"])
            answer = run.blob((HOSTILE if hostile else "Let me think about this problem.\n") + code)
            used = {"prompt_tokens": rng.randint(900, 2500), "completion_tokens": rng.randint(200, 2000), "cost_usd": 0.5}
            answer_ms, judge_ms = rng.randint(2000, 9000), rng.randint(900, 3000)
            run.event("answered", **place, by=by, label="", answer=answer, finish=finish, **used, wall_ms=answer_ms, reasoning=run.blob(HOSTILE if hostile else "Rows fit the cache.") if attempt % 2 else "", suspicion="")
            spent = (*(used[key] + failed[key] for key in used), answer_ms / 1000)
            if finish == "length":
                run.event("extracted", **place, candidate="", candidate_hash="", why_not="the answer was cut before its code ended")
                record["attempts"].append({"id": attempt, "parent": parent, "stage": "nothing", "speedup": None, "spent": spent})
                continue
            candidate = {"name": f"a{attempt}", "author": "model", "description": "", "definition": problem, "language": "cpp", "files": [{"path": "kernel.cpp", "content": code}]}
            run.event("extracted", **place, candidate=run.blob(json.dumps(candidate)), candidate_hash=f"{attempt}", why_not="")
            if rng.random() < 0.06:
                run.event("failed", **place, stage="judge", number=4, code="unavailable", message="no space left", again=False, kind="", prompt_tokens=0, completion_tokens=0, cost_usd=0, estimated=False)
                record["beside"] = tuple(a + b for a, b in zip(record["beside"], spent))
                continue
            message = HOSTILE if hostile else {"compile_error": "kernel.cpp:7:14: error: 'y' was not declared in this scope", "wrong_value": "y: 37 of 4096 elements are off by more than the budget; the worst by 12.3 times", "passed": "memory-bound: 71 % of the machine's bandwidth"}.get(outcome, "the candidate was ended by signal 11")
            kind = {"compile_error": "compiler", "wrong_value": "mismatch", "passed": "hint"}.get(outcome, "exception")
            text = json.dumps(verdict(problem, f"a{attempt}", outcome, speedup, [{"kind": kind, "message": message}]))
            run.event("judged", **place, outcome=outcome, violation="", progress=progress, error=None, speedup=speedup, verdict=run.blob(text), same_as=-1, wall_ms=judge_ms)
            record["attempts"].append({"id": attempt, "parent": parent, "stage": progress, "speedup": speedup, "spent": (*spent[:3], spent[3] + judge_ms / 1000)})
            if outcome == "passed" and best < 0:
                best = attempt
        run.event("problem_ended", problem=problem, end="attempts", reason="", best=best, wall_s=60)
    run.event("run_ended")
    run.events.close()
    return out


def trace_file(path, seed, problems):
    """FlashInfer-Bench's traces of two authors. Returns {problem: the best speedup of each workload, 0 where nobody is correct}."""
    rng = random.Random(seed)
    best = {}
    with open(path, "w") as file:
        for problem in problems:
            best[problem] = []
            for number in range(rng.randint(1, 5)):
                workload = {"uuid": f"{problem}-{number}", "axes": {"N": 8}, "inputs": {"x": {"type": "random"}}}
                factors = []
                for author in ("one", "two"):
                    passed, factor = rng.random() < 0.6, math.exp(rng.gauss(0.2, 0.5))
                    evaluation = {"status": "PASSED" if passed else "RUNTIME_ERROR", "environment": {"hardware": "a machine", "libs": {}}, "timestamp": "2025-01-31T12:00:00Z", "log": ""}
                    if passed:
                        factors.append(factor)
                        evaluation["correctness"] = {"max_relative_error": 0, "max_absolute_error": 0, "extra": None}
                        evaluation["performance"] = {"latency_ms": 1, "reference_latency_ms": factor, "speedup_factor": factor}
                    file.write(json.dumps({"definition": problem, "workload": workload, "solution": author, "evaluation": evaluation}) + "\n")
                best[problem].append(max(factors, default=0))
    return best


def data_set(path, seed, samples):
    """Samples of a generator, judged. Some of the names try to be markup."""
    rng = random.Random(seed)
    name = lambda text: text if rng.random() < 0.9 else HOSTILE  # noqa: E731
    operators = [f"operator_{i}.default" for i in range(50)]
    with open(path, "w") as file:
        for i in range(samples):
            depth = min(8, 1 + int(rng.expovariate(0.5)))
            line = {
                "schema": 1, "kind": rng.choice(["implement", "implement", "convert", "repair"]), "group": f"g{i}", "language": rng.choice(["cpp", "triton"]),
                "problem": {"name": f"p{i // 2}", "hash": f"h{i // 2}", "form": "module", "source": ""},
                "messages": [{"role": "user", "content": "q" * int(rng.lognormvariate(7, 0.5))}, {"role": "assistant", "content": "a" * int(rng.lognormvariate(8, 1))}],
                "origin": {"generator": name("writer"), "seed": seed, "index": i, "licences": [name(rng.choice(["MIT", "Apache-2.0"]))]},
                "labels": {
                    "operators": [name(operators[min(49, int(rng.expovariate(0.1)))]) for _ in range(depth)], "strategy": name(rng.choice(["naive", "blocked"])),
                    "tier": rng.randint(1, 5), "depth": depth, "family": name(rng.choice(["convolution", "product", "reduction"])),
                    "template": name("implement-1"), "mutation": name(rng.choice(["no_bias", "loop_too_far"])),
                },
                "verdict": {"outcome": rng.choice(["passed"] * 9 + ["wrong_value"])},
            }
            file.write(json.dumps(line) + "\n")
