"""kernelwright data with the real gym, our own model server and Parquet: killed at any time, gone on with, a full disk.

usage: data_test.py KERNELWRIGHT PROBE [CASE ...]
  KERNELWRIGHT, PROBE: build/dev/bin/kernelwright and kw_lm_probe   CASE: only these, without "case_"
exit: 0 all as expected; 1 not
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "lm")]
import expectations  # noqa: E402
from expectations import expect  # noqa: E402
from model_server import ModelServer  # noqa: E402
from tiny_model import make_model  # noqa: E402

RUN = 'extern "C" void run(const float* x, float* y, int64_t N)'
LOOP = RUN + " {\n  for (int64_t i = 0; i < N; ++i) y[i] = %s;\n}"
RIGHT = LOOP % "x[i] > 0 ? x[i] : 0"
def command(program, *words):
    return [str(program), "data", *map(str, words)]


def data(program, *words, code=0):
    """stdout; another exit code is told."""
    done = subprocess.run(command(program, *words), capture_output=True, text=True, timeout=200)
    expect(done.returncode == code, f"data {words[0]}: exit code {done.returncode}, {done.stderr[-2000:]}")
    return done.stdout + ("" if code == 0 else done.stderr)


def rows(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def write_rows(path, samples):
    path.write_text("".join(json.dumps({**sample, "id": None} if "id" in sample else sample) + "\n" for sample in samples))


def question(program, folder):
    data(program, "import", ROOT / "problems" / "relu", "--language", "cpp", "--out", folder / "question.jsonl", "--replace")
    return rows(folder / "question.jsonl")[0]


def answered(sample, code, **more):
    sample = json.loads(json.dumps(sample))
    sample.pop("id")
    sample["messages"].append({"role": "assistant", "content": f"```cpp\n{code}\n```"})
    return {**sample, **more}


def kill_and_go_on(words, log, seconds):
    """Starts a command again and again, killed after so long each time; False: it was through before."""
    killed = False
    for pause in seconds:
        process = subprocess.Popen(words + (["--resume"] if log.exists() else []), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            process.kill()
            killed = True
        process.wait()
    return killed


def case_filter(program, _, folder):
    """Six answers of mixed quality, one pending; killed, gone on with: the same."""
    base = question(program, folder)
    samples = [answered(base, RIGHT), answered(base, RIGHT + "\n// again"), answered(base, LOOP % "x[i]"),
               answered(base, RUN + " { y[0] = x[0] }"), answered(base, RUN + " { __builtin_trap(); }"),
               answered(base, RIGHT, kind="repair", pending={"previous": f"```cpp\n{LOOP % 'x[i] + 1e-3f'}\n```", "template": "zero_shot"})]
    write_rows(folder / "in.jsonl", samples)
    out = data(program, "filter", folder / "in.jsonl", "--out", folder / "good.jsonl", "--rejected", folder / "bad.jsonl", "--json", "--jobs", 2)
    report = json.loads(out)
    expect(report["outcomes"] == {"compile_error": 1, "passed": 3, "runtime_error": 1, "wrong_value": 1}, f"outcomes {report}")
    good = rows(folder / "good.jsonl")
    expect([row["kind"] for row in good] == ["definition", "definition", "repair"], "what is kept")
    expect("pending" not in good[2] and "1e-3f" in good[2]["messages"][0]["content"] and "wrong" in good[2]["messages"][0]["content"].lower(),
           f"the repair question: {good[2]['messages'][0]['content'][-800:]}")
    evidence = good[0]["verdict"]["evidence"]
    expect(evidence and any(folder.glob(f"data/**/{evidence}")), f"evidence {evidence}")
    words = command(program, "filter", folder / "in.jsonl", "--out", folder / "again.jsonl")
    log = folder / "again.jsonl.log.jsonl"
    kill_and_go_on(words, log, (0.3, 0.8, 1.2))
    expect(not (folder / "again.jsonl").exists() or rows(folder / "again.jsonl") != [], "a half written file")
    done = subprocess.run(words + (["--resume"] if log.exists() else []) + ["--replace"], capture_output=True, text=True, timeout=200)
    expect(done.returncode == 0, f"resumed: {done.stderr}")
    ids = [row["id"] for row in rows(log)[1:]]
    expect(len(ids) == len(set(ids)) == 6, f"findings {ids}")
    again = rows(folder / "again.jsonl")
    # The repair question has what this judgement measured on its own secret inputs.
    expect([row["id"] for row in again][:2] == [row["id"] for row in good][:2] and [row["kind"] for row in again] == [row["kind"] for row in good] and
           all(row["verdict"]["outcome"] == "passed" for row in again), f"the resumed result: {again}")


def case_full_disk(program, _, folder):
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        print("no small disk can be mounted here")
        return
    base = question(program, folder)
    write_rows(folder / "in.jsonl", [{**base, "group": "g" * 200, "origin": {"n": i, "text": "x" * 1000}} for i in range(200)])
    script = 'mkdir -p small && mount -t tmpfs -o size=64k none small && "$@"; code=$?; ls small; exit $code'
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script, "bash", *command(program, "dedup", folder / "in.jsonl", "--by", "answer", "--threshold", 0,
                                                                                 "--out", "small/out.jsonl", "--removed", "small/removed.jsonl")],
                          cwd=folder, capture_output=True, text=True, timeout=60)
    expect(done.returncode in (0, 2), f"exit code {done.returncode}")
    for i in range(200):
        base["messages"][0]["content"] += " word%d" % i
        with open(folder / "distinct.jsonl", "a") as file:
            file.write(json.dumps({**base, "id": None, "language": "cpp", "kind": "chat", "problem": None}) + "\n")
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script, "bash", *command(program, "dedup", folder / "distinct.jsonl", "--threshold", 0,
                                                                                 "--out", "small/out.jsonl")],
                          cwd=folder, capture_output=True, text=True, timeout=60)
    expect(done.returncode == 2 and "No space left on device" in done.stderr, f"a full disk: {done.returncode} {done.stderr}")
    expect(done.stdout == "", f"a full disk leaves {done.stdout}")


def case_teach(program, probe, folder):
    """A tiny random model of ours; killed, gone on with: each question once, and the same answers."""
    base = question(program, folder)
    short = {**base, "kind": "chat", "problem": None, "language": ""}
    write_rows(folder / "in.jsonl", [{**short, "messages": [{"role": "user", "content": f"Question {i}?"}]} for i in range(24)])
    make_model(probe, folder / "model")
    answers = lambda log: {row["key"]: row["answer"] for row in rows(log)[1:]}  # noqa: E731
    with ModelServer(program, folder / "model", "--slots", 4, "--context", 512, "--threads", 1) as server:
        flags = ("--model", server.origin, "--max-tokens", 40, "--slots", 4, "--docs", folder / "docs.txt", "--seed", 3)
        (folder / "docs.txt").write_text("tl.load reads.\n")
        report = json.loads(data(program, "teach", folder / "in.jsonl", "--out", folder / "whole.jsonl", *flags, "--json"))
        expect(report["questions"] == 48 and report["answered"] == 48 and report["prompt_tokens"] > 0, f"{report}")
        words = command(program, "teach", folder / "in.jsonl", "--out", folder / "cut.jsonl", *flags)
        log = folder / "cut.jsonl.log.jsonl"
        kill_and_go_on(words, log, (0.05, 0.15, 0.25))
        done = subprocess.run(words + (["--resume"] if log.exists() else []) + ["--replace"], capture_output=True, text=True, timeout=200)
        expect(done.returncode == 0, f"resumed: {done.stderr}")
        expect(len(rows(log)) == 49 and answers(log) == answers(folder / "whole.jsonl.log.jsonl"), "other answers after a kill")
        expect((folder / "cut.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes(), "another file after a kill")
    out = data(program, "teach", folder / "in.jsonl", "--out", folder / "gone.jsonl", *flags, "--model-name", "model", "--tries", 1, code=2)
    expect("--resume goes on" in out and not (folder / "gone.jsonl").exists(), f"a server that is gone: {out}")


def case_parquet(program, _, folder):
    if not (program.parent / "kernelwright-parquet").exists():
        print("kernelwright-parquet is not built: no Parquet")
        return
    base = question(program, folder)
    write_rows(folder / "in.jsonl", [answered(base, RIGHT + f"\n// {i} é", labels={"operators": ["relu.default"], "tier": i}) for i in range(700)])
    data(program, "export", folder / "in.jsonl", "--out", folder / "release", "--format", "parquet")
    back = data(program, "import", folder / "release" / "data" / "train.parquet", "--out", folder / "back.jsonl", "--json")
    expect(json.loads(back)["samples"] == 700, back)
    expect([row["messages"] for row in rows(folder / "back.jsonl")] == [row["messages"] for row in rows(folder / "in.jsonl")], "messages through Parquet")
    (folder / "bad.parquet").write_text("PAR1")
    out = data(program, "import", folder / "bad.parquet", "--out", folder / "x.jsonl", code=2)
    expect("bad.parquet" in out, out)


def main():
    program, probe = map(pathlib.Path, sys.argv[1:3])
    program, probe = program.resolve(), probe.resolve()
    cases = {name[5:]: function for name, function in globals().items() if name.startswith("case_")}
    for name in sys.argv[3:] or cases:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="kw_data_"))
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        begun = time.monotonic()
        try:
            cases[name](program, probe, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)
    return expectations.exit_code()


sys.exit(main())
