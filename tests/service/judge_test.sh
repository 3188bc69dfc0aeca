#!/usr/bin/env bash
# solve on a module, problems check and data filter with --judge: a worker of a service does what this machine's gym does.
# usage: judge_test.sh PROGRAM
set -euo pipefail
# shellcheck source=tests/service/helpers.sh
source "${BASH_SOURCE[0]%/*}/helpers.sh"

printf 'import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n' >relu.py
printf 'def get_inputs():\n    return [torch.randn(64)]\ndef get_init_inputs():\n    return []\n' >>relu.py
"$program" data generate --out raw.jsonl --count 1 --mix implement=1 --max-depth 1 --tiers 1 --max-elements 4096 2>generate.err ||
  fail "data generate: exit $?"

"$program" serve --data tasks --port 0 >serve.out 2>serve.err &
server=$!
until_true grep -q http serve.out
url=$(head -n 1 serve.out)

# A worker that only compiles fills the cache with what waits; the one that judges finds it there.
"$program" eval "$root/problems/relu" "$root/examples/relu/good.cpp" --no-timing --json --judge "$url" >ahead.out 2>ahead.err &
ahead=$!
"$program" worker --server "$url" --stage compile 2>compile.err &
compiler=$!
until_true grep -q 'for relu: built' compile.err
kill -TERM "$compiler"
wait "$compiler" || fail "worker --stage compile: exit $?"
"$program" worker --server "$url" --state worker.json 2>worker.err &
worker=$!
wait "$ahead" || fail "eval --judge: exit $?"
python3 - <<'PY' || fail "the candidate was compiled again"
import json
import pathlib

verdict = json.loads(open("ahead.out").readline())
record = json.dumps(json.loads(pathlib.Path(verdict["evidence"]).read_text()))
assert verdict["outcome"] == "passed" and '"build_cached": true' in record, (verdict["outcome"], record[:2000])
PY

"$program" problems check relu.py --json --judge "$url" >check.out 2>check.err || fail "problems check --judge: exit $?"
"$program" solve relu.py --run run --samples 1 --no-timing --no-evidence --json --judge "$url" >solve.out 2>solve.err ||
  fail "solve --judge: exit $?"
"$program" data filter raw.jsonl --out kept.jsonl --no-evidence --json --judge "$url" >filter.out 2>filter.err ||
  fail "data filter --judge: exit $?"
"$program" problems check relu.py --json >local.out 2>local.err || fail "problems check: exit $?"
python3 - <<'PY' || fail "what came back is wrong"
import json

def row(name):
    out = json.load(open(name))
    out.pop("seconds", None)
    for workload in out.get("workloads", []):
        workload.pop("reference_ms", None)
    return out

assert row("check.out") == row("local.out"), (row("check.out"), row("local.out"))
assert row("check.out")["verdict"] == "admitted", row("check.out")
solved = row("solve.out")
assert solved["best"] is not None, solved
kept = [json.loads(line) for line in open("kept.jsonl")]
assert [one["verdict"]["outcome"] for one in kept] == ["passed"], kept
# Everything was judged by the worker: a description or trace, two judgements and a check at the least.
done = [line for line in open("worker.err") if line.strip().endswith(": complete")]
assert len(done) >= 4, done
PY
# KernelGYM's API, with the classes of two names.
python3 - "$url" <<'PY' || fail "KernelGYM's API is wrong"
import json
import sys
import urllib.request

reference = open("relu.py").read()
kernel = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.clamp(min=0)\n"

def task(name, **changes):
    return {"task_id": name, "reference_code": reference, "kernel_code": kernel, "backend": "cuda", "device_preference": "cpu", "run_performance": False} | changes

gate = {"reference_code": reference.replace("Model", "Gate"), "kernel_code": kernel.replace("Model", "Gate"), "entry_point": "Gate"}
body = {"batch_id": "b", "tasks": [task("right"), task("named", **gate), task("wrong", kernel_code=kernel.replace("min=0", "min=1"))]}
request = urllib.request.Request(sys.argv[1] + "/evaluate/batch", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
results = json.load(urllib.request.urlopen(request, timeout=200))["results"]
found = [(one["task_id"], one["status"], one["compiled"], one["correctness"], one["error_code"]) for one in results]
wanted = [("right", "completed", True, True, None), ("named", "completed", True, True, None), ("wrong", "completed", True, False, "CORRECTNESS_ERROR")]
assert found == wanted, results
PY
curl -sf "$url/metrics" >metrics.txt || fail "no metrics"
grep -q '^kw_tasks_failed_total 0$' metrics.txt || fail "a task failed"
kill -TERM "$worker" "$server"
wait "$worker" || fail "the worker: exit $?"
wait "$server" || fail "the server: exit $?"
