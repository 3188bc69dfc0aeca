#!/usr/bin/env bash
# kernelwright problems check over a folder of good and bad problems, interrupted and gone on with.
# usage: check_test.sh PROGRAM
set -euo pipefail
program=$(realpath -- "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache XDG_DATA_HOME=$scratch/data NO_COLOR=1
cd "$scratch"
mkdir -p problems/level1 problems/scaled
record=$scratch/check.jsonl

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  cat "$scratch"/*.out "$scratch"/*.err "$record" >&2 || true
  exit 1
}

# module FILE EXPRESSION: a KernelBench problem whose forward is this.
module() {
  cat >"problems/level1/$1" <<EOF
import time
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return $2


def get_inputs():
    return [torch.randn(64, 48)]


def get_init_inputs():
    return []
EOF
}

# expect PATTERN NAME: one line of the record has this name, and it fits.
expect() {
  local line
  line=$(grep -F "\"name\":\"$2\"" "$record") || fail "no row of $2"
  [[ $(wc -l <<<"$line") == 1 ]] || fail "$2 stands twice in the record"
  grep -q -E "$1" <<<"$line" || fail "$2 is not $1"
}

module 1_Good.py 'torch.relu(x) + 1'
module 2_Zero.py 'torch.clamp(torch.min(x, torch.zeros_like(x)), 0, 1)'
module 3_Raises.py 'x.reshape(7, 7)'
module 4_Slow.py 'time.sleep(600)'
echo 'def run(x): return x' >problems/level1/5_Cut.py
# Fine where a CPU is judged; on the workload for the interpreter there is nothing to compute.
cat >problems/scaled/definition.json <<'EOF'
{"name": "scaled", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
 "inputs": {"x": {"shape": ["N"], "dtype": "float32"}}, "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
 "reference": "def run(x):\n    return x * (3 if x.shape[0] != 77 else 0)\n"}
EOF
cat >problems/scaled/policy.toml <<'EOF'
schema = 1
family = "elementwise"
[workloads.small]
targets = ["interpret"]
label = "for the interpreter"
[workloads.huge]
targets = ["cuda"]
EOF
for workload in main:4096 small:77 huge:1000000000; do
  printf '{"definition": "scaled", "solution": null, "evaluation": null, "workload": {"uuid": "%s", "axes": {"N": %s}, "inputs": {"x": {"type": "random"}}}}\n' \
    "${workload%:*}" "${workload#*:}"
done >problems/scaled/workloads.jsonl

# Stopped at the slow one: a row is in the record before its line is printed.
coproc check { exec "$program" problems check problems --out "$record" 2>"$scratch/first.err"; }
# shellcheck disable=SC2154  # bash sets check_PID
pid=$check_PID
while read -r line <&"${check[0]}"; do
  echo "$line" >>"$scratch/first.out"
  [[ $line != *3_Raises* ]] || break
done
kill -INT "$pid"
code=0
wait "$pid" || code=$?
[[ $code == 130 ]] || fail "interrupted: exit code $code"
grep -q 'interrupted after 4 of 6; --resume goes on from here' "$scratch/first.err" || fail 'the interruption is not told'
[[ $(wc -l <"$record") == 4 ]] || fail 'the record is not what was printed'
cp "$record" "$scratch/before"

# Gone on with: what is recorded stays as it is, and the rest is checked.
module 4_Slow.py 'torch.sigmoid(x)'
code=0
"$program" problems check problems --out "$record" --resume --markdown "$scratch/check.md" >"$scratch/second.out" 2>"$scratch/second.err" || code=$?
[[ $code == 1 ]] || fail "exit code $code"
head -n 4 "$record" | cmp -s - "$scratch/before" || fail 'recorded rows were changed'
[[ $(wc -l <"$record") == 6 ]] || fail 'rows are missing'
grep -q '6 of 6 problems checked (4 in an earlier run)' "$scratch/second.out" || fail 'no summary'
expect '"verdict":"admitted"' 1_Good
expect '"verdict":"quarantined","cause":"trivial_candidate".*"names":\["zeros".*"failing":\["module"\]' 2_Zero
expect '"verdict":"reference_failed".*invalid for input of size' 3_Raises
expect '"verdict":"admitted"' 4_Slow
expect '"verdict":"unreadable".*5_Cut.py: the problem does not define Model' 5_Cut
expect '"verdict":"quarantined".*"reason":"target interpret: trivial candidates pass: zeros.*"failing":\["small"\]' scaled
expect '"uuid":"huge","label":"","targets":\["cuda"\],"checked":false' scaled
expect '"uuid":"main".*"checked":true,"failure":"","reference_failed":false,"timed":true,"passing":\[\],"inert":\[\],"reference_ms":[0-9]' scaled
[[ $(grep -c '^| ' "$scratch/check.md") == 7 ]] || fail 'the table is not whole'

# Limits reach the reference.
module 4_Slow.py 'time.sleep(600)'
code=0
"$program" problems check problems/level1#4_Slow --timeout 1 >"$scratch/limits.out" 2>"$scratch/limits.err" || code=$?
[[ $code == 1 ]] || fail "a reference without end: exit code $code"
grep -q 'reference_failed  1/4_Slow  the reference did not finish within 1 s' "$scratch/limits.out" || fail 'no limit'
