#!/bin/sh
# Check the reference engine on a GPU in at most five minutes, and leave run folders behind as the record.
# Usage: scripts/gpu_check.sh [OUT]   (PYTHON=python3 with torch, transformers and Draftmark; see gpu_check.py)
set -eu
cd "$(dirname "$0")/.."
out=${1:-runs/gpu-check-$(date -u +%Y-%m-%dT%H-%M-%SZ)}
python=${PYTHON:-.venv/bin/python}
exec timeout "${LIMIT_S:-300}" "$python" scripts/gpu_check.py "$out" \
  --device "${DEVICE:-cuda}" --shape "${SHAPE:-8b}" --small "${SMALL:-smollm2-135m}" --tokens "${TOKENS:-32}"
