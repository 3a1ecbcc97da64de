#!/bin/sh
# One night: run a plan, gate it by the last accepted run of this machine, write the pages, keep the history.
# Usage: nightly.sh [PLAN]. Ends with 0 pass or first run, 1 regression, 2 cannot decide, or as `draftmark run` ended.
#   HISTORY   where runs are kept                                           (runs/nightly)
#   SITE      where reports and pages go                                    (site)
#   RULES     the gate's rules; docs/gate.md                                (its defaults)
#   BASELINE  the run to gate by, instead of the last accepted one
#   ACCEPT    1: take this run as the new baseline, whatever it measured
#   KEEP      how many runs of a plan and machine are kept                  (30)
set -eu
plan=${1:-examples/nightly.yaml}
history=${HISTORY:-runs/nightly} site=${SITE:-site} keep=${KEEP:-30}

summary() { # show the verdict on the page of a GitHub job
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -e "$site/gate.md" ]; then
    cat "$site/gate.md" >>"$GITHUB_STEP_SUMMARY"
  fi
}

bin=.venv/bin
if ! [ -x "$bin/draftmark" ]; then
  command -v draftmark >/dev/null || { echo "nightly: there is no draftmark, neither in .venv here nor in PATH" >&2; exit 2; }
  bin=$(dirname "$(command -v draftmark)")
fi
draftmark=$bin/draftmark

# Times of two machines do not compare, so each has a history of its own; hosted runners are of several kinds.
machine=$("$bin/python" -c '
from draftmark.bench.environment import environment
from draftmark.results.run_folder.naming import slug

here = environment()
gpus = [gpu.rpartition(",")[0] for gpu in here.gpus]  # without the driver, whose effect is to be seen
print(slug(" ".join([here.cpu or "unknown cpu", f"{here.cores} cores", *gpus]), limit=80))
')
name=$(basename "$plan") # without its ending
home=$history/${name%.y*ml}/$machine
run=$home/$(date -u +%Y-%m-%dT%H-%M-%SZ)-$$
mkdir -p "$home" "$site"
rm -f "$site/gate.md" "$site/gate.xml"

accepted=
[ ! -s "$home/accepted" ] || accepted=$home/$(tail -n 1 "$home/accepted")
baseline=${BASELINE:-$accepted}
[ "${ACCEPT:-}" != 1 ] || baseline=

# Rules are read before anything runs, also in a night without a baseline.
set -- run "$plan" --out "$run" ${RULES:+--rules "$RULES"}
[ -z "$baseline" ] || set -- "$@" --against "$baseline"
told=$(mktemp)
trap 'rm -f "$told" "$told.code"' EXIT
{ { "$draftmark" "$@" || echo $? >"$told.code"; } 2>&1 >&3 | tee -i "$told" >&2; } 3>&1
measured=$(cat "$told.code" 2>/dev/null || echo 0)
if [ ! -e "$run/manifest.json" ] || [ "$measured" -gt 2 ]; then
  {
    if [ -e "$run/manifest.json" ]; then
      echo "**Not gated:** the run did not come to its end (exit code $measured). It said last:"
    else
      echo "**Not gated:** nothing was run (exit code $measured):"
    fi
    echo
    tail -n 12 "$told" | cut -c 1-500 | sed 's/^/    /' # an indented block, in which nothing is markup
  } >"$site/gate.md"
  summary
  exit "$measured"
fi

set -- gate --candidate "$run" --markdown "$site/gate.md" --junit "$site/gate.xml" ${RULES:+--rules "$RULES"}
gated=0
if [ -n "$baseline" ]; then
  "$draftmark" "$@" --baseline "$baseline" >/dev/null || gated=$? # the run has shown this verdict
else
  "$draftmark" "$@" --allow-missing-baseline || gated=$?
fi
[ "$measured" = 0 ] || [ "$gated" != 0 ] || gated=2 # what failed is no baseline
[ "$gated" != 0 ] || basename "$run" >>"$home/accepted"
summary

# Names begin with the time, so that the oldest come first.
last=$(tail -n 1 "$home/accepted" 2>/dev/null || true)
ls "$home" | grep -E '^[0-9]{4}-[0-9]{2}-[0-9]{2}T' | sort -r | tail -n +$((keep + 1)) | while read -r old; do
  if [ "$old" != "$last" ] && ! [ "$home/$old" -ef "${BASELINE:-/nowhere}" ]; then
    rm -rf "${home:?}/$old"
  fi
done

"$draftmark" report "$run" --out "$site/last" || echo "nightly: no page about $run" >&2
set --
for kept in "$history"/*/*/*/manifest.json; do
  set -- "$@" "${kept%/manifest.json}"
done
"$draftmark" leaderboard "$@" --out "$site" || echo "nightly: some runs are not on the leaderboard" >&2

echo
echo "Run folder:  $run"
echo "Verdict:     $site/gate.md, exit code $gated"
echo "Pages:       $site/index.html, $site/last/index.html"
exit "$gated"
