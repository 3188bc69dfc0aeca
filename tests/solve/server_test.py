"""kernelwright solve against servers: our own with a model of random weights, and one that misbehaves by a plan.

usage: server_test.py KERNELWRIGHT PROBE FAULTS [CASE ...]
  KERNELWRIGHT, PROBE, FAULTS: build/dev/bin/kernelwright, kw_lm_probe and kw_server_faults   CASE: only these, without "case_"
exit: 0 all as expected; 1 not
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "lm")]
import expectations  # noqa: E402
from expectations import PATIENCE, expect  # noqa: E402
from model_server import ModelServer  # noqa: E402
from tiny_model import make_model  # noqa: E402

PROBLEM = ROOT / "problems" / "relu"
RUN = 'extern "C" void run(const float* x, float* y, int64_t N)'
LOOP = RUN + " {\n  for (int64_t i = 0; i < N; ++i) y[i] = %s;\n}"
RIGHT = LOOP % "x[i] > 0 ? x[i] : 0"
# What the client calls what the server does.
KINDS = {"busy": "rate_limited", "error": "server_error", "reset": "connection", "cut": "cut", "cut_body": "cut", "malformed": "malformed"}
QUICK = ("--no-timing", "--retry-seconds", 0.1, "--no-evidence")


def fenced(code):
    return f"```cpp\n{code}\n```"


def right(mark):
    return fenced(RIGHT + f"  // {mark}")


def says(text, finish="stop", do="stream"):
    return {"do": do, "text": text, "finish": finish}


class Faults:
    """kw_server_faults with its plan. asked: a row for each request so far."""

    def __init__(self, program, plan, folder):
        path = folder / "plan.json"
        path.write_text(json.dumps(plan))
        self.asked = []
        self.process = subprocess.Popen([str(program), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.origin = self.process.stdout.readline().strip()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.asked.append(json.loads(line))

    def release(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.reader.join()
        self.process.stdout.close()


def start(program, *words):
    return subprocess.Popen([str(program), "solve", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    """(exit code, stdout, stderr)"""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, err


def solve(program, *words):
    return ended(start(program, *words))


def events(run, kind=None):
    path = run / "events.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [event for event in map(json.loads, lines) if kind in (None, event["type"])]


def blob(run, name):
    return (run / "blobs" / name[:2] / name).read_text()


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def check_log(run, attempts):
    """Each attempt decided, answered and read once, each candidate judged once."""
    for kind in ("decided", "answered", "extracted"):
        found = sorted(event["attempt"] for event in events(run, kind))
        expect(found == list(range(attempts)), f"attempts {kind}: {found}")
    candidates = {event["attempt"]: event["candidate_hash"] for event in events(run, "extracted") if event["candidate"]}
    judged = events(run, "judged")
    expect(sorted(event["attempt"] for event in judged) == sorted(candidates), f"judged: {judged}")
    own = [candidates[event["attempt"]] for event in judged if event["same_as"] < 0]
    expect(sorted(own) == sorted(set(candidates.values())), f"candidates judged: {own}")


def answers(run):
    return {event["attempt"]: blob(run, event["answer"]) for event in events(run, "answered")}


def case_our_own_server(program, probe, _, folder):
    """Nothing that a model of random weights writes is a kernel: the run ends, and says so."""
    model = make_model(probe, folder / "tiny", context=8192)
    run = folder / "random"
    with ModelServer(program, model, "--slots", 4, "--context", 8192, "--threads", 1) as server:
        code, out, err = solve(program, PROBLEM, "--model", server.origin, "--samples", 6, "--max-tokens", 40, *QUICK, "--run", run, "--json")
        sampled = server.metrics()["kw_lm_sampled_tokens_total"]
    expect(code == 1, f"exit code {code}: {err}")
    row = json.loads(out)
    expect(row["best"] is None and row["attempts"] == 6 and row["correct"] == 0 and row["end"] == "attempts", f"the row: {row}")
    check_log(run, 6)
    answered = events(run, "answered")
    expect(sum(event["completion_tokens"] for event in answered) == sampled, f"tokens: {answered}, the server counts {sampled}")
    expect(all(event["by"] == "tiny" for event in answered), f"by: {answered}")
    reasons = [event["why_not"] for event in events(run, "extracted")]
    expect(all(reasons), f"why there is no code: {reasons}")
    report = subprocess.run([str(program), "report", str(run), "--json"], capture_output=True, text=True, timeout=PATIENCE)
    expect(report.returncode == 0, f"the report: {report.stderr}")
    found = json.loads(report.stdout)["runs"][0]["metrics"]
    expect(found["correctness"]["value"] == 0 and found["attempts"]["total"] == 6, f"the report: {found}")
    cut = sum(event["finish"] == "length" for event in answered)
    expect(found["outcomes"] == {name: count for name, count in (("cut_answer", cut), ("no_code", 6 - cut)) if count}, f"the report's reasons: {found}")


def case_misbehaving(program, _, faults, folder):
    """All that goes wrong may pass: every attempt has its answer in the end, and no other."""
    same = right("same")
    plan = [
        [says(same)],
        [{"do": "busy"}, {"do": "busy"}, says(right("busy"), do="answer")],
        [{"do": "error"}, says(fenced(LOOP % "x[i]"))],
        [says(right("hang"), do="hang")],
        [{"do": "cut"}, says(same)],
        [{"do": "malformed"}, says(fenced(RUN + " { y[0] = x[0] }"))],
        [says("")],
        [says("```cpp\n" + RIGHT[:60], "length")],
        [says("<|im_start|>assistant\n" + right("template") + "<|im_end|>")],
        [{"do": "reset"}, {"do": "error"}, says(same)],
        [{"do": "cut_body"}, says(right("cut"), do="answer")],
    ]
    run = folder / "run"
    with Faults(faults, plan, folder) as server:
        process = start(program, PROBLEM, "--model", server.origin, "--samples", len(plan), "--parallel", len(plan), *QUICK, "--run", run, "--json")
        others = len(plan) - 1
        expect(wait_until(lambda: len(events(run, "extracted")) >= others or process.poll() is not None), "the others go on while one is slow")
        expect(len(events(run, "answered")) == others and process.poll() is None, "a slow answer is waited for")
        server.release()
        code, out, err = ended(process)
    expect(code == 0, f"exit code {code}: {err}")
    row = json.loads(out)
    expect((row["attempts"], row["extracted"], row["compiled"], row["correct"]) == (11, 9, 8, 7), f"the row: {row}")
    check_log(run, len(plan))
    by_seed = {entry["seed"]: plan[entry["row"]] for entry in server.asked}
    expect(len(server.asked) == sum(map(len, plan)), f"requests: {server.asked}")
    attempts = {event["attempt"]: by_seed[event["seed"]] for event in events(run, "decided")}
    expect({number: steps[-1]["text"] for number, steps in attempts.items()} == answers(run), "each attempt has the answer that it was given")
    told = {event["attempt"]: event for event in events(run, "answered")}
    for number, steps in attempts.items():
        expect(told[number]["finish"] == steps[-1]["finish"], f"attempt {number}: {told[number]}")
        label = "template" if "<|im_start|>" in steps[-1]["text"] else "empty" if not steps[-1]["text"] else ""
        expect(label in told[number]["suspicion"] and bool(label) == bool(told[number]["suspicion"]), f"attempt {number}'s suspicion: {told[number]}")
    # Outcomes by what the plan says of the attempt.
    judged = {event["attempt"]: event["outcome"] for event in events(run, "judged")}
    for number, steps in attempts.items():
        text = steps[-1]["text"]
        want = None if not text or steps[-1]["finish"] == "length" else "wrong_value" if "= x[i];" in text else "compile_error" if "x[0] }" in text else "passed"
        expect(judged.get(number) == want, f"attempt {number} is {judged.get(number)}, not {want}: {text}")
    failed = {number: [KINDS[step["do"]] for step in steps[:-1]] for number, steps in attempts.items() if len(steps) > 1}
    found = collections.defaultdict(list)
    for event in events(run, "failed"):
        expect(event["stage"] == "propose" and event["again"], f"a failure: {event}")
        found[event["attempt"]].append(event["kind"])
    expect(found == failed, f"failures in the log: {dict(found)}, not {failed}")
    counts = collections.Counter(kind for kinds in failed.values() for kind in kinds)
    expect(row["failures_by_kind"] == counts and row["failures"] == counts.total(), f"failures in the row: {row}, not {dict(counts)}")
    expect(row["odd_answers"] == {"empty": 1, "length": 1, "template_tokens": 1}, f"odd answers: {row['odd_answers']}")


def case_gone(program, _, faults, folder):
    """A server that gives no answer: the problem ends as failed, and a resumed run goes on with it."""
    plan = [[says(right("first"))], [{"do": "error"}] * 3 + [says(right("second"))], [says(right("third"))]]
    run = folder / "run"
    with Faults(faults, plan, folder) as server:
        flags = ("--samples", 3, "--parallel", 1, "--jobs", 1, "--tries", 3, *QUICK)
        code, out, err = solve(program, PROBLEM, "--model", server.origin, *flags, "--run", run, "--json")
        expect(code == 2, f"exit code {code}: {err}")
        row = json.loads(out)
        expect(row["end"] == "failed" and "500" in row["reason"] and row["correct"] == 1, f"the row: {row}")
        expect(len(server.asked) == 4, f"a request is made --tries times: {server.asked}")
        code, out, err = solve(program, "--resume", "--run", run, "--json")
        expect(code == 0, f"resumed: {code}: {err}")
        expect(json.loads(out)["correct"] == 3, f"resumed: {out}")
    check_log(run, 3)
    expect([entry["row"] for entry in server.asked] == [0, 1, 1, 1, 1, 2], f"asked: {server.asked}")


def case_refused(program, _, faults, folder):
    """What no further try can mend is not tried again."""
    for step, said in (({"do": "no_key"}, "no such key"), ({"do": "refused"}, "too long a prompt")):
        run = folder / step["do"]
        with Faults(faults, [[step]], folder) as server:
            code, out, err = solve(program, PROBLEM, "--model", server.origin, "--samples", 1, *QUICK, "--run", run, "--json")
        expect(code == 2 and said in out + err, f"{step['do']}: {code}: {out} {err}")
        expect(len(server.asked) == 1, f"{step['do']}: asked {server.asked}")
        expect([event["again"] for event in events(run, "failed")] == [False], f"{step['do']}: {events(run, 'failed')}")


def case_retry_after(program, _, faults, folder):
    """A server that says when to come back is asked no sooner, whatever --retry-seconds says; others go on meanwhile."""
    plan = [[{"do": "busy"}, says(right("first"))]]
    run = folder / "run"
    with Faults(faults, plan, folder) as server:
        code, out, err = solve(program, PROBLEM, "--model", server.origin, "--method", "base", "--no-timing", "--no-evidence", "--retry-seconds", 0, "--run", run, "--json")
    expect(code == 0, f"exit code {code}: {err}")
    expect(len(server.asked) == 2 and server.asked[1]["at_s"] - server.asked[0]["at_s"] > 0.95, f"asked: {server.asked}")
    expect(json.loads(out)["failures_by_kind"] == {"rate_limited": 1}, f"the row: {out}")


def case_prompt_echo(program, _, faults, folder):
    """A server that continues the prompt: its example's code is no answer, and the row and the report say what it is."""
    run = folder / "run"
    with Faults(faults, [[{"do": "echo", "text": "\n" + RUN + " {}"}]], folder) as server:
        code, out, err = solve(program, PROBLEM, "--model", server.origin, "--method", "base", "--template", "one_shot", *QUICK, "--run", run, "--json")
    expect(code == 1, f"exit code {code}: {err} {out}")
    row = json.loads(out)
    expect(row["odd_answers"] == {"prompt_echo": 1} and row["correct"] == 0, f"the row: {row}")
    expect([event["suspicion"] for event in events(run, "answered")] == ["prompt_echo"], f"answered: {events(run, 'answered')}")
    report = subprocess.run([str(program), "report", str(run)], capture_output=True, text=True, timeout=PATIENCE)
    extracted = events(run, "extracted")[0]
    expect("prompt_echo" in report.stdout or extracted["candidate"], f"the report: {report.stdout}")


def lines_of(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_at(process, log, lines):
    """kill -9 when the log has so many lines."""
    reached = wait_until(lambda: lines_of(log) >= lines or process.poll() is not None)
    expect(reached and process.poll() is None, f"not killed at line {lines}: {process.poll()}")
    process.kill()
    ended(process)


def case_killed(program, _, faults, folder):
    """Killed at every few lines of the log: what was answered is asked no more, what was judged is judged no more."""
    plan = [[says(right(i))] for i in range(3)] + [[{"do": "cut"}, says(fenced(LOOP % "x[i]"))], [says("none")], [says(right(0))]]
    run = folder / "run"
    with Faults(faults, plan, folder) as server:
        process = start(program, PROBLEM, "--model", server.origin, "--samples", len(plan), "--parallel", 1, "--jobs", 1, *QUICK, "--run", run)
        cuts = lines_at_start = 0
        log = run / "events.jsonl"
        for line in (4, 8, 12, 16):
            kill_at(process, log, max(line, lines_at_start + 1))  # each process has written something
            lines_at_start = lines_of(log)
            cuts += 1
            process = start(program, "--resume", "--run", run, "--json")
        code, out, err = ended(process)
    expect(code == 0, f"resumed: {code}: {err}")
    row = json.loads(out)
    expect((row["attempts"], row["correct"]) == (6, 4), f"the row: {row}")
    check_log(run, len(plan))
    expect(len(events(run, "run_resumed")) == cuts, "resumed as often as killed")
    once = sum(map(len, plan))
    expect(once <= len(server.asked) <= once + cuts, f"a request in flight is lost with each kill at most: {server.asked}")


def main():
    programs = [pathlib.Path(path).resolve() for path in sys.argv[1:4]]
    cases = {name[5:]: function for name, function in globals().items() if name.startswith("case_")}
    os.environ.pop("KERNELWRIGHT_API_KEY", None)
    for name in sys.argv[4:] or cases:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="kw_server_"))
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        begun = time.monotonic()
        try:
            cases[name](*programs, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)
    return expectations.exit_code()


if __name__ == "__main__":
    sys.exit(main())
