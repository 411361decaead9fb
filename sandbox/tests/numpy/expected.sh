#!/usr/bin/env bash
# Fills FOLDER/expected with numpy's own tests and the names of those that pass on this machine: expected.sh FOLDER
set -euo pipefail
version=2.4.6
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
[ -d venv ] || python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check numpy==$version
# The wheel has the tests beside the modules.
installed=$(venv/bin/python -c 'import numpy, os; print(os.path.dirname(numpy.__file__))')
rm -rf expected
venv/bin/python "$here/expected.py" "$installed" expected
