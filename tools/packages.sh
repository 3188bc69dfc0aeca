#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages of packages.txt that are missing; asks nothing of the network when none is.
# usage: tools/packages.sh [--file FILE] GROUP...
# exit: 0 all there; 2 not, and stderr says which command would install them.
set -euo pipefail

file=${BASH_SOURCE[0]%/*}/../packages.txt
if [[ ${1-} == --file ]]; then
  file=$2
  shift 2
fi
[[ $# -ge 1 ]] || { sed -n '2,4p' "${BASH_SOURCE[0]}" >&2; exit 2; }
groups=" $* "
say() { printf 'kernelwright: %s\n' "$*" >&2; }
die() { say "$@"; exit 2; }

# lines: each element is one line's alternatives, separated by spaces.
lines=()
while read -r group rest; do
  rest=${rest%%#*}
  [[ $group == "" || $group == \#* || $groups != *" $group "* ]] || lines+=("${rest//|/ }")
done <"$file"
[[ ${#lines[@]} -gt 0 ]] || die "$file: no package of the groups$groups"

declare -A installed=()
read_installed() {
  local names status name
  names=$(tr ' ' '\n' <<<"${lines[*]}" | grep -v -e : -e '^$')
  installed=()
  # shellcheck disable=SC2086  # one word per package
  while read -r status name; do
    [[ $status != ii* ]] || installed[$name]=1
  done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $names 2>/dev/null)
}

here() { # ALTERNATIVE
  case $1 in
    command:*) type -P "${1#*:}" >/dev/null ;;
    module:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
    python-header:*) [[ -e $(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2>/dev/null)/${1#*:} ]] ;;
    *) [[ -n ${installed[$1]-} ]] ;;
  esac
}

# missing: the lines none of whose alternatives is here.
missing=()
find_missing() {
  local line alternative
  missing=()
  for line in "${lines[@]}"; do
    for alternative in $line; do
      ! here "$alternative" || continue 2
    done
    missing+=("$line")
  done
}

# chosen: for each missing line the first alternative that the package lists offer; unavailable: the lines without one.
chosen=()
unavailable=()
choose() {
  local line alternative offered
  chosen=()
  unavailable=()
  # shellcheck disable=SC2048,SC2086  # one word per alternative
  offered=" $(LC_ALL=C apt-cache policy ${missing[*]} 2>/dev/null |
    awk '/^[^ ]/ {name = substr($1, 1, length($1) - 1)} /^  Candidate:/ && $2 != "(none)" {print name}' | tr '\n' ' ')"
  for line in "${missing[@]}"; do
    for alternative in $line; do
      if [[ $offered == *" $alternative "* ]]; then
        chosen+=("$alternative")
        continue 2
      fi
    done
    unavailable+=("$line")
  done
}

if ! type -P dpkg-query >/dev/null; then
  find_missing
  [[ ${#missing[@]} -eq 0 ]] || say "not Debian or Ubuntu: packages.txt lists what the build needs; it goes on with what is here"
  exit 0
fi
read_installed
find_missing
[[ ${#missing[@]} -gt 0 ]] || exit 0
choose

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  as_root=(sudo -n)
  if ! { type -P sudo && sudo -n true; } >/dev/null 2>&1; then
    for line in ${unavailable[@]+"${unavailable[@]}"}; do
      read -r first _ <<<"$line" # the package lists are old or empty: the command below begins with an update
      chosen+=("$first")
    done
    say "packages are missing, and there is neither root nor sudo without a password here. Run this as root, then again what you ran:"
    die "  apt-get update && apt-get install -y --no-install-recommends ${chosen[*]}"
  fi
fi
apt() {
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@" >&2
}
if [[ ${#unavailable[@]} -gt 0 ]]; then
  say "reading the package lists (apt-get update)"
  apt update || die "apt-get update failed (its words are above)"
  choose
  for line in ${unavailable[@]+"${unavailable[@]}"}; do
    read -ra words <<<"$line"
    die "this system's package sources offer none of: ${words[*]} (a line of packages.txt)"
  done
fi

# --no-remove: nothing of the user's goes away without a word. A dpkg that was interrupted is finished first.
install() { apt install -y --no-install-recommends --no-remove "${chosen[@]}"; }
say "installing ${#chosen[@]} packages: ${chosen[*]}"
${as_root[@]+"${as_root[@]}"} dpkg --configure -a >&2 || say "dpkg --configure -a failed; trying all the same"
if ! install; then
  say "once more, after apt-get update"
  { apt update && install; } || die "apt-get could not install: ${chosen[*]} (its words are above; nothing that others need was removed)"
fi
read_installed
find_missing
[[ ${#missing[@]} -eq 0 ]] || die "installed, and still missing: ${missing[*]}"
