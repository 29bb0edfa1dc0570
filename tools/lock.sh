#!/bin/sh
# Writes the lock files anew; versions that still fit stay. They hold names, versions and hashes, but
# no index addresses, so that they install from any mirror. Usage: tools/lock.sh UV [OPTION ...]
# Dependabot reads from the first lines how each *.txt was made, and makes it the same way. It does
# not read *.lock: the lowest versions change with pyproject.toml alone.
set -eu
uv=$1
shift
cd "$(dirname "$0")/../requirements"
compile() { "$uv" pip compile --universal --python-version 3.11 --generate-hashes --quiet "$@"; }
for name in run dev agents build image frameworks site; do
  compile "$@" "$name.in" -o "$name.txt"
done
compile --resolution lowest-direct ../pyproject.toml --group ../pyproject.toml:test -o lowest.lock
