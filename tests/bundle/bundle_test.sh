#!/usr/bin/env bash
# A bundle of the build folder BUILD in OUT: its front program runs, its torch program is built from the bundled headers alone and runs.
# usage: bundle_test.sh BUILD OUT; needs a Python with torch (KW_PYTHON, or .venv)
set -euo pipefail
root=$(cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
build=$1
out=$2
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
export KW_PYTHON=${KW_PYTHON:-$root/.venv/bin/python}

rm -rf "$out" "$out".*
# A newer system's programs need its own C library; on Debian 12 this is the promise itself.
glibc=$(getconf GNU_LIBC_VERSION)
glibc=$(printf '%s\n' 2.36 "${glibc#glibc }" | sort -V | tail -1)
"$root/tools/bundle" --build "$build" --glibc "$glibc" "$out"

if "$root/tools/bundle" --build "$build" --glibc 2.2 "$out.old" 2>"$out.message"; then
  fail "tools/bundle takes programs that need a newer C library than was asked for"
fi
[[ ! -e $out.old ]] || fail "half a bundle is left behind"
grep -q 'later than 2.2' "$out.message" || fail "no word about the C library: $(<"$out.message")"
mkdir -p "$out.taken" && touch "$out.taken/mine"
! "$root/tools/bundle" --build "$build" --glibc "$glibc" "$out.taken" 2>/dev/null || fail "tools/bundle replaces a folder that is not a bundle"
[[ -e $out.taken/mine ]] || fail "tools/bundle removed a file that is not its own"

[[ $("$out/kernelwright" --version | head -1) == kernelwright* ]] || fail "the bundled front program does not say its version"

# The trainer takes minutes to build, and tools/train_tests.sh builds it.
export KW_TORCH_TARGET=kernelwright-torch-smoke
(cd "$out" && ./build >build.log 2>&1) || { tail -40 "$out/build.log" >&2; fail "./build"; }
read_files=$(ninja -C "$out/dist/torch" -t deps | grep -E '/(fmt|nlohmann|tl|CLI|toml\+\+|spdlog|openssl)/[^ ]*\.(h|hpp)$' | sort -u)
grep -q "/third_party/include/nlohmann/json.hpp" <<<"$read_files" || fail "the bundled JSON header was not used"
outside=$(grep -v "/third_party/include/" <<<"$read_files" | grep -v '/torch/include/' || true)
[[ -z $outside ]] || fail "third-party headers from outside the bundle: $outside"

result=$("$out/dist/torch/bin/kernelwright-torch-smoke") || fail "the torch program says $result"
echo "$result"
grep -q '"matmul_error":0.0' <<<"$result" || fail "the product is wrong: $result"
rm -rf "$out" "$out".*
