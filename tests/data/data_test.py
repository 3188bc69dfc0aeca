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
from expectations import PATIENCE, expect  # noqa: E402
from model_server import ModelServer  # noqa: E402
from tiny_model import make_model  # noqa: E402

RUN = 'extern "C" void run(const float* x, float* y, int64_t N)'
LOOP = RUN + " {\n  for (int64_t i = 0; i < N; ++i) y[i] = %s;\n}"
RIGHT = LOOP % "x[i] > 0 ? x[i] : 0"


def command(program, *words):
    return [str(program), "data", *map(str, words)]


def data(program, *words, code=0):
    """stdout; another exit code is told."""
    done = subprocess.run(command(program, *words), capture_output=True, text=True, timeout=PATIENCE)
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


def lines_of(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_and_go_on(words, log, lines):
    """kill -9 each time the log has so many lines, and then to the end; the sessions before the last were all killed."""
    for number in lines:
        before = lines_of(log)
        process = subprocess.Popen(words + (["--resume"] if log.exists() else []), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while lines_of(log) < max(number, before + 1) and process.poll() is None:
            time.sleep(0.001)
        process.kill()
        err = process.communicate()[1]
        expect(process.returncode == -9, f"not killed at line {number} of the log, which has {lines_of(log)}: {process.returncode} {err}")
    done = subprocess.run(words + ["--resume"], capture_output=True, text=True, timeout=PATIENCE)
    expect(done.returncode == 0, f"resumed: {done.stderr}")


def on_a_small_disk(words, folder, log, kept):
    """The command with its log on a disk too small for it: told, nothing is written but the log, of which a copy is kept."""
    script = 'mkdir -p small && mount -t tmpfs -o size=8k none small && "$@" --log small/log.jsonl; code=$?; cp small/log.jsonl "$KEPT"; exit $code'
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script, "bash", *words], cwd=folder, env={**os.environ, "KEPT": str(kept)},
                          capture_output=True, text=True, timeout=PATIENCE)
    expect(done.returncode == 2 and "No space left on device" in done.stderr, f"a full disk: {done.returncode} {done.stderr}")
    expect(done.stdout == "" and not log.exists(), f"a full disk leaves {done.stdout}")
    expect(kept.read_bytes().endswith(b"\n") and lines_of(kept) > 1, f"the log on a full disk: {kept.read_bytes()[-100:]}")


def small_disks():
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0:
        return True
    print("no small disk can be mounted here")
    return False


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
    words = command(program, "filter", folder / "in.jsonl", "--out", folder / "again.jsonl", "--rejected", folder / "bad_again.jsonl")
    log = folder / "again.jsonl.log.jsonl"
    kill_and_go_on(words, log, (1, 3))
    ids = [row["id"] for row in rows(log)[1:]]
    expect(len(ids) == len(set(ids)) == 6, f"findings {ids}")
    again = rows(folder / "again.jsonl")
    # The repair question has what this judgement measured on its own secret inputs.
    expect([row["id"] for row in again][:2] == [row["id"] for row in good][:2] and [row["kind"] for row in again] == [row["kind"] for row in good] and
           all(row["verdict"]["outcome"] == "passed" for row in again), f"the resumed result: {again}")
    told = lambda name: [(row["id"], row["outcome"]) for row in rows(folder / name)]  # noqa: E731
    expect(told("bad_again.jsonl") == told("bad.jsonl"), f"the rejected after kills: {rows(folder / 'bad_again.jsonl')}")
    # As a kill leaves it between the names of the rejected and of the result.
    before = (folder / "again.jsonl").read_bytes()
    (folder / "again.jsonl").rename(folder / "again.jsonl.partial")
    done = subprocess.run(words + ["--resume"], capture_output=True, text=True, timeout=PATIENCE)
    expect(done.returncode == 0 and (folder / "again.jsonl").read_bytes() == before, f"between the two names: {done.returncode} {done.stderr}")


def case_filter_full_disk(program, _, folder):
    """A full disk for the log: what is in it is not judged again."""
    if not small_disks():
        return
    base = question(program, folder)
    samples = [answered(base, "") for _ in range(60)]  # without code: no judge is needed, which does not run as this root
    for i, sample in enumerate(samples):
        sample["messages"][-1]["content"] = f"I cannot do it, for reason {i}."
    samples += [answered(base, RIGHT), answered(base, LOOP % "x[i]")]
    write_rows(folder / "in.jsonl", samples)
    words = command(program, "filter", folder / "in.jsonl", "--out", folder / "good.jsonl", "--rejected", folder / "bad.jsonl", "--replace")
    kept = folder / "kept.jsonl"
    on_a_small_disk(words, folder, folder / "good.jsonl", kept)
    before = kept.read_text()
    done = subprocess.run([*words, "--json", "--log", str(kept), "--resume"], capture_output=True, text=True, timeout=PATIENCE)
    expect(done.returncode == 0, f"resumed: {done.stderr}")
    report = json.loads(done.stdout)
    expect(report["outcomes"] == {"no_code": 60, "passed": 1, "wrong_value": 1} and report["earlier"] == before.count("\n") - 1, f"resumed: {report}")
    ids = [row["id"] for row in rows(kept)[1:]]
    expect(kept.read_text().startswith(before) and len(ids) == len(set(ids)) == 62, f"findings {ids}")
    expect(len(rows(folder / "good.jsonl")) == 1 and len(rows(folder / "bad.jsonl")) == 61, "what is written after a full disk")


def case_full_disk(program, _, folder):
    """No space for the result, or for the lines beside it: told, and nothing is left."""
    if not small_disks():
        return
    base = {**question(program, folder), "kind": "chat", "problem": None, "language": ""}
    asked = lambda text: {**base, "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]}  # noqa: E731
    # Distinct ones fill the result; equal ones are small, and a line each in the file of what was taken out.
    write_rows(folder / "distinct.jsonl", [asked("".join(f" word{i}_{j}" for j in range(100))) for i in range(200)])
    write_rows(folder / "equal.jsonl", [asked("Is it?") for _ in range(2000)])
    (folder / "bench").mkdir()
    shutil.copy(ROOT / "src" / "task" / "testdata" / "19_ReLU.py", folder / "bench")
    script = 'mkdir -p small && mount -t tmpfs -o size=64k none small && "$@"; code=$?; ls small; exit $code'
    for words in (("dedup", folder / "distinct.jsonl", "--threshold", 0, "--out", "small/out.jsonl"),
                  ("dedup", folder / "equal.jsonl", "--threshold", 0, "--out", "small/out.jsonl", "--removed", "small/removed.jsonl"),
                  ("decontaminate", folder / "distinct.jsonl", "--against", folder / "bench", "--out", "small/out.jsonl"),
                  ("import", folder / "distinct.jsonl", "--out", "small/out.jsonl"),
                  ("split", folder / "distinct.jsonl", "--out", "small/split"),
                  ("export", folder / "distinct.jsonl", "--out", "small/release"),
                  ("generate", "--count", 100, "--out", "small/out.jsonl")):
        done = subprocess.run(["unshare", "-rm", "bash", "-c", script, "bash", *command(program, *words)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 2 and "No space left on device" in done.stderr, f"{words[0]} on a full disk: {done.returncode} {done.stderr}")
        left = done.stdout.split()
        expect(left == (["out.jsonl.partial"] if words[0] == "generate" else []), f"{words[0]} on a full disk leaves {left}")


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
        kill_and_go_on(words, log, (1, 9, 15, 20))
        expect(len(rows(log)) == 49 and answers(log) == answers(folder / "whole.jsonl.log.jsonl"), "other answers after a kill")
        expect((folder / "cut.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes(), "another file after a kill")
        if small_disks():
            kept, words = folder / "kept.jsonl", command(program, "teach", folder / "in.jsonl", "--out", folder / "full.jsonl", *flags)
            on_a_small_disk(words, folder, folder / "full.jsonl", kept)
            before = kept.read_text()
            done = subprocess.run([*words, "--log", str(kept), "--resume"], capture_output=True, text=True, timeout=PATIENCE)
            expect(done.returncode == 0, f"resumed: {done.stderr}")
            expect(kept.read_text().startswith(before) and len(rows(kept)) == 49, "answers after a full disk")
            expect((folder / "full.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes(), "another file after a full disk")
    out = data(program, "teach", folder / "in.jsonl", "--out", folder / "gone.jsonl", *flags, "--model-name", "model", "--tries", 1, code=2)
    expect("--resume goes on" in out and not (folder / "gone.jsonl").exists(), f"a server that is gone: {out}")


def case_parquet(program, _, folder):
    if not (program.parent / "kernelwright-parquet").exists():
        print("kernelwright-parquet is not built: no Parquet")
        return
    base = question(program, folder)
    write_rows(folder / "in.jsonl", [answered(base, RIGHT + f"\n// {i} é", labels={"operators": ["relu.default"], "tier": i}) for i in range(700)])
    data(program, "export", folder / "in.jsonl", "--out", folder / "release", "--format", "parquet")
    import pyarrow.parquet
    table = pyarrow.parquet.read_table(folder / "release" / "data" / "train.parquet")
    column = lambda name: table.column(name).to_pylist()  # noqa: E731
    expect(table.num_rows == 700 and column("tier") == list(range(700)), f"{table.num_rows} rows by pyarrow")
    expect(str(table.schema.field("messages").type) == "list<element: struct<role: string, content: string>>", f"messages are {table.schema.field('messages').type}")
    expect([json.loads(text)["operators"] for text in column("labels")] == column("operators") == [["relu.default"]] * 700, "labels by pyarrow")
    expect([json.loads(text) for text in column("problem_workloads")] == [base["problem"]["workloads"]] * 700 and column("speedup") == [None] * 700,
           f"a row by pyarrow: {table.slice(0, 1).to_pylist()}")
    back = data(program, "import", folder / "release" / "data" / "train.parquet", "--out", folder / "back.jsonl", "--json")
    expect(json.loads(back)["samples"] == 700, back)
    expect([row["messages"] for row in rows(folder / "back.jsonl")] == [row["messages"] for row in rows(folder / "in.jsonl")], "messages through Parquet")
    (folder / "bad.parquet").write_text("PAR1")
    out = data(program, "import", folder / "bad.parquet", "--out", folder / "x.jsonl", code=2)
    expect("bad.parquet" in out, out)


def book_row(number, **other):
    """A row with KernelBook's columns."""
    code = ("import torch\n\n\nclass Gate(torch.nn.Module):\n    def __init__(self, size):\n        super().__init__()\n        self.size = size\n\n"
            f"    def forward(self, x):\n        return x * {number}\n\n\ndef get_inputs():\n    return [torch.rand([4, 4])]\n\n\n"
            "def get_init_inputs():\n    return [[], {'size': 4}]\n")
    row = {"repo_name": f"owner/repo{number}", "entry_point": "Gate", "module_name": "Gate", "uuid": number, "synthetic": False, "stars": 7, "forks": None,
           "python_code": code, "triton_code": "import torch\n\n\nclass GateNew(torch.nn.Module):\n    pass\n", "licenses": ["MIT"],
           "sha": "0" * 40, "repo_link": f"https://example.org/{number}"}
    return {**row, **other}


def case_import_kernelbook(program, _, folder):
    """Parquet with lists, nulls and whole numbers."""
    if not (program.parent / "kernelwright-parquet").exists():
        print("kernelwright-parquet is not built: no Parquet")
        return
    import pyarrow
    import pyarrow.parquet
    book = [book_row(0), book_row(1, licenses=["MIT", "Apache-2.0"]), book_row(2, licenses=["GPL-3.0"]), book_row(3, licenses=None), book_row(4, licenses=[]),
            book_row(5, triton_code=None), book_row(6, python_code=None), book_row(7, entry_point="Other"), book_row(2**53 + 1, stars=None, repo_name=None)]
    schema = pyarrow.schema([(name, kind) for name, kind in (
        ("repo_name", pyarrow.string()), ("entry_point", pyarrow.string()), ("module_name", pyarrow.string()), ("uuid", pyarrow.int64()),
        ("synthetic", pyarrow.bool_()), ("stars", pyarrow.int64()), ("forks", pyarrow.int64()), ("python_code", pyarrow.string()),
        ("triton_code", pyarrow.string()), ("licenses", pyarrow.list_(pyarrow.string())), ("sha", pyarrow.string()), ("repo_link", pyarrow.string()))])
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(book, schema), folder / "book.parquet", row_group_size=4)
    out = data(program, "import", folder / "book.parquet", "--licence", "MIT", "--licence", "Apache-2.0", "--dataset", "KernelBook", "--out", folder / "book.jsonl",
               "--rejected", folder / "no.jsonl", "--json")
    expect(json.loads(out)["samples"] == 3 and json.loads(out)["refused"] == 6, out)
    got = rows(folder / "book.jsonl")
    expect([(row["origin"]["row"], row["origin"]["uuid"], row["origin"]["licences"], row["origin"].get("repo_name")) for row in got] ==
           [(1, 0, ["MIT"], "owner/repo0"), (2, 1, ["MIT", "Apache-2.0"], "owner/repo1"), (9, 2**53 + 1, ["MIT"], None)], f"origins: {[row['origin'] for row in got]}")
    expect("class Model(torch.nn.Module)" in got[1]["problem"]["source"] and "x * 1\n" in got[1]["problem"]["source"] and
           got[1]["problem"]["source"].endswith("return [4]\n"), f"the module: {got[1]['problem']['source']}")
    expect(all("class ModelNew" in row["messages"][-1]["content"] for row in got), "the answers")
    refused = [(row["row"].rpartition(":")[2], row["error"]) for row in rows(folder / "no.jsonl")]
    expect([number for number, _ in refused] == ["3", "4", "5", "6", "7", "8"], f"refused: {refused}")
    for (_, error), part in zip(refused, ("GPL-3.0", "no licence", "no licence", "triton_code", "python_code", "Other")):
        expect(part in error, f"{part} is not in: {error}")


def case_import_flashinfer(program, _, folder):
    """Definitions with solutions; workloads whose inputs are in a file are left out, and a definition that has no others is refused."""
    bench = folder / "bench"
    for kind in ("definitions", "workloads", "solutions"):
        (bench / kind / "activation").mkdir(parents=True)
    definition = json.loads((ROOT / "problems" / "relu" / "definition.json").read_text())
    for name, source in (("relu", {"type": "random"}), ("filed", {"type": "safetensors", "path": "blob/x.safetensors", "tensor_key": "x"}), ("lone", {"type": "random"})):
        (bench / "definitions" / "activation" / f"{name}.json").write_text(json.dumps({**definition, "name": name}))
        inputs = [source] if name != "lone" else [source, {"type": "safetensors", "path": "blob/x.safetensors", "tensor_key": "x"}]
        workloads = [{"uuid": f"5cad92c2-deb8-403a-8c4c-db241eb3d29{i}", "axes": {"N": 64}, "inputs": {"x": one}} for i, one in enumerate(inputs)]
        (bench / "workloads" / "activation" / f"{name}.jsonl").write_text(
            "".join(json.dumps({"definition": name, "solution": None, "workload": one, "evaluation": None}) + "\n" for one in workloads))
    for name, code in (("a", RIGHT), ("b", LOOP % "x[i] * (x[i] > 0)")):
        solution = {"name": name, "definition": "relu", "author": "someone", "description": "", "sources": [{"path": "kernel.cpp", "content": code}],
                    "spec": {"language": "cpp", "target_hardware": ["CPU"], "entry_point": "kernel.cpp::run", "dependencies": []}}
        (bench / "solutions" / "activation" / f"{name}.json").write_text(json.dumps(solution))
    out = json.loads(data(program, "import", bench, "--language", "cpp", "--out", folder / "out.jsonl", "--rejected", folder / "no.jsonl", "--json"))
    expect((out["samples"], out["answered"], out["refused"], out["workloads_in_files"]) == (3, 2, 1, 1), f"{out}")
    got = {(row["problem"]["name"], row["origin"].get("solution")): row for row in rows(folder / "out.jsonl")}
    expect(set(got) == {("lone", None), ("relu", "a"), ("relu", "b")}, f"samples: {set(got)}")
    expect([one["uuid"][-1] for one in got["lone", None]["problem"]["workloads"]] == ["0"], f"workloads: {got['lone', None]['problem']['workloads']}")
    expect(RIGHT in got["relu", "a"]["messages"][-1]["content"] and got["relu", "a"]["origin"]["author"] == "someone", f"{got['relu', 'a']}")
    refused = rows(folder / "no.jsonl")
    expect(len(refused) == 1 and "filed" in refused[0]["error"] and "stands alone" in refused[0]["error"], f"refused: {refused}")


def case_import_golden(program, _, folder):
    """Chats and KernelBench's rows, byte by byte; KW_ACCEPT=1 writes the golden file."""
    here = pathlib.Path(__file__).parent
    golden = here / "import_golden.jsonl"
    data(program, "import", here / "import_rows.jsonl", "--dataset", "golden", "--out", folder / "out.jsonl", "--rejected", folder / "no.jsonl")
    got = (folder / "out.jsonl").read_text() + "".join(json.dumps({"error": row["error"]}) + "\n" for row in rows(folder / "no.jsonl"))
    if os.environ.get("KW_ACCEPT") == "1":
        golden.write_text(got)
    expect(got == golden.read_text(), f"another import: {got}")


def case_graph_rule(program, _, folder):
    """Generated modules as a benchmark, in other words: the tracer's graph of most has the digest of the generator's, and of no other's."""
    count = 40
    data(program, "generate", "--out", folder / "made.jsonl", "--seed", 12, "--count", count, "--mix", "convert=1", "--max-elements", 2048)
    (folder / "bench").mkdir()
    names = {}
    for i, sample in enumerate(rows(folder / "made.jsonl")):
        names[sample["id"]] = f"{i + 1}_{sample['problem']['name']}"
        # What changes the source and not the graph; shingles are looked at after graphs.
        (folder / "bench" / f"{names[sample['id']]}.py").write_text(sample["problem"]["source"] + "\n\nof_the_benchmark = [3, 1, 4]\n")
    out = data(program, "decontaminate", folder / "made.jsonl", "--against", folder / "bench", "--trace", "--out", folder / "clean.jsonl",
               "--report", folder / "report.jsonl", "--json")
    expect(json.loads(out)["problems_without_graph"] == 0, out)
    found = [row for row in rows(folder / "report.jsonl") if row["rule"] == "graph"]
    print(f"{len(found)} of {count} modules have the same digest by the tracer")
    expect(len(found) >= 0.7 * count, f"only {len(found)} of {count} are found by their graphs")
    expect(all(names[row["id"]] == row["problem"] for row in found), f"found as another: {found}")


def case_import_trace(program, _, folder):
    """A module that somebody wrote, with the tracer's operators; one in C++; one without a graph."""
    module = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return %s\n\n\ndef get_inputs():\n    return [torch.rand(16, 8)]\n\n\ndef get_init_inputs():\n    return []\n"
    (folder / "bench").mkdir()
    (folder / "bench" / "1_Good.py").write_text(module % "torch.tanh(x) * x.sum(1, keepdim=True)")
    (folder / "bench" / "2_None.py").write_text(module % "x[x > 0.5].sum()")
    out = json.loads(data(program, "import", folder / "bench", "--language", "cpp", "--trace", "--jobs", 2, "--out", folder / "out.jsonl", "--json"))
    expect((out["samples"], out["traced"], out["untraced"]) == (2, 1, {"no graph": 1}), f"{out}")
    good, none = rows(folder / "out.jsonl")
    expect(sorted(good["labels"]["operators"]) == ["mul.Tensor", "sum.dim_IntList", "tanh.default"] and good["labels"]["depth"] == 2, f"{good['labels']}")
    expect("graph" in good["labels"] and "operators" not in none["labels"], f"{none['labels']}")
    expect("void run(" in good["messages"][0]["content"], "a module in C++")
    parts = json.loads(data(program, "split", folder / "out.jsonl", "--out", folder / "split", "--validation", 0, "--test", 0, "--json"))["parts"]
    expect(parts["train"]["samples"] == 1 and parts["unlabelled"]["samples"] == 1, f"{parts}")


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
