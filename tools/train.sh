#!/usr/bin/env bash
# Starts kernelwright-train; ./kernelwright sft, distill and rl run this. Before that it builds the program against this machine's torch, in build/torch,
# where it is not there or older than the sources (minutes). In a bundle, ./build has built it.
# usage: tools/train.sh sft|distill|rl OPTION ...; KW_PYTHON=PROGRAM names the Python whose torch is linked (default .venv, which tools/setup.sh makes)
set -euo pipefail
here=$PWD
# The gym's environment is a program of its own, for which the trainer waits only where the configuration has its table.
needs_gym() {
  [[ $1 == rl ]] || return 1
  [[ " $* " != *" --plan "* ]] || return 1
  local word before=""
  for word; do
    [[ $word != environment.* && $word != --set=environment.* ]] || return 0
    [[ $before != --config ]] || ! grep -Eqs '^\[environment[].]' "$word" || return 0
    [[ $word != --config=* ]] || ! grep -Eqs '^\[environment[].]' "${word#*=}" || return 0
    before=$word
  done
  return 1
}
# Parquet is read by a program of its own, which links the pyarrow of that Python. Only rows are read so.
needs_parquet() {
  [[ $1 != rl && " $* " != *" --plan "* ]] || return 1
  local word before=""
  for word; do
    [[ $word != *.parquet* ]] || return 0
    [[ $before != --config ]] || ! grep -Eqs '^[^#]*\.parquet' "$word" || return 0
    [[ $word != --config=* ]] || ! grep -Eqs '^[^#]*\.parquet' "${word#*=}" || return 0
    before=$word
  done
  return 1
}
root=$(cd -- "${BASH_SOURCE[0]%/*}/.." && pwd -P)
if [[ -e $root/bundle.txt ]]; then
  program=$root/dist/torch/bin/kernelwright-train
  [[ -x $program ]] || { echo "kernelwright: run $root/build first: it builds the programs that link torch" >&2; exit 2; }
  ! needs_gym "$@" || set -- "$@" --set "program=$root/dist/static/bin/kernelwright-environment"
  exec "$program" "$@"
fi

gym="" parquet=""
! needs_gym "$@" || gym=yes
! needs_parquet "$@" || parquet=yes
cd -- "$root"
case ${KW_PYTHON-} in
  "") python=$root/.venv/bin/python ;;
  */*) python=$KW_PYTHON ;;
  *) python=$(type -P "$KW_PYTHON") || { echo "kernelwright: KW_PYTHON: $KW_PYTHON: not found" >&2; exit 2; } ;;
esac
build=build/torch
program=$root/$build/bin/kernelwright-train
stamp=$build/ready # holds the Python that was linked
say() { printf 'kernelwright: %s\n' "$*" >&2; }
die() { say "$@"; exit 2; }
# shellcheck source=tools/python.sh
source tools/python.sh
fresh() {
  [[ -x $program && -e $stamp && $(<"$stamp") == "$python" ]] &&
    [[ -z $(find CMakeLists.txt cmake src apps/train -type f ! -name '*_test.cc' -newer "$stamp" -print -quit) ]]
}
if ! fresh; then
  mkdir -p "$build"
  exec 9>>"$build/lock" # closed in every child
  flock 9
  if ! fresh; then
    began=$(mktemp "$build/.ready-XXXXXX") # its time is the stamp's: what changes from now on is built next time
    printf '%s\n' "$python" >"$began"
    tools/packages.sh run 9>&-
    if [[ -n ${KW_PYTHON-} ]]; then
      check_given_python "$python"
    else
      prepare_venv run 9>&-
    fi
    generator=()
    ! type -P ninja >/dev/null || generator=(-G Ninja)
    say "building the trainer against the torch of $python (once; some minutes)"
    cmake -S . -B "$build" "${generator[@]}" -DKW_TORCH=ON -DKW_STATIC=ON -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release \
      -DKW_TORCH_PYTHON="$python" >"$build/configure.log" 2>&1 9>&- || { cat "$build/configure.log" >&2; die "cmake could not configure the build"; }
    cmake --build "$build" --parallel "$(nproc)" --target kernelwright-train >&2 9>&- || die "the build failed (its words are above)"
    cp -p "$began" "$stamp"
    rm -f "$began"
  fi
  exec 9>&-
fi
if [[ -n $gym ]]; then
  tools/setup.sh environment "$python"
  export KW_PYTHON=$python
  set -- "$@" --set "program=$root/build/dev/bin/kernelwright-environment"
fi
if [[ -n $parquet ]]; then
  tools/setup.sh data "$python"
  export KW_PARQUET=$root/build/dev/bin/kernelwright-parquet
fi
cd -- "$here"
exec "$program" "$@"
