#!/bin/sh
# Create the virtual environment FOLDER with PYTHON, or keep one that works.
# Usage: make_venv.sh PYTHON FOLDER
set -eu
python=$1 folder=$2

if "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
  exit 0
fi
if ! command -v "$python" >/dev/null 2>&1; then
  echo "There is no $python here. Draftmark needs Python 3.11 or newer (on Debian or Ubuntu: apt-get install python3" \
    "python3-venv); another one is named by: make PYTHON=python3.12 ..." >&2
  exit 2
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "$python is $("$python" -V 2>&1), and Draftmark needs 3.11 or newer; name one by: make PYTHON=python3.12 ..." >&2
  exit 2
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "$python has no venv module; on Debian or Ubuntu: apt-get install python3-venv (or python$version-venv)" >&2
  exit 2
fi
echo "Creating $folder with $("$python" -V)"
"$python" -m venv --clear "$folder"
