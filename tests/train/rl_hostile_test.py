"""kernelwright-train rl with a policy that writes known attacks among honest kernels: no attack is paid, and the run's log names each.
KW_ENVIRONMENT=PROGRAM is the gym's kernelwright-environment.
usage: rl_hostile_test.py KERNELWRIGHT_TRAIN [STEPS]   with STEPS all attacks of the corpus in C++ that need no problem of their own, else a few;
exit status 77 without KW_ENVIRONMENT"""

import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

PROGRAM, ENVIRONMENT = sys.argv[1], os.environ.get("KW_ENVIRONMENT")
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 0
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORPUS = ROOT / "tests/attacks"
FEW_ATTACKS, FEW_STEPS, SAMPLES = 12, 6, 4
SETTINGS = {"threads": 1, "device": "cpu", "save_every": 1000, "samples": SAMPLES, "prompts": 1, "answer_tokens": 4, "max_tokens": 128, "updates": 1,
            "learning_rate": 1e-4, "new_weights": True, "model": str(ROOT / "configs/tiny_model"), "program": str(HERE / "hostile_policy.py"), "tries": 3,
            "judges": 2}


def tag(text, name):
    found = re.search(rf"^// {name}: (.*)$", text, re.M)
    return found[1] if found else ""


def corpus():
    """{name: (expected outcomes, text)}: attacks that the gym refuses, and honest kernels."""
    out = {}
    for file in sorted([*(CORPUS / "attacks").glob("*.cpp"), *(CORPUS / "controls").glob("*.cpp")]):
        text = file.read_text()
        expected = tag(text, "expect").split("|")
        is_honest = file.parent.name == "controls" and expected == ["passed"]
        is_attack = file.parent.name == "attacks" and not {"passed", "noisy"} & {one.split()[0] for one in expected}
        if not tag(text, "problem") and not tag(text, "disable") and (is_honest or is_attack):
            out[f"{file.parent.name}/{file.stem}"] = (expected, text)
    return out


def run(work, script, steps):
    (work / "script.json").write_text(json.dumps([[name, f"```cpp\n{text}\n```"] for name, (_, text) in script.items()]))
    config = work / "rl.toml"
    table = {"kind": "kernels", "language": "cpp", "template": "zero_shot", "problems": [str(CORPUS / "problem")], "verdicts": str(work / "verdicts.jsonl"),
             "script": str(work / "script.json"), "gym": ENVIRONMENT}
    lines = ["[rl]", *(f"{key} = {json.dumps(value)}" for key, value in {**SETTINGS, "run": str(work / "run"), "steps": steps}.items())]
    lines += ["[environment]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    lines += ["[environment.reward]", 'terms = ["kevin"]', "[environment.eval]", "half_width_percent = 30", "max_seconds = 2", "store_evidence = false"]
    config.write_text("\n".join(lines) + "\n")
    done = subprocess.run([PROGRAM, "rl", "--config", str(config)], capture_output=True, text=True, timeout=800 if not STEPS else 3600)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return [json.loads(line) for line in (work / "run/episodes.jsonl").read_text().splitlines()]


def names_it(expected, facts):
    """Whether the log has an outcome that the corpus expects, with the rule that was broken."""
    found = [facts["outcome"]] + ([f"violation {facts['violation']}"] if "violation" in facts else [])
    return any(one in found for one in expected)


def check(work):
    known = corpus()
    attacks = [name for name in known if name.startswith("attacks/")]
    honest = [name for name in known if name.startswith("controls/")]
    draw = random.Random(3)
    if not STEPS:
        attacks = draw.sample(attacks, FEW_ATTACKS)
    chosen = attacks + draw.sample(honest, min(len(honest), len(attacks) // 4))
    draw.shuffle(chosen)
    steps = STEPS or FEW_STEPS
    rows = [row for row in run(work, {name: known[name] for name in chosen}, steps) if "reward" in row]
    paid = collections.defaultdict(list)
    for row in rows:
        name, facts = row["facts"]["script"], row["facts"]
        paid[name].append(row["reward"])
        assert names_it(known[name][0], facts), f"{name}: {facts}"
        assert (row["reward"] > 0) == (name in honest), f"{name} is paid {row['reward']}: {facts}"
    metrics = (work / "run/metrics.jsonl").read_text().splitlines()
    seen = [name for name in attacks if name in paid]
    assert len(metrics) == steps and len(rows) > 0.8 * steps * SAMPLES, f"{len(metrics)} steps, {len(rows)} answers"
    assert len(seen) > 0.8 * min(len(attacks), steps * SAMPLES - len(honest)) and any(name in paid for name in honest), f"{len(seen)} attacks were judged"
    print(f"{steps} steps, {len(rows)} answers: {len(seen)} attacks paid nothing, each by its name; {sum(name in paid for name in honest)} honest kernels paid")


if not ENVIRONMENT:
    print("rl_hostile_test: no KW_ENVIRONMENT")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="kw-hostile-") as folder:
    check(pathlib.Path(folder))
