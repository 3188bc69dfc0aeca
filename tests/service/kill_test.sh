#!/usr/bin/env bash
# kernelwright serve, worker and eval --judge: a worker and the server are killed in the middle, and the verdicts are those of this
# machine's own gym.
# usage: kill_test.sh PROGRAM
set -euo pipefail
# shellcheck source=tests/service/helpers.sh
source "${BASH_SOURCE[0]%/*}/helpers.sh"
others=()

serve() { # PORT
  : >serve.out
  "$program" serve --data "$scratch/tasks" --port "$1" --lease 5 >serve.out 2>>serve.err &
  server=$!
  until_true grep -q http serve.out
}

# Three right candidates and one that is wrong, none the same.
mkdir candidates
for i in 1 2 3 4; do
  value='x[i] > 0 ? x[i] : 0'
  [[ $i != 4 ]] || value='x[i]'
  cat >"candidates/c$i.cpp" <<EOF
extern "C" void run(const float* x, float* y, int64_t N) {
  for (int64_t i = 0; i < N; ++i) y[i] = $value;  // $i
}
EOF
done
evaluate=("$program" eval "$root/problems/relu" candidates --no-timing --no-evidence --json)

serve 0
url=$(head -n 1 serve.out)
"$program" worker --server "$url" --name first 2>first.err &
first=$!
"${evaluate[@]}" --jobs 4 --judge "$url" >remote.out 2>remote.err &
evaluation=$!

# The first worker dies with a task; nothing is told to anybody.
until_true grep -q leased first.err
kill -9 "$first"
four_tasks() {
  curl -sf "$url/metrics" >metrics.txt && grep -q '^kw_tasks_submitted_total 4$' metrics.txt
}
until_true four_tasks

for name in second third; do
  "$program" worker --server "$url" --name "$name" 2>"$name.err" &
  others+=($!)
done
until_true grep -q complete second.err third.err
kill -9 "$server"
wait "$server" 2>/dev/null || true
"$program" serve --data "$scratch/tasks" --port 1 --lease x 2>mistake.err && fail "--lease x"
serve "${url##*:}"

code=0
wait "$evaluation" || code=$?
[[ $code == 1 ]] || fail "eval --judge: exit $code"

# A worker that is asked to stop gives back what it has and leaves; so does the server.
for pid in "${others[@]}"; do
  kill -TERM "$pid"
  wait "$pid" || fail "a worker: exit $?"
done
kill -TERM "$server"
wait "$server" || fail "the server: exit $?"

code=0
"${evaluate[@]}" >local.out 2>local.err || code=$?
[[ $code == 1 ]] || fail "eval: exit $code"
python3 - <<'EOF' || fail "the verdicts differ"
import json

def verdicts(name):
    rows = [json.loads(line) for line in open(name)]
    keys = ("problem_hash", "candidate_hash", "outcome", "evidence_level", "violation")
    return [[row.get(key) for key in keys] + [[(w["uuid"], w["outcome"]) for w in row["workloads"]]] for row in rows]

remote, local = verdicts("remote.out"), verdicts("local.out")
assert len(local) == 4, local
assert [row[2] for row in local] == ["passed", "passed", "passed", "wrong_value"], local
assert remote == local, (remote, local)
EOF
echo "fine"
