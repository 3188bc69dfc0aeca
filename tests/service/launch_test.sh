#!/usr/bin/env bash
# kernelwright launch local: what dies comes back, clients follow the server, and nothing is left when it ends, however it ends.
# usage: launch_test.sh PROGRAM
set -euo pipefail
# shellcheck source=tests/service/helpers.sh
source "${BASH_SOURCE[0]%/*}/helpers.sh"

# pid_of WORD: of the launcher's child that has it on its command line.
pid_of() {
  local pid
  for pid in $(<"/proc/$launcher/task/$launcher/children"); do
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q -- " $1 " && echo "$pid" && return
  done
  return 1
}
another() { # WORD PID
  local now
  now=$(pid_of "$1") && [[ $now != "$2" ]]
}
gone() { [[ ! -e /proc/$1 ]] || grep -q ') Z' "/proc/$1/stat"; }
launch() {
  : >launch.out
  "$program" launch local --data tasks --port 0 --workers "$1" >launch.out 2>launch.err &
  launcher=$!
  until_true grep -q http launch.out
}
evaluate() { # ZERO: as write_relu's
  write_relu candidate.cpp "$1"
  "$program" eval "$root/problems/relu" candidate.cpp --no-timing --no-evidence --json --judge tasks/server.json >eval.out 2>eval.err
}

launch 2
evaluate 0 || fail "eval --judge server.json: exit $?"

worker=$(pid_of worker-1)
server=$(pid_of serve)
kill -9 "$worker" "$server"
until_true another worker-1 "$worker"
until_true another serve "$server"
grep -q 'worker-1 has ended (signal 9 (Killed)) and starts again' launch.err || fail "no word of the worker"
evaluate 0.0f || fail "eval after the deaths: exit $?"
grep -q '"outcome":"passed"' eval.out || fail "the verdict is wrong"
[[ $(grep -c http launch.out) == 2 ]] || fail "the second server's URL is not told"

children=$(<"/proc/$launcher/task/$launcher/children")
[[ $(wc -w <<<"$children") == 3 ]] || fail "not three processes: $children"
kill -TERM "$launcher"
wait "$launcher" || fail "launch local: exit $?"
for pid in $children; do gone "$pid" || fail "$pid is left"; done

# A launcher that cannot say goodbye.
launch 1
children=$(<"/proc/$launcher/task/$launcher/children")
kill -9 "$launcher"
wait "$launcher" 2>/dev/null || true
for pid in $children; do until_true gone "$pid"; done

# A server that cannot listen.
code=0
"$program" launch local --data tasks --port 1 --lease 2 --tokens none.txt >mistake.out 2>mistake.err || code=$?
{ [[ $code == 2 ]] && grep -q 'server has ended with exit code 2' mistake.err; } || fail "a server without tokens: exit $code"
echo "fine"
