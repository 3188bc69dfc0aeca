#!/usr/bin/env bash
# tools/python.sh with the real python3: which versions count as there, and a venv made from within a venv.
set -euo pipefail
root=$(cd -- "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
say() { :; }
die() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
# shellcheck source=tools/python.sh
source "$root/tools/python.sh"

python3 -m venv outer
site=$(outer/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
put() { # NAME VERSION: a package of that version, as its metadata says
  rm -rf "$site/$1"-*.dist-info
  mkdir -p "$site/$1-$2.dist-info"
  printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "$1" "$2" >"$site/$1-$2.dist-info/METADATA"
}
expect() { # MODE MISSING...
  local mode=$1 got
  shift
  got=$(missing_requirements outer/bin/python requirements.txt "$mode")
  [[ $got == "$(printf '%s\n' "$@")" ]] || die "$mode: missing is '$got', not '$*'"
}
cat >requirements.txt <<'EOF'
# comment
torch==2.13.0
numpy==2.4.6; python_version >= "3.8"
absent==1; python_version < "3.8"
EOF
numpy='numpy==2.4.6; python_version >= "3.8"'

expect pinned torch==2.13.0 "$numpy"
put torch 2.13.0+cpu
expect pinned "$numpy"
put numpy 2.2.0
expect pinned "$numpy"
expect any
put torch 2.11.0
expect pinned torch==2.13.0 "$numpy"
expect any
put torch 2.11.0a0+nv26.1
expect any
put torch 2.9.1
expect any torch==2.13.0
! has_torch outer/bin/python || die "torch 2.9 is taken"
! has_torch "$scratch/none" || die "a missing Python is taken"
put torch 3.0
has_torch outer/bin/python || die "torch 3.0 is not taken"

# python3 is a venv's with torch: .venv sees that one's packages.
PATH=$scratch/outer/bin:$PATH
hash -r
make_venv 2>/dev/null
has_torch .venv/bin/python || die ".venv does not see the torch of the venv that python3 is in"
grep -qi 'include-system-site-packages *= *true' .venv/pyvenv.cfg || die ".venv does not see the system's packages"
echo "launcher_python: all cases passed"
