#!/usr/bin/env bash
# kernelwright launch slurm with a real Slurm of one node, which this script starts: jobs by discovery, a server that comes back
# elsewhere, a worker that is requeued, a drain before the time limit. By hand; it takes two minutes.
# usage: slurm_test.sh PROGRAM [FOLDER]   (FOLDER: files and logs stay there)
# exit: 0 fine; 1 not; 77 without Slurm (packages slurmctld, slurmd, slurm-client and munge)
set -euo pipefail
program=$(realpath -- "$1")
root=$(cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd)
for tool in slurmctld slurmd sbatch scontrol squeue scancel munged; do
  if ! command -v "$tool" >/dev/null && [[ ! -x /usr/sbin/$tool ]]; then
    echo "slurm: there is no $tool, so nothing was tried"
    exit 77
  fi
done
PATH=$PATH:/usr/sbin
scratch=${2:-$(mktemp -d /tmp/kw-slurm.XXXXXX)}
mkdir -p "$scratch"
chmod 755 "$scratch"
export XDG_CACHE_HOME=$scratch/cache XDG_DATA_HOME=$scratch/data NO_COLOR=1 SLURM_CONF=$scratch/slurm.conf
daemons=() evaluation=""
finish() {
  local pid
  [[ ! -e $SLURM_CONF ]] || scancel --user "$(id -un)" 2>/dev/null || true
  [[ -z $evaluation ]] || kill -9 "$evaluation" 2>/dev/null || true
  sleep 2 # Slurm ends what its jobs run
  for pid in ${daemons[@]+"${daemons[@]}"}; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  [[ -n ${keep-} ]] || rm -rf "$scratch"
}
keep=${2-}
trap finish EXIT
cd "$scratch"

step() { printf '%s  %s\n' "$(date -u +%T)" "$*"; }
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  squeue >&2 || true
  tail -n 20 "$scratch"/*.err "$scratch"/*.log "$scratch"/cluster/logs/*.log >&2 || true
  exit 1
}
# until_true SECONDS COMMAND...
until_true() {
  local end=$((SECONDS + $1))
  shift
  while ((SECONDS < end)); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.2
  done
  fail "never came: $*"
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A cluster of one node. A requeued job may start at once (cred_expire), and Slurm looks at limits often.
user=$(id -un)
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.socket,cred_expire=5
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=1,sched_interval=2
GresTypes=gpu
ReturnToService=2
KillWait=15
SlurmdParameters=config_overrides
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
printf 'Name=gpu File=/dev/%s\n' null zero >gres.conf # stand for two GPUs: nothing is done with them
mkdir -p state spool
dd if=/dev/urandom of=munge.key bs=128 count=1 2>/dev/null
chmod 400 munge.key
munged --force --foreground --socket="$scratch/munge.socket" --key-file="$scratch/munge.key" --log-file="$scratch/munged.log" \
  --pid-file="$scratch/munged.pid" --seed-file="$scratch/munge.seed" 2>munged.err &
daemons+=($!)
until_true 20 test -S munge.socket
slurmctld -D -i 2>slurmctld.err &
daemons+=($!)
slurmd -D 2>slurmd.err &
daemons+=($!)
until_true 60 sh -c 'sinfo --noheader --format=%T | grep -qx idle'
step "a Slurm of one node is up"

printf '#include "problem.h"\nextern "C" void run(const float* x, float* y, int64_t N) {\n  for (int64_t i = 0; i < N; ++i) y[i] = x[i] > 0 ? x[i] : 0;\n}\n' >relu.cpp
state_of() { squeue --noheader --array --job "$1" --format=%T; }
running() { [[ $(state_of "$1" | sort -u) == RUNNING ]]; }
gone() { [[ -z $(squeue --noheader --job "$1" 2>/dev/null) ]]; }

"$program" launch slurm --folder cluster --workers 2 --cpus 2 --gres gpu:1 --time 30 >jobs.out 2>jobs.err || fail "launch slurm: exit $?"
read -r server workers <jobs.out
address=$scratch/cluster/server.json
KERNELWRIGHT_API_KEY=$(<cluster/token)
export KERNELWRIGHT_API_KEY
until_true 60 test -s "$address"
evaluate() { # NUMBER: another candidate for each
  sed "s/: 0/: 0 * $1/" relu.cpp >"relu_$1.cpp"
  "$program" eval "$root/problems/relu" "relu_$1.cpp" --no-timing --no-evidence --json --judge "$address" >"eval_$1.out" 2>"eval_$1.err" &&
    grep -q '"outcome":"passed"' "eval_$1.out"
}
evaluate 100 || fail "eval --judge server.json"
step "judged by a worker that found the server by its file"

# In the middle of an evaluation the server comes back at another port, with another certificate.
before=$(<"$address")
mkdir many
for ((i = 1; i <= 10; ++i)); do sed "s/: 0/: 0 * $i.0f/" relu.cpp >"many/$i.cpp"; done
"$program" eval "$root/problems/relu" many --jobs 4 --no-timing --no-evidence --json --judge "$address" >many.out 2>many.err &
evaluation=$!
until_true 60 sh -c "cat cluster/logs/worker-*.log | grep -c ': complete' | grep -qv '^1$'"
scontrol requeue "$server"
until_true 120 sh -c "[ \"\$(cat '$address')\" != '$before' ]"
wait "$evaluation" || fail "eval over a server that came back"
[[ $(grep -c '"outcome":"passed"' many.out) == 10 ]] || fail "not ten verdicts"
evaluation=""
step "the server came back elsewhere: $(grep -o 'https://[^"]*' "$address") after $(grep -o 'https://[^"]*' <<<"$before")"

# A worker is requeued, as preemption does it, in the middle of a judgement, which it gives back.
until_true 30 running "$workers"
log=cluster/logs/worker-"$workers"_0.log
before=$(wc -l <"$log")
"$program" eval "$root/problems/relu" many --jobs 4 --no-evidence --json --judge "$address" >timed.out 2>timed.err &
evaluation=$!
until_true 60 sh -c "tail -n +$((before + 1)) $log | grep -q ': leased'"
scontrol requeue "${workers}_0"
until_true 60 grep -q ': release' "$log"
kill "$evaluation"
wait "$evaluation" || true
evaluation=""
until_true 120 sh -c "scontrol show job ${workers}_0 | grep -q Restarts=1"
until_true 120 running "$workers"
evaluate 101 || fail "eval after a requeue"
step "a worker was requeued and works again"

# A time limit of one minute: the worker is drained before it, and goes back to the queue.
scancel "$workers"
until_true 60 gone "$workers"
"$program" launch slurm --folder cluster --out files --workers 1 --cpus 2 --time 1 --drain 45 >files.out 2>files.err || fail "launch slurm --out: exit $?"
short=$(sbatch --parsable files/workers.sbatch)
until_true 120 sh -c "scontrol show job ${short}_0 | grep -q Restarts=1"
grep -q 'back into the queue' cluster/logs/worker-"${short}"_0.log || fail "no word of the time limit"
! grep -q 'DUE TO TIME LIMIT' cluster/logs/worker-"${short}"_0.log || fail "Slurm had to kill the worker"
evaluate 102 || fail "eval by a worker that came back"
step "a worker was drained before its time limit and came back"
scancel "$short" "$server"
until_true 60 gone "$server"

# A model server: found by its file, drained in the middle of an answer, found again at its new place.
probe=${program%/*}/kw_lm_probe
if [[ ! -x $probe ]]; then
  echo "slurm: there is no $probe, which makes the model, so no model server was tried" >&2
else
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/tests/lm python3 -c 'import sys; from tiny_model import make_model; make_model(sys.argv[1], "model", context=16384)' "$probe"
  "$program" launch slurm --folder cluster --workers 1 --cpus 1 --time 30 --model model --model-cpus 2 --model-memory 2GiB --model-option=--slots=2 \
    --model-option=--context=16384 --model-option=--threads=1 >models.out 2>models.err || fail "launch slurm --model: exit $?"
  read -r server workers models <models.out
  model=$scratch/cluster/model-1.json
  until_true 60 test -s "$model"
  before=$(<"$model")
  generate() { # TOKENS OUT
    "$program" generate --model "$model" --model-name model --chat a --max-tokens "$1" --temperature 0 --tries 20 >"$2" 2>"$2.err"
  }
  generate 8 short.out || fail "generate --model model-1.json"
  step "a model server was found by its file"
  asking=(curl -sk -H "Authorization: Bearer $KERNELWRIGHT_API_KEY")
  url=$(grep -o 'https://[^"]*' "$model")
  "${asking[@]}" "$url/v1/completions" -H 'Content-Type: application/json' -o long.out \
    -d '{"model": "model", "prompt": "a", "max_tokens": 4000, "ignore_eos": true}' &
  evaluation=$!
  under_way() { "${asking[@]}" "$url/metrics" | grep -qx 'kw_lm_sequences_running 1'; }
  until_true 30 under_way
  scontrol requeue "${models}_1"
  wait "$evaluation" || fail "an answer over a requeue"
  grep -q '"completion_tokens": *4000' long.out || fail "an answer was cut: $(tail -c 300 long.out)"
  evaluation=""
  until_true 120 sh -c "[ \"\$(cat '$model')\" != '$before' ]"
  generate 8 again.out || fail "generate after a requeue"
  cmp short.out again.out || fail "another answer"
  step "a model server finished its answer, and came back elsewhere"
  scancel "$models" "$workers" "$server"
  until_true 60 gone "$server"
fi
grep -q 'kw\|serving' cluster/logs/server-"$server".log
step "fine"
