#!/usr/bin/env bash
# Installs and builds what a subcommand needs; run by ./kernelwright when its stamp is old.
# usage: tools/setup.sh program|run|test PYTHON
#   program: the front program alone; run: every program, and a Python with torch; test: the tests as well
# Safe to interrupt (the next run goes on) and to run twice at once (one waits). Talks on stderr. exit: 0 ready, 2 not.
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/.."
need=$1
python=$2
build=build/dev
say() { printf 'kernelwright: %s\n' "$*" >&2; }
die() { say "$@"; exit 2; }
# shellcheck source=tools/python.sh
source tools/python.sh
trap 'say "stopped; the next run goes on from here"; exit 130' INT TERM

# A checkout that is somebody else's runs as they left it.
if ! { mkdir -p build && : >>build/lock; } 2>/dev/null; then
  [[ -e $build/ready-$need ]] || die "nothing is built for this in $PWD, and you may not write there: have its owner run ./kernelwright, or clone it"
  if [[ $need != program ]]; then
    if [[ -n ${KW_PYTHON-} ]]; then
      check_given_python "$python"
    elif [[ ! -x $python ]]; then
      die "$python is not there or not for you: set KW_PYTHON to a Python with torch 2.11 or later"
    fi
  fi
  [[ -z $(find src apps cmake CMakeLists.txt -type f -newer "$build/ready-$need" -print -quit) ]] ||
    say "the sources in $PWD are newer than the build, and you may not write there: running what is built"
  exit 0
fi

exec 9>>build/lock # closed in every child: a daemon that one of them leaves behind must not hold it
if ! flock -n 9; then
  say "another run is installing or building here: waiting for it"
  flock 9
fi
mkdir -p "$build"
started=$(mktemp "$build/.ready-XXXXXX") # its time is the stamp's: what changes from now on is built next time
trap 'rm -f "$started" "$started".*' EXIT

configured=$build/configured # there once cmake was through: an interrupted or failed one leaves half a build.ninja
configure() { # ON|OFF (tests)
  # Another compiler's new warning must not stop a user's build; CI sets it.
  # Files compiled eight together: half the time of a first build.
  local log=$build/configure.log options=(-DBUILD_TESTING="$1" -DKW_WERROR="${KW_WERROR:-OFF}" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8)
  [[ $1 == OFF ]] || options+=(-DKW_PYTHON="$python")
  say "configuring (cmake --preset dev)"
  rm -f "$configured"
  # The second try is for a moved or copied checkout, or a compiler that went away: from nothing.
  if ! cmake --preset dev "${options[@]}" >"$log" 2>&1 && ! cmake --preset dev --fresh "${options[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    die "cmake could not configure the build (its words are above)"
  fi
  printf '%s\n' "${options[@]}" >"$configured"
}

# Says what this machine has not, and so what is off; once per set of things.
report_off() {
  local off=()
  type -P nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] || off+=("no CUDA toolkit: candidates with CUDA host code are not built")
  type -P redis-server >/dev/null || off+=("no Redis: the task queue over several machines is off")
  "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("triton") is None)' 2>/dev/null || off+=("no Triton in $python: the language triton is off")
  "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("pyarrow") is None)' 2>/dev/null || off+=("no pyarrow in $python: data commands read and write no Parquet")
  local text="${off[*]-}"
  [[ $text != "$(cat "$build/off" 2>/dev/null)" ]] || return 0
  printf '%s\n' "$text" >"$build/off"
  for text in ${off[@]+"${off[@]}"}; do
    say "$text"
  done
}

groups=(run)
tests=OFF
target=kw_programs
case $need in
  program) target=kernelwright ;;
  test)
    groups+=(test)
    tests=ON
    target=all
    ;;
esac
tools/packages.sh "${groups[@]}" 9>&-

if [[ $need != program ]]; then
  if [[ -n ${KW_PYTHON-} ]]; then
    check_given_python "$python"
  else
    prepare_venv "$need" 9>&-
  fi
fi

# Tests stay configured once they were asked for: a change back and forth would cost a configure run each time.
if [[ ! -e $configured ]] || { [[ $tests == ON ]] && ! grep -qx -F -e "-DKW_PYTHON=$python" "$configured"; }; then
  configure "$tests" 9>&-
elif [[ .venv/optional-tried -nt $configured ]]; then # pyarrow may have come
  ! grep -qx -F -e -DBUILD_TESTING=ON "$configured" || tests=ON
  configure "$tests" 9>&-
fi
say "building"
cmake --build "$build" --target "$target" >&2 9>&- || die "the build failed (its words are above)"
[[ $need == program ]] || report_off

printf '%s\n' "$python" >"$started.line"
for done in program run test; do
  cp "$started.line" "$started.$done"
  touch -r "$started" "$started.$done"
  mv "$started.$done" "$build/ready-$done"
  [[ $done != "$need" ]] || break
done
