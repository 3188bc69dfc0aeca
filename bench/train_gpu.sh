#!/usr/bin/env bash
# Builds the torch programs on a machine with a GPU (a clone, with the headers of tools/bundle --third-party) and measures: log-probabilities of
# the trainer beside the engine's, and tokens a second of SFT beside PyTorch with transformers' shapes.
# usage: bench/train_gpu.sh THIRD_PARTY OUT [OPTION ...] [SHAPE ...]   THIRD_PARTY: of tools/bundle --third-party; OUT: a folder for results (JSON lines)
#   SHAPE  28m, 0.5b, 1.5b or 3b (default: 28m 0.5b 1.5b); options are those of train_gpu.py
set -euo pipefail
cd -- "${BASH_SOURCE[0]%/*}/.."
third=$1
out=$2
shift 2
[[ $# -gt 0 ]] || set -- 28m 0.5b 1.5b
build=build/torch-gpu
mkdir -p "$out" "$build"
began=$SECONDS
cmake -S . -B "$build" -DKW_TORCH=ON -DKW_THIRD_PARTY="$third" -DKW_TORCH_PYTHON="${KW_PYTHON:-python3}" -DBUILD_TESTING=OFF \
  -DCMAKE_BUILD_TYPE=Release >"$out/configure.log" 2>&1 || { tail -20 "$out/configure.log"; exit 2; }
cmake --build "$build" --parallel "$(nproc)" --target kernelwright-train kw_train_parity kw_train_kernels kw_train_step_to_token >"$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 2; }
echo "built in $((SECONDS - began)) s"
"$build"/bin/kw_train_kernels >"$out/kernels.log" 2>&1 || { grep -E "WRONG|error" "$out/kernels.log"; exit 1; }
exec "${KW_PYTHON:-python3}" bench/train_gpu.py --bin "$build/bin" --out "$out/results.jsonl" "$@"
