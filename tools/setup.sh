#!/usr/bin/env bash
# Installs and builds what a subcommand needs; run by ./kernelwright when its stamp is old.
# usage: tools/setup.sh NEED PYTHON
#   NEED      builds                                                     Python with torch
#   program   kernelwright alone                                         no
#   eval      what judges: kernelwright, checker, executor, ...          yes
#   solve     eval, and what searches and writes kernels                 yes
#   model     what asks and serves models, and the engine                no
#   solve-model   solve and model                                        yes
#   environment   eval, and the environment of rl                       yes
#   report    the reports                                                no
#   service   eval, and what queues judgements                           yes
#   data      eval, and what makes training data                         yes
#   test      everything, and the tests                                  yes, with what tests compare with
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
python_job=0 # the process group that makes .venv beside the build
stop_python_job() { [[ $python_job -eq 0 ]] || kill -TERM -- "-$python_job" 2>/dev/null || true; }
trap 'stop_python_job; say "stopped; the next run goes on from here"; exit 130' INT TERM

# A checkout that is somebody else's runs as they left it.
if ! { mkdir -p build && : >>build/lock; } 2>/dev/null; then
  [[ -e $build/ready-$need ]] || die "nothing is built for this in $PWD, and you may not write there: have its owner run ./kernelwright, or clone it"
  if [[ $need != program && $need != model && $need != report ]]; then
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
trap 'stop_python_job; rm -f "$started" "$started".*' EXIT

configured=$build/configured # there once cmake was through: an interrupted or failed one leaves half a build.ninja
configure() { # ON|OFF (tests)
  # Another compiler's new warning must not stop a user's build; CI sets it.
  # Files compiled together: half the time of a first build (libraries take more than eight, cmake/KwModule.cmake). Line numbers for a
  # debugger: a tenth of it.
  local log=$build/configure.log
  local options=(-DBUILD_TESTING="$1" -DKW_WERROR="${KW_WERROR:-OFF}" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2)
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
  type -P nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]] || off+=("no CUDA toolkit: CUDA candidates are compiled only where NVRTC is installed by itself")
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
with_python=yes
done=("$need") # the stamps that this run makes true
case $need in
  program) target=kernelwright with_python="" ;;
  eval) target=kw_for_eval done+=(program) ;;
  solve) target=kw_for_solve done+=(program eval) ;;
  model) target=kw_for_model with_python="" done+=(program) ;;
  solve-model) target="kw_for_solve kw_for_model" done+=(program eval solve model) ;;
  environment) target=kw_for_environment done+=(program eval) ;;
  report) target=kw_for_report with_python="" done+=(program) ;;
  service) target=kw_for_service done+=(program eval) ;;
  service-model) target="kw_for_service kw_for_model" done+=(program eval service model) ;;
  data) target=kw_for_data done+=(program eval) ;;
  test) target=all groups+=(test) tests=ON done+=(program eval solve model solve-model report service service-model data) ;;
  *) die "setup.sh knows no \"$need\"" ;;
esac

make_python() {
  if [[ -n ${KW_PYTHON-} ]]; then
    check_given_python "$python"
  else
    prepare_venv "$need"
  fi
}
build() { # TARGET ...
  say "building"
  cmake --build "$build" --target "$@" >&2 9>&- || die "the build failed (its words are above)"
}
end_python_job() {
  [[ $python_job -ne 0 ]] || return 0
  wait "$python_job" || { python_job=0; exit 2; }
  python_job=0
}
start_python_job() {
  set -m # a process group of its own, which an interrupt can end
  make_python 9>&- </dev/null &
  python_job=$!
  set +m
}
# The tests and the program for Parquet are configured with this Python; nothing else is. So making .venv (a minute of downloads) goes on
# beside what comes after it, which is apt-get too where we may install packages: Python's own come first then.
is_beside=""
[[ -z $with_python || $need == data || -n ${KW_PYTHON-} || ($need == test && -e $configured) ]] || is_beside=yes
if [[ -n $is_beside && $(id -u) -eq 0 ]]; then
  tools/packages.sh python 9>&-
  start_python_job
fi
tools/packages.sh "${groups[@]}" 9>&-
if [[ -n $with_python && -z $is_beside ]]; then
  make_python 9>&-
elif [[ -n $is_beside ]]; then
  [[ $python_job -ne 0 ]] || start_python_job
  if [[ $need == test ]]; then # a first build: what needs no Python
    configure OFF 9>&-
    build kw_for_solve
    end_python_job
  fi
fi

# Tests stay configured once they were asked for: a change back and forth would cost a configure run each time.
if [[ ! -e $configured ]] || { [[ $tests == ON ]] && ! grep -qx -F -e "-DKW_PYTHON=$python" "$configured"; }; then
  configure "$tests" 9>&-
elif [[ ($need == data || $need == test) && .venv/optional-tried -nt $configured ]]; then # pyarrow may have come
  ! grep -qx -F -e -DBUILD_TESTING=ON "$configured" || tests=ON
  configure "$tests" 9>&-
fi
# shellcheck disable=SC2086  # a list of targets
build $target
end_python_job
[[ -z $with_python ]] || report_off

printf '%s\n' "$python" >"$started.line"
for name in "${done[@]}"; do
  cp "$started.line" "$started.$name"
  touch -r "$started" "$started.$name"
  mv "$started.$name" "$build/ready-$name"
done
