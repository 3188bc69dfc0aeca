# shellcheck shell=bash
# Functions that make .venv and say whether a Python will do; sourced by tools/setup.sh, which defines say and die and is in the root folder.
# One Python: .venv. Where python3 has torch 2.11 or later, .venv sees that one's packages and keeps their versions.

# Lines of FILE (a requirements file) that PYTHON does not have. any: every version is good, but torch must be 2.11 or later.
missing_requirements() { # PYTHON FILE pinned|any
  "$1" -I - "$2" "$3" <<'EOF'
import re, sys
from importlib import metadata

def found(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

def holds(marker):
    if not marker:
        return True
    from pip._vendor.packaging.markers import Marker
    return Marker(marker).evaluate()

for line in open(sys.argv[1], encoding="utf-8"):
    text = line.split("#")[0].strip()
    requirement, _, marker = text.partition(";")
    if not requirement or not holds(marker.strip()):
        continue
    name, wanted = requirement.strip().split("==")
    version = found(name)
    if sys.argv[2] == "pinned":
        good = version is not None and version.split("+")[0] == wanted
    elif name == "torch":
        numbers = re.match(r"(\d+)\.(\d+)", version or "")
        good = numbers is not None and tuple(map(int, numbers.groups())) >= (2, 11)
    else:
        good = version is not None
    if not good:
        print(text)
EOF
}

has_torch() { # PYTHON
  [[ -z $(missing_requirements "$1" <(printf 'torch==2.11\n') any 2>/dev/null || echo broken) ]]
}

# KW_PYTHON: nothing is installed into it.
check_given_python() { # PYTHON
  [[ -x $1 ]] || die "KW_PYTHON: $1 is not a program"
  has_torch "$1" || die "KW_PYTHON: $1 has no torch 2.11 or later; install it there, or leave KW_PYTHON unset for a .venv with one"
}

make_venv() {
  local options=() parent
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "python3 is $(python3 -V 2>&1); 3.10 or later is needed"
  if has_torch python3; then
    options=(--system-site-packages)
    say "making .venv over python3's packages (it has torch)"
  else
    say "making .venv"
  fi
  python3 -m venv --clear "${options[@]}" .venv >&2 || die "python3 -m venv failed (its words are above)"
  # A venv made from a venv sees only the packages of the Python below both: name the outer one's folder.
  parent=$(python3 -c 'import sys, sysconfig; print(sysconfig.get_paths()["purelib"] if sys.prefix != sys.base_prefix else "")')
  if [[ ${#options[@]} -gt 0 && -n $parent ]]; then
    printf '%s\n' "$parent" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/outer.pth"
  fi
}

pip_install() { # ARGUMENT...
  local quiet=(-q)
  [[ ! -t 2 ]] || quiet=()
  .venv/bin/python -m pip install --disable-pip-version-check ${quiet[@]+"${quiet[@]}"} "$@" >&2
}

install_requirements() { # pinned|any
  local missing torch others=()
  missing=$(missing_requirements .venv/bin/python requirements.txt "$1") || die "requirements.txt could not be read"
  torch=$(grep '^torch==' <<<"$missing" || true)
  if [[ -n $torch ]]; then
    say "installing $torch with pip"
    if [[ ! -e /dev/nvidiactl ]] && ! type -P nvidia-smi >/dev/null; then
      say "note: there is no NVIDIA device here. Where your package index has CUDA builds only, this is a download of some GB;"
      say "      pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, pip.conf) can name an index with the CPU build"
    fi
    pip_install "$torch" || die "pip could not install $torch (its words are above); the next run tries again"
  fi
  mapfile -t others < <(grep -v -e '^torch==' -e '^$' <<<"$missing")
  if [[ ${#others[@]} -gt 0 ]]; then
    say "installing ${others[*]} with pip"
    pip_install "${others[@]}" || die "pip could not install ${others[*]} (its words are above); the next run tries again"
  fi
}

# Tried once per content of the file: a machine that cannot have them is not kept waiting again.
install_where_possible() { # optional|test any|pinned
  local file=requirements-$1.txt tried=.venv/$1-tried key missing line
  key=$(cksum <"$file")
  [[ ! -e $tried || $(<"$tried") != "$key" ]] || return 0
  missing=$(missing_requirements .venv/bin/python "$file" "$2") || die "$file could not be read"
  while read -r line; do
    [[ -n $line ]] || continue
    say "installing $line with pip ($file)"
    pip_install "$line" || say "pip could not install $line: going on without it (remove $tried to have it tried again)"
  done <<<"$missing"
  printf '%s\n' "$key" >"$tried"
}

prepare_venv() { # run|test
  local mode=pinned
  if [[ ! -x .venv/bin/python ]] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    make_venv
  fi
  ! grep -qi '^include-system-site-packages *= *true' .venv/pyvenv.cfg || mode=any
  install_requirements "$mode"
  install_where_possible optional any
  [[ $1 != test ]] || install_where_possible test pinned
}
