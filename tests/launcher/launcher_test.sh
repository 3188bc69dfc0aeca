#!/usr/bin/env bash
# ./kernelwright and tools/setup.sh in a small checkout, with stand-ins (stubs/stub) for everything that they call.
set -euo pipefail
here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd -P)
root=$(cd -- "$here/../.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
unset KW_PYTHON KW_WERROR
joined="-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2"
fail() {
  printf 'FAILED %s: %s\n' "$case" "$*" >&2
  sed 's/^/  stderr: /' "$scratch/err" >&2
  sed 's/^/  log: /' "$FAKE/log" >&2
  exit 1
}

# begin NAME: a new checkout in $checkout, and a machine with every package and every Python requirement offered.
begin() {
  case=$1
  checkout=$scratch/$1
  export FAKE=$scratch/$1.fake
  mkdir -p "$checkout"/{src,apps,cmake,python,tests} "$checkout/tools" "$FAKE/bin"
  cp "$root/kernelwright" "$checkout/"
  cp "$root"/tools/{setup,packages,python}.sh "$checkout/tools/"
  printf 'python plain\nrun  old | new # which of two\nrun  plain\ntest tester\n' >"$checkout/packages.txt"
  printf 'torch==2.13.0\nnumpy==2.4.6\n' >"$checkout/requirements.txt"
  printf 'triton==3.7.1\n' >"$checkout/requirements-optional.txt"
  printf 'peer==1.0\n' >"$checkout/requirements-test.txt"
  touch "$checkout"/{CMakeLists.txt,CMakePresets.json,src/a.cc,tests/t.cc} "$FAKE"/{log,python,outer}
  find "$checkout" -exec touch -d '1 minute ago' {} +
  printf 'old\nnew\nplain\ntester\n' >"$FAKE/installed"
  cp "$FAKE/installed" "$FAKE/offered"
  for name in id sudo dpkg dpkg-query apt-cache apt-get cmake ctest python3; do
    ln -s "$here/stubs/stub" "$FAKE/bin/$name"
  done
}

# run EXPECTED_EXIT ARGUMENT...: the launcher; its stdout to $out, its stderr to $scratch/err.
run() {
  local expected=$1 code=0
  shift
  out=$(cd "$checkout" && PATH="$FAKE/bin:$PATH" ./kernelwright "$@" 2>"$scratch/err") || code=$?
  [[ $code -eq $expected ]] || fail "exit $code instead of $expected for: $*"
}
says() { grep -q -F -e "$1" "$scratch/err" || fail "no word of: $1"; }
did() { grep -q -x -e "$1" "$FAKE/log" || fail "did not: $1"; }
did_not() { ! grep -q -e "$1" "$FAKE/log" || fail "should not have: $1"; }
forget() { : >"$FAKE/log"; }

begin first_and_second_run
run 0 eval 'a b' '' c
[[ $out == "<$checkout/.venv/bin/python><eval><a b><><c>" ]] || fail "the program got $out"
did "cmake --preset dev -DBUILD_TESTING=OFF -DKW_WERROR=OFF $joined"
did 'cmake --build build/dev --target kw_for_eval'
did 'pip torch==2.13.0'
did 'pip numpy==2.4.6'
did 'pip triton==3.7.1'
did_not 'pip peer'
did_not apt-get
forget
run 0 eval x
[[ ! -s $FAKE/log && ! -s $scratch/err ]] || fail "the second run did something"
run 0 --version
[[ ! -s $FAKE/log ]] || fail "a stamp of eval is none for --version"
touch "$checkout/src/a.cc"
run 0 eval x
[[ $(<"$FAKE/log") == 'cmake --build build/dev --target kw_for_eval' ]] || fail "a changed source is not just built"
forget
touch "$checkout/tests/t.cc"
run 0 eval x
[[ ! -s $FAKE/log ]] || fail "a changed test built something for eval"
run 0 test -R 'a b'
[[ $out == "<--preset><dev><-j><$(nproc)><-R><a b>" ]] || fail "ctest got $out"
did "cmake --preset dev -DBUILD_TESTING=ON -DKW_WERROR=OFF $joined -DKW_PYTHON=$checkout/.venv/bin/python"
did 'cmake --build build/dev --target all'
did 'pip peer==1.0'
forget
touch "$checkout/src/a.cc"
run 0 eval x
did_not preset # tests stay configured
rm -r "$checkout/.venv"
: >"$FAKE/python"
run 0 eval x
did 'pip torch==2.13.0'

begin program_needs_no_python
run 0 --version
did 'cmake --build build/dev --target kernelwright'
did_not pip

# Each group of commands builds its own programs, and what they are built on counts for other commands too.
begin groups_of_commands
run 0 solve relu
did 'cmake --build build/dev --target kw_for_solve'
forget
run 0 eval relu x.cpp
[[ ! -s $FAKE/log ]] || fail "eval builds once more what solve has built"
run 0 solve relu --model DIR
did 'cmake --build build/dev --target kw_for_solve kw_for_model'
forget
run 0 generate --model DIR
run 0 solve --resume --run DIR
[[ ! -s $FAKE/log ]] || fail "the engine is built once more"
run 0 data stats x
did 'cmake --build build/dev --target kw_for_data'
run 0 report x
did 'cmake --build build/dev --target kw_for_report'
run 0 eval relu x.cpp --judge URL
did 'cmake --build build/dev --target kw_for_service'
forget
run 0 problems check relu --judge URL
run 0 serve --data x
run 0 worker --server URL
run 0 submit relu x.cpp --server URL
run 0 queue --server URL
run 0 launch local --data x
[[ ! -s $FAKE/log ]] || fail "the service is built once more"
run 0 launch local --data x --model DIR
did 'cmake --build build/dev --target kw_for_service kw_for_model'
run 0 test
forget
for command in eval solve generate data report worker; do
  run 0 "$command" --model DIR
done
[[ ! -s $FAKE/log ]] || fail "a command builds once more what the tests have built"

begin first_test_compiles_beside_python
run 0 test
did "cmake --preset dev -DBUILD_TESTING=OFF -DKW_WERROR=OFF $joined"
did 'cmake --build build/dev --target kw_for_solve'
did "cmake --preset dev -DBUILD_TESTING=ON -DKW_WERROR=OFF $joined -DKW_PYTHON=$checkout/.venv/bin/python"
forget
touch "$checkout/src/a.cc"
run 0 test
did_not kw_for_solve

begin engine_needs_no_python
run 0 serve-model --model DIR
did 'cmake --build build/dev --target kw_for_model'
did_not pip

begin models_of_other_formats_need_the_engine_alone
run 0 model import x.gguf --out y
did 'cmake --build build/dev --target kw_for_model'
did_not pip

begin missing_without_root
touch "$FAKE/no-root"
printf 'new\n' >"$FAKE/installed" # the second alternative is here
run 2 eval x
says '  apt-get update && apt-get install -y --no-install-recommends plain'
[[ ! -s $FAKE/log && $out == "" ]] || fail "went on all the same"
: >"$FAKE/installed"
printf 'new\n' >"$FAKE/offered" # plain: in no package list, which may be out of date
run 2 eval x
says '  apt-get update && apt-get install -y --no-install-recommends new plain'

begin missing_with_sudo
touch "$FAKE/no-root" "$FAKE/sudo"
printf 'old\n' >"$FAKE/installed"
run 0 eval x
grep -q '^sudo env DEBIAN_FRONTEND=noninteractive apt-get .* install -y --no-install-recommends --no-remove plain$' "$FAKE/log" || fail "not through sudo"

begin missing_as_root
: >"$FAKE/installed"
: >"$FAKE/offered"
printf 'new\nplain\n' >"$FAKE/offered.new"
run 0 eval x
[[ $(grep -c 'apt-get.* update' "$FAKE/log") -eq 1 ]] || fail "the package lists were not read once"
grep -q 'install .* plain$' "$FAKE/log" || fail "Python's packages are not installed first"
grep -q 'install .* new$' "$FAKE/log" || fail "not the alternative that is offered"
did_not tester
forget
touch "$checkout/packages.txt"
run 0 eval x
did_not apt-get

begin unknown_alternatives
touch "$FAKE/no-root" "$FAKE/sudo"
: >"$FAKE/installed"
printf 'plain\n' >"$FAKE/offered"
run 2 eval x
says 'offer none of: old new'
did_not install

begin pip_fails
printf 'torch==2.13.0\n' >"$FAKE/pip-fails"
run 2 eval x
says 'pip could not install torch==2.13.0'
did_not numpy
did 'cmake --build build/dev --target kw_for_eval' # goes on beside it
[[ ! -e $checkout/build/dev/ready-eval ]] || fail "counts as ready"
rm "$FAKE/pip-fails"
forget
run 0 eval x
did 'pip torch==2.13.0'
did_not 'venv' # the one of the first run serves

begin optional_fails
printf 'triton==3.7.1\n' >"$FAKE/pip-fails"
run 0 eval x
says 'pip could not install triton==3.7.1: going on without it'
forget
touch "$checkout/src/a.cc"
run 0 eval x
did_not pip # tried once

begin torch_of_the_system
printf 'torch==2.11\n' >"$FAKE/outer"
printf 'torch==2.13.0\nnumpy==2.4.6\n' >"$FAKE/python"
run 0 eval x
did 'python3 -m venv --clear --system-site-packages .venv'
did_not 'pip torch'

begin given_python
mkdir "$checkout/own"
cp "$here/stubs/stub" "$checkout/own/python"
export KW_PYTHON=$checkout/own/python
run 2 eval x
says "$KW_PYTHON has no torch 2.11 or later"
printf 'torch==2.11\n' >"$FAKE/python"
run 0 eval x
[[ $out == "<$KW_PYTHON><eval><x>" ]] || fail "the program got $out"
did_not venv
mkdir "$checkout/other"
cp "$KW_PYTHON" "$checkout/other/python" # good a moment ago, and another one now
export KW_PYTHON=$checkout/other/python
: >"$FAKE/python"
run 2 eval x
unset KW_PYTHON

begin configure_fails
touch "$FAKE/configure-fails"
run 2 eval x
says 'cmake could not configure'
did "cmake --preset dev --fresh -DBUILD_TESTING=OFF -DKW_WERROR=OFF $joined"
rm "$FAKE/configure-fails"
forget
run 0 eval x
did "cmake --preset dev -DBUILD_TESTING=OFF -DKW_WERROR=OFF $joined"

begin build_fails
touch "$FAKE/build-fails"
run 2 eval x
says 'the build failed'
rm "$FAKE/build-fails"
forget
run 0 eval x
did_not preset # configured already

begin edited_while_building
touch "$FAKE/build-edits"
run 0 eval x
rm "$FAKE/build-edits"
forget
run 0 eval x
did 'cmake --build build/dev --target kw_for_eval'

begin two_at_once
(cd "$checkout" && PATH="$FAKE/bin:$PATH" ./kernelwright eval x >"$scratch/other" 2>&1) &
run 0 eval x
wait $! || fail "the other run failed: $(<"$scratch/other")"
did_not 'two at once'

begin interrupted
touch "$FAKE/build-slow"
(cd "$checkout" && PATH="$FAKE/bin:$PATH" exec setsid env --default-signal=INT ./kernelwright eval x 2>"$scratch/err") &
group=$!
while [[ ! -e $FAKE/building ]]; do
  kill -0 "$group" 2>/dev/null || fail "ended before the build"
  read -r -t 0.01 <> <(:) || true
done
kill -INT -- "-$group"
code=0
wait "$group" || code=$?
[[ $code -eq 130 ]] || fail "exit $code after an interrupt"
says 'the next run goes on from here'
rm -r "$FAKE/build-slow" "$FAKE/busy"
run 0 eval x

begin shared_checkout
run 0 eval x
ordinary() { # as somebody who may only read the checkout
  if [[ $EUID -eq 0 ]]; then
    setpriv --reuid 65534 --regid 65534 --clear-groups env PATH="$FAKE/bin:$PATH" "$@"
  else
    chmod -R a-w "$checkout"
    PATH="$FAKE/bin:$PATH" "$@"
    chmod -R u+w "$checkout"
  fi
}
out=$(cd / && ordinary "$checkout/kernelwright" eval y 2>"$scratch/err") || fail "an ordinary user cannot run it"
[[ $out == "<$checkout/.venv/bin/python><eval><y>" ]] || fail "the program got $out"
touch "$checkout/src/a.cc"
forget
out=$(ordinary "$checkout/kernelwright" eval y 2>"$scratch/err") || fail "an ordinary user cannot run an old build"
says 'running what is built'
[[ ! -s $FAKE/log ]] || fail "tried to build"
rm "$checkout"/build/dev/ready-*
! ordinary "$checkout/kernelwright" eval y 2>"$scratch/err" || fail "runs without a build"
says 'nothing is built for this'

begin symbolic_link
run 0 eval x
ln -s "$checkout/kernelwright" "$scratch/link"
forget
out=$(cd / && PATH="$FAKE/bin:$PATH" "$scratch/link" eval z 2>"$scratch/err") || fail "not through a link"
[[ $out == *'<eval><z>' && ! -s $FAKE/log ]] || fail "a link is not the checkout: $out"

echo "launcher: all cases passed"
