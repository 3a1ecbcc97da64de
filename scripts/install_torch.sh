#!/bin/sh
# Install the version of torch that constraints.txt names, in the smallest build that serves this machine.
# Usage: install_torch.sh PYTHON   (TORCH_INDEX: index of the CPU builds; empty to use the default index at once)
set -eu
python=$1
wanted=$(sed -n 's/^torch==//p' constraints.txt)
pip() { "$python" -m pip install -qq "$@"; }

# Kept where it is there already, whatever its build.
found=$("$python" -c 'from importlib.metadata import version; print(version("torch").split("+")[0])' 2>/dev/null || true)

if [ "$found" != "$wanted" ]; then
  echo "Installing torch $wanted; this takes a while"
  # A wheel in a folder that pip was told of (find-links), which needs no network.
  if pip --no-index --no-deps "torch==$wanted" 2>/dev/null; then
    :
  # Without an NVIDIA GPU the CPU build will do: it is a tenth of the default one on Linux.
  elif [ -n "${TORCH_INDEX:-}" ] && [ "$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null 2>&1 &&
    pip --retries 1 --timeout 20 --no-deps --index-url "$TORCH_INDEX" "torch==$wanted"; then
    :
  else
    echo "Taking torch $wanted from the default index, in whatever build it has for this machine"
  fi
fi
pip --constraint constraints.txt "torch==$wanted" # its dependencies, and torch itself where it is still missing
