#!/usr/bin/env bash
# Builds the programs that link torch with their tests, in build/torch-test, and runs these tests on the CPU. Where build/dev has the gym's
# environment (tools/setup.sh environment), a step of plans is played in it too. Files are compiled eight together, through ccache where it is.
# usage: tools/train_tests.sh [CTEST_OPTION ...]; KW_PYTHON=PROGRAM names the Python with torch (default .venv), KW_WERROR=ON|OFF, KW_JOBS=N compilers
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/.."
python=${KW_PYTHON:-$PWD/.venv/bin/python}
build=build/torch-test
options=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8)
! type -P ninja >/dev/null || options+=(-G Ninja)
! type -P ccache >/dev/null || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
mkdir -p "$build"
cmake -S . -B "$build" "${options[@]}" -DKW_TORCH=ON -DKW_STATIC=ON -DKW_WERROR="${KW_WERROR:-OFF}" -DKW_TORCH_PYTHON="$python" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g1" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 2; }
cmake --build "$build" --parallel "${KW_JOBS:-$(nproc)}" --target train_test kernelwright-train
environment=$PWD/build/dev/bin/kernelwright-environment
if [[ -x $environment ]]; then
  export KW_PYTHON=$python KW_ENVIRONMENT=$environment
else
  echo "train_tests: no $environment: the step of plans is left out"
fi
[[ ! -x build/dev/bin/kernelwright-parquet ]] || export KW_PARQUET=$PWD/build/dev/bin/kernelwright-parquet
ctest --test-dir "$build" -j "${KW_JOBS:-$(nproc)}" --output-on-failure -R '^(train\.|train_sft|train_distill|train_ranks|train_rl)' "$@"
