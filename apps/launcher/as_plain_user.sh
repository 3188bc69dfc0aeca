#!/bin/sh
# Runs the sandbox tests as a user without privileges: as_plain_user.sh TEST_PROGRAM FILE... (what the tests need).
set -eu
if [ "$(id -u)" -ne 0 ]; then
  exec "$1"
fi
# The build folder may be closed to other users.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$@" "$folder"
chmod -R a+rX "$folder"
cd /
KW_TEST_BINARIES="$folder" PATH=/usr/bin:/bin HOME=/ TMPDIR=/tmp \
  setpriv --reuid=62000 --regid=62000 --clear-groups "$folder/$(basename "$1")"
