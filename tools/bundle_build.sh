#!/usr/bin/env bash
# Builds the programs that link torch, inside a bundle (tools/bundle copies this there as ./build), into dist/torch/bin.
# usage: ./build [CMAKE_OPTION ...]; KW_PYTHON=PROGRAM names the Python whose torch is linked (default python3),
# KW_TORCH_TARGET=NAME builds one program alone
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}"
[[ -e bundle.txt ]] || { echo "this runs inside a bundle; tools/bundle makes one" >&2; exit 2; }
for program in cmake g++; do
  type -P "$program" >/dev/null || { echo "./build needs $program" >&2; exit 2; }
done
generator=()
! type -P ninja >/dev/null || generator=(-G Ninja)
cmake -S . -B dist/torch "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DKW_TORCH=ON \
  -DKW_THIRD_PARTY="$PWD/third_party" -DKW_TORCH_PYTHON="${KW_PYTHON:-python3}" "$@"
cmake --build dist/torch --parallel "$(nproc)" --target "${KW_TORCH_TARGET:-all}"
echo "built: $(ls dist/torch/bin)"
