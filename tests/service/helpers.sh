# What the scripts of this folder share. Sourced with a script's arguments: takes the program's path, and goes into a new folder, which
# is gone at the end, as are processes that still run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # program and root are the scripts'
program=$(realpath -- "$1")
root=$(cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd)
scratch=$(mktemp -d)
export XDG_CACHE_HOME=$scratch/cache XDG_DATA_HOME=$scratch/data NO_COLOR=1
finish() {
  local pid
  for pid in $(jobs -rp); do kill -9 "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT
cd "$scratch" || exit

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  tail -n 30 "$scratch"/*.err "$scratch"/*.out >&2 || true
  exit 1
}

# until_true COMMAND...: waits for an event, at most a minute.
until_true() {
  local i
  for ((i = 0; i < 1200; ++i)); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.05
  done
  fail "never came: $*"
}

# write_relu FILE ZERO: a right kernel for problems/relu; another text of zero makes another candidate.
write_relu() {
  cat >"$1" <<END
#include "problem.h"
extern "C" void run(const float* x, float* y, int64_t N) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] > 0 ? x[i] : $2;
}
END
}
