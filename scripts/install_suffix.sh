#!/bin/sh
# Build and install arctic-inference (the drafter `suffix`) where this machine can; where not, say so and go on.
# Usage: install_suffix.sh PYTHON STAMP   (the stamp says that there is no need to try again)
#
# It comes as source only, and its isolated build would download a torch of its own, so it is built against the one in
# the environment; with ninja and cmake from packages that takes half a minute.
set -eu
python=$1 stamp=$2
wanted=$(sed -n 's/^arctic-inference==//p' constraints.txt)
PATH=$(cd "$(dirname "$python")" && pwd):$PATH # absolute, since the build runs elsewhere
export PATH

without() {
  echo "The drafter suffix is left out: $1"
  exit 0
}

if [ "$("$python" -c 'from importlib.metadata import version; print(version("arctic-inference"))' 2>/dev/null)" != "$wanted" ]; then
  command -v c++ >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 ||
    without "arctic-inference needs a C++ compiler (on Debian or Ubuntu: apt-get install g++ python3-dev)"
  "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    without "arctic-inference needs Python's headers (on Debian or Ubuntu: apt-get install python3-dev)"
  echo "Building arctic-inference $wanted for the drafter suffix; about half a minute"
  log=$(dirname "$stamp")/suffix.log
  { "$python" -m pip install -qq 'setuptools>=77' ninja cmake nanobind==2.9.2 &&
    "$python" -m pip install --no-deps --no-build-isolation "arctic-inference==$wanted"; } >"$log" 2>&1 ||
    { touch "$stamp" && without "arctic-inference did not build; $log says why. To try again: rm $stamp"; }
  "$python" -m pip uninstall -qq --yes ninja cmake nanobind
  rm "$log"
fi
touch "$stamp"
