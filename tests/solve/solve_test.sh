#!/usr/bin/env bash
# kernelwright solve with recorded answers and the real gym: a table of mixed quality, killed and gone on with, replayed; the files it
# leaves are judged again; the writer on three modules and on names of its own variables; a full
# disk.
# usage: solve_test.sh PROGRAM
set -euo pipefail
program=$(realpath -- "$1")
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
problems=$here/../../problems
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache XDG_DATA_HOME=$scratch/data NO_COLOR=1
cd "$scratch"

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  tail -n 50 "$scratch"/*.out "$scratch"/*.err >&2 || true
  exit 1
}

# field FILE PATH: of the one JSON line in it, by Python's notation.
field() { python3 -c 'import json, sys; print(eval("row" + sys.argv[2], {"row": json.loads(open(sys.argv[1]).read())}))' "$1" "$2"; }

# What a run decided and found. Without a second word what two judgements of the same differ in is
# left out too: times, and what came of them.
table() {
  python3 - "$@" <<'PY'
import json, sys
times = ("at_ms", "wall_ms", "wall_s")
measured = () if sys.argv[2:] == ["whole"] else ("verdict", "same_as", "error", "speedup")
rows = []
for line in open(sys.argv[1] + "/events.jsonl"):
    e = json.loads(line)
    if e["type"] in ("decided", "answered", "extracted", "judged", "problem_ended"):
        for key in times + measured:
            e.pop(key, None)
        rows.append(((e["problem"], e.get("attempt", 1 << 30), e["type"]), json.dumps(e)))
print("\n".join(text for _, text in sorted(rows)))
PY
}

# ---- ten answers of mixed quality on relu
python3 - >answers.jsonl <<'PY'
import json
run = "extern \"C\" void run(const float* x, float* y, int64_t N)"
loop = run + " {\n  for (int64_t i = 0; i < N; ++i) y[i] = %s;\n}"
good = loop % "x[i] > 0 ? x[i] : 0"
answers = [
    "I would use a loop.",                                                            # no code
    "```cpp\n" + run + " { y[0] = x[0] }\n```",                                       # does not compile
    "```cpp\n" + loop % "x[i]" + "\n```",                                             # wrong
    "```cpp\n" + loop % "x[i] > 0 ? x[i] : 1e-3f" + "\n```",                          # wrong, by less
    "```cpp\n" + run + " { __builtin_trap(); }\n```",                                 # crashes
    "A loop.\n```cpp\n#include <algorithm>\n" + loop % "std::max(x[i], 0.0f)" + "\n```",  # right
    "<think>```cpp\nnot this\n```</think>\n```cpp\n" + good + "\n```",                # right
    "```cpp\n" + good + "\n```",                                                      # the same again
    "```python\nprint(1)\n```",                                                       # another language
    "```cpp\n" + good[:60],                                                           # cut off
]
for i, answer in enumerate(answers):
    print(json.dumps({"problem": "relu", "attempt": i, "answer": answer, "finish": "length" if i == 9 else "stop"}))
PY
code=0
"$program" solve "$problems/relu" --answers answers.jsonl --samples 10 --no-timing --run first --json >first.out 2>first.err || code=$?
[[ $code == 0 ]] || fail "exit code $code"
for pair in "['attempts']:10" "['extracted']:7" "['compiled']:6" "['correct']:3" "['best']['outcome']:correct" "['best']['attempt']:5" "['end']:attempts"; do
  [[ $(field first.out "${pair%:*}") == "${pair##*:}" ]] || fail "$pair, but $(cat first.out)"
done
outcomes=$(python3 -c '
import json
found = {}
for line in open("first/events.jsonl"):
    e = json.loads(line)
    if e["type"] == "judged": found[e["attempt"]] = e["outcome"] + ("=" if e["same_as"] >= 0 else "")
print(" ".join(f"{k}:{v}" for k, v in sorted(found.items())).replace("=", ""))')
[[ $outcomes == "1:compile_error 2:wrong_value 3:wrong_value 4:runtime_error 5:passed 6:passed 7:passed" ]] || fail "$outcomes"

# ---- the same again is the same
"$program" solve "$problems/relu" --answers answers.jsonl --samples 10 --no-timing --run second --json >second.out 2>second.err
diff <(table first) <(table second) || fail 'a second run decided otherwise'

# ---- killed when its log has so many lines, and gone on with
rm -rf killed
"$program" solve "$problems/relu" --answers answers.jsonl --samples 10 --no-timing --run killed >killed.out 2>killed.err &
pid=$!
whole=$(wc -l <first/events.jsonl)
lines_of() { { wc -l <"$1"; } 2>/dev/null || echo 0; }
before=0
for lines in 1 3 $((whole / 4)) $((whole / 2)) $((whole * 3 / 4)); do
  until now=$(lines_of killed/events.jsonl) && ((now >= lines && now > before)); do
    kill -0 "$pid" 2>/dev/null || fail "ended before line $lines of the log: $(cat killed.err)"
    sleep 0.002
  done
  kill -9 "$pid" || fail "ended before it was killed at line $lines"
  code=0
  wait "$pid" || code=$?
  [[ $code == 137 ]] || fail "ended with $code instead of being killed at line $lines"
  before=$(lines_of killed/events.jsonl)
  "$program" solve --resume --run killed >killed.out 2>killed.err &
  pid=$!
done
wait "$pid" || fail "resumed: $(cat killed.err)"
diff <(table first) <(table killed) || fail 'killed: another table'
[[ $(grep -c '"type":"run_resumed"' killed/events.jsonl) == 5 ]] || fail 'not resumed five times'

# ---- a run with times (or without, where the machine is too busy) replays from its own answers and verdicts, draw by draw
"$program" solve "$problems/relu" --answers answers.jsonl --samples 8 --method metr --first 6 --max-seconds 1 --half-width 20 --run timed --json \
  >timed.out 2>timed.err || fail 'the timed run'
"$program" solve "$problems/relu" --answers timed --verdicts timed --samples 8 --method metr --first 6 --run replayed --json >replayed.out 2>replayed.err ||
  fail 'the replay'
diff <(table timed whole) <(table replayed whole) || fail 'the replay is another run'
grep -q '"median":' timed/events.jsonl || echo 'no time could be measured here: the replay has none to compare' >&2
[[ $(field timed.out "['best']['speedup']") == $(field replayed.out "['best']['speedup']") ]] || fail 'the replay found another speedup'

# ---- so does a run of the writer, which looks at what its kernels got
"$program" solve "$problems/relu" --proposer writer --samples 4 --max-seconds 1 --half-width 20 --run tuned >tuned.out 2>tuned.err || fail 'the writer, timed'
"$program" solve "$problems/relu" --proposer writer --samples 4 --verdicts tuned --run tuned-again >tuned-again.out 2>tuned-again.err || fail "the writer's replay"
diff <(table tuned whole) <(table tuned-again whole) || fail "the writer's replay is another run"

# ---- the files that it leaves
build=$(sed -n 's,^// build: ,,p' timed/solutions/relu/kernel.cpp)
(cd timed/solutions/relu && eval "$build") || fail "the build line: $build"
"$program" eval "$problems/relu" timed/solutions/relu/solution.json --no-timing >judged.out 2>judged.err || fail 'solution.json'

# ---- a module: the drop-in is judged as a Python candidate
cat >1_Scale.py <<'PY'
import torch
from torch import nn

rows = 64


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 8), nn.ReLU())
        self.register_buffer("scale", torch.rand(8) + 0.5)

    def forward(self, x, factor):
        return self.layers(x) * self.scale * factor


def get_inputs():
    return [torch.randn(rows, 48), 3]


def get_init_inputs():
    return [48]
PY
"$program" problems show 1_Scale.py --signature >signature.out
python3 - >module.jsonl <<'PY'
import json, re
text = open("signature.out").read()
head = text[text.index('extern "C" void run('):text.rindex(";")]
names = re.findall(r"(\w+)(?:,|\))\s*(?://.*)?\n?", head + "\n")
name = lambda part: next(n for n in names if part in n)
x, weight, bias, scale, out = "x", name("weight"), name("bias"), name("scale"), name("out")
code = re.sub(r"//[^\n]*", "", head) + f""" {{
  for (int64_t r = 0; r < 64; ++r)
    for (int64_t c = 0; c < 8; ++c) {{
      float sum = {bias}[c];
      for (int64_t k = 0; k < 48; ++k) sum += {x}[r * 48 + k] * {weight}[c * 48 + k];
      {out}[r * 8 + c] = (sum > 0 ? sum : 0) * {scale}[c] * static_cast<float>(factor);
    }}
}}"""
print(json.dumps({"problem": "1_Scale", "attempt": 0, "answer": f"```cpp\n{code}\n```"}))
PY
"$program" solve 1_Scale.py --answers module.jsonl --method base --no-timing --run module --json >module.out 2>module.err ||
  fail "the module: $(cat signature.out module.jsonl)"
"$program" eval 1_Scale.py module/solutions/1_Scale/model_new.py --no-timing >drop_in.out 2>drop_in.err || fail 'the drop-in is not judged correct'

# ---- a module's kernel in Python is a drop-in already
python3 - >python.jsonl <<'PY'
import json
code = open("1_Scale.py").read().replace("class Model(", "class ModelNew(")
print(json.dumps({"problem": "1_Scale", "attempt": 0, "answer": f"```python\n{code}\n```"}))
PY
"$program" solve 1_Scale.py --language python --answers python.jsonl --method base --no-timing --run python --json >python.out 2>python.err ||
  fail "the module in Python: $(cat python.out python.err)"
cmp python/solutions/1_Scale/kernel.py python/solutions/1_Scale/model_new.py || fail 'the drop-in in Python is not its kernel'
grep -q '^class ModelNew' python/solutions/1_Scale/model_new.py || fail 'the drop-in in Python has no ModelNew'

# ---- the writer, without a model: modules as people write them
mkdir modules
cp "$here"/../writer/modules/{alibi_causal,temporal_shift,top2_gating}.py modules/
"$program" solve modules --proposer writer --samples 3 --no-timing --run written --json >written.out 2>written.err || fail 'the writer'
[[ $(grep -c '"correct":[1-9]' written.out) == 3 ]] || fail "the writer's kernels: $(cat written.out)"

# ---- names that the writer's kernels have for variables of their own
mkdir names
cat >names/definition.json <<'JSON'
{"name": "names", "op_type": "test", "axes": {"place": {"type": "var"}, "hit": {"type": "const", "value": 64}, "four": {"type": "const", "value": 4}},
 "inputs": {"memory": {"shape": ["place", "hit"], "dtype": "float32"}, "t0": {"shape": ["hit", "hit"], "dtype": "float32"}},
 "outputs": {"values": {"shape": ["place", "four"], "dtype": "float32"}, "i": {"shape": ["place"], "dtype": "int64"}, "p1": {"shape": ["place", "hit"], "dtype": "float32"}},
 "reference": "import torch\n\n\ndef run(memory, t0):\n    return torch.topk(memory, 4).values, memory.argmax(-1), torch.softmax(memory @ t0, -1)\n"}
JSON
cat >names/workloads.jsonl <<'JSON'
{"definition": "names", "solution": null, "workload": {"uuid": "0b6f4c1e-5b8c-4a3e-9d8e-6a1f0c2d7e94", "axes": {"place": 37}, "inputs": {"memory": {"type": "random"}, "t0": {"type": "random"}}}, "evaluation": null}
JSON
printf 'schema = 1\nfamily = "test"\n[outputs.i]\ncheck = "argmax_of"\nof = "memory"\naxis = -1\n' >names/policy.toml
for problem in names "$problems/topk"; do
  "$program" solve "$problem" --proposer writer --samples 1 --no-timing --run "named-${problem##*/}" --json >named.out 2>named.err ||
    fail "kernels whose variables clash with names: $(cat named.out)"
done

# ---- no correct kernel, and a broken data set
head -n 5 answers.jsonl >poor.jsonl
code=0
"$program" solve "$problems/relu" --answers poor.jsonl --samples 5 --no-timing --run poor >poor.out 2>poor.err || code=$?
[[ $code == 1 ]] || fail "no correct kernel: exit code $code"
grep -q 'no correct kernel' poor.out || fail 'the card of a problem without a kernel'
grep -q 'closest    attempt 3: wrong_value' poor.out || fail 'the closest attempt'

# ---- a full disk, where a small one can be mounted
if unshare -rm true 2>/dev/null; then
  mkdir -p small
  code=0
  # shellcheck disable=SC2016  # for the inner shell
  unshare -rm bash -c 'mount -t tmpfs -o size=48k none small && "$@" >full.out 2>full.err; code=$?; mkdir -p kept; cp -r small/run kept/ 2>/dev/null; exit $code' \
    bash "$program" solve "$problems/relu" --answers answers.jsonl --samples 10 --no-timing --run small/run --isolation-at-least none || code=$?
  [[ $code == 2 ]] || fail "a full disk: exit code $code"
  grep -q 'No space left on device' full.err || fail 'the full disk is not told'
  if [[ -s kept/run/events.jsonl ]]; then
    "$program" solve --resume --run kept/run --json >kept.out 2>kept.err || fail 'after the full disk'
    diff <(table first) <(table kept/run) || fail 'after the full disk: another table'
  fi
fi
echo fine
