#!/bin/sh
# Writes the lock files anew. They hold names, versions and hashes, but no index addresses,
# so that they install from any mirror. Usage: tools/lock.sh UV
set -eu
uv=$1
compile() { "$uv" pip compile --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --quiet "$@"; }
compile pyproject.toml -o requirements/run.lock
compile --group dev pyproject.toml -o requirements/dev.lock
compile requirements/agents.in -o requirements/agents.lock
compile requirements/build.in -o requirements/build.lock
compile requirements/image.in -o requirements/image.lock
compile requirements/frameworks.in -o requirements/frameworks.lock
