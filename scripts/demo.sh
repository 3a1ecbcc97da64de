#!/bin/sh
# Run a plan, write its page, and say where both are. Ends with the run's exit code.
# Usage: demo.sh PLAN
set -eu
plan=$1
run=runs/$(date -u +%Y-%m-%dT%H-%M-%SZ)-$(basename "$plan" .yaml)-$$
draftmark=.venv/bin/draftmark

code=0
"$draftmark" run "$plan" --out "$run" || code=$?
if [ "$code" -gt 1 ]; then # 1: some turns failed, and the page shows which
  [ "$code" != 130 ] || echo "(draftmark is $draftmark here)" >&2
  exit "$code"
fi
"$draftmark" report "$run" --out site >/dev/null
echo
echo "Run folder:  $run"
echo "Page:        site/index.html (open it in a browser; it needs no network)"
exit "$code"
