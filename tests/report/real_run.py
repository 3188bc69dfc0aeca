"""Reports of runs that `kernelwright solve` made with the real gym, from recorded answers of mixed quality: the code is there, and why attempts failed.

usage: real_run.py KERNELWRIGHT
exit: 0 fine; 1 not
"""

import html
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROBLEM = pathlib.Path(__file__).resolve().parents[2] / "problems" / "relu"
HEAD = 'extern "C" void run(const float* x, float* y, int64_t N)'
RIGHT = "#include <cstdint>\n#include <algorithm>\n" + HEAD + " {\n  for (int64_t i = 0; i < N; ++i) y[i] = std::max(x[i], 0.0f);  // the right one, if <x> & y\n}"
WRONG = HEAD + " {\n  for (int64_t i = 0; i < N; ++i) y[i] = x[i] + 4;  // the wrong one\n}"
BROKEN = HEAD + " { y[0] = x[0] }  // the broken one"
NO_CODE = "I would use a loop."


class Checks:
    def __init__(self):
        self.failed = 0

    def expect(self, good, what):
        if not good:
            self.failed += 1
            print(what, file=sys.stderr)


def fenced(code):
    return f"```cpp\n{code}\n```"


def run(command, environment, codes=(0,)):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode not in codes:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def solve(program, folder, name, answers, environment, *options):
    """answers: (text, suspicion, finish)"""
    path = folder / f"{name}.jsonl"
    lines = [{"problem": "relu", "attempt": i, "answer": text, "suspicion": suspicion, "finish": finish, "by": "recorded-model"} for i, (text, suspicion, finish) in enumerate(answers)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [program, "solve", str(PROBLEM), "--answers", str(path), "--samples", str(len(answers)), "--method", "best_of_n", "--no-timing", "--run", str(folder / name), *options]
    run(command, environment, codes=(0, 1))
    return str(folder / name)


def check_mixed(checks, program, mixed, folder, environment):
    report = json.loads(run([program, "report", mixed, "--json"], environment))["runs"][0]
    metrics, best = report["metrics"], report["problems"][0]["best"]
    checks.expect(report["kind"] == "solve" and report["finished"] and not report["notes"], f"json: {report['kind']}, {report['finished']}, {report['notes']}")
    events = (pathlib.Path(mixed) / "events.jsonl").read_text().splitlines()
    hardware = json.loads(events[0])["hardware"]
    checks.expect(hardware and (report["baseline"], report["target"], report["hardware"]) == ("eager", "cpu", hardware), f"json: {report['baseline']}, {report['target']}, {report['hardware']}")
    checks.expect(best and best["code"] == RIGHT + "\n" and best["code_left_out"] == 0 and best["language"] == "cpp", f"json: the best is {best}")
    checks.expect(metrics["outcomes"] == {"passed": 1, "wrong_value": 1, "compile_error": 1, "no_code": 2, "cut_answer": 1}, f"json: outcomes {metrics['outcomes']}")
    reasons = {row["reason"]: row["count"] for row in metrics["failures"]}
    for reason, times in (("wrong_value", 1), ("compile_error", 1), ("no_code: the answer has no code block", 2), ("(prompt_echo)", 1), ("cut_answer: the answer was cut off", 1)):
        checks.expect(sum(reason in known for known in reasons) == times, f"json: {reason} in {reasons}")
    checks.expect(sum(reasons.values()) == 5, f"json: {reasons}")
    # A suspicious answer is a sample too: 1 of 6 is right.
    checks.expect(report["independent"] and metrics["pass_at_k"] and abs(metrics["pass_at_k"][0]["value"] - 1 / 6) < 1e-9, f"json: pass@k {metrics['pass_at_k']}")

    page = folder / "mixed.html"
    text = run([program, "report", mixed, "--html", str(page)], environment)
    for line in ("baseline     eager", "target       cpu", "wrong_value", "no_code: the answer has no code block", "pass@1       16.7 %"):
        checks.expect(line in text, f"text: {line} is not in\n{text}")
    shown = page.read_text()
    for code in (RIGHT, WRONG, BROKEN, NO_CODE):
        checks.expect(html.escape(code, quote=True) in shown, f"page: without {code}")
    checks.expect("<p class=\"soft\">report</p>" not in shown, "page: it could not read a blob")
    checks.expect("expected &#39;;&#39;" in shown or "expected ‘;’" in shown, "page: without what the compiler said")
    checks.expect("no_code: the answer has no code block" in shown and "Speedups are over: eager." in shown, "page: without reasons or baseline")


def check_nothing_correct(checks, program, poor, environment):
    text = run([program, "report", poor], environment)
    checks.expect("correct      0.0 %" in text, text)
    for reason in ("2  no_code: the answer has no code block", "1  compile_error", "1  wrong_value"):
        checks.expect(reason in text, f"text: {reason} is not in\n{text}")


def check_other_baseline(checks, program, mixed, other, environment):
    report = json.loads(run([program, "report", mixed, other, "--json"], environment))
    warnings = report["comparisons"][0]["warnings"]
    checks.expect(len(warnings) == 1 and "compile and eager" in warnings[0], f"warnings: {warnings}")
    checks.expect("warning      the runs' baselines differ" in run([program, "report", mixed, other], environment), "text: no warning")


def main():
    program, checks = sys.argv[1], Checks()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1"}
        good = (fenced(RIGHT), "", "stop")
        bad = [(fenced(WRONG), "", "stop"), (fenced(BROKEN), "", "stop"), (NO_CODE, "", "stop")]
        mixed = solve(program, folder, "mixed", [good, *bad, (NO_CODE, "prompt_echo", "stop"), ("```cpp\n" + RIGHT[:80], "", "length")], environment)
        poor = solve(program, folder, "poor", [*bad, (NO_CODE, "", "stop")], environment)
        other = solve(program, folder, "other", [good], environment, "--set", "eval.baseline=compile")
        check_mixed(checks, program, mixed, folder, environment)
        check_nothing_correct(checks, program, poor, environment)
        check_other_baseline(checks, program, mixed, other, environment)
    print(f"real_run: {checks.failed} failures")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
