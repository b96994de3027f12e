#!/usr/bin/env bash
# `npm run fuzz`: see usage.
set -euo pipefail

usage() {
  cat <<'HELP'
Usage: npm run fuzz -- [--cases NUMBER] [--seed NUMBER] [vitest arguments]

Starts a lab under .lab-test and lets schemathesis try every operation of the write API, the public read API
and the operator API against the OpenAPI documents they serve: an answer that is not documented, or a failure
of the server, is a failed test, printed with a curl command that repeats it.

  --cases NUMBER  most generated cases for each operation (default: FUZZ_CASES, else 400). From 25 on every
                  operation must also have succeeded once; below that it may be missed by chance
  --seed NUMBER   repeats a run; each prints its own (default: FUZZ_SEED, else another each time)
  --help          this text

  FUZZ_CASES, FUZZ_SEED  the same, also for bin/test, which tries 25 cases of one seed
  WAIT_SCALE, LAB_KEEP   as bin/test --help says

It needs Python 3.11 or later with venv; what it installs goes to .venv/.
Exit code: 0 nothing was found, 1 something was, 2 wrong usage

Examples:
  npm run fuzz
  npm run fuzz -- --cases 2000 --seed 4711
  npm run fuzz -- -t 'operator API'
HELP
}

refuse() {
  echo "npm run fuzz: $1. Nothing was run; npm run fuzz -- --help has all options." >&2
  exit 2
}

: "${FUZZ_CASES:=400}" "${FUZZ_SEED:=$(($(date +%s) % 1000000))}"
rest=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --help | -h)
      usage
      exit 0
      ;;
    --cases | --seed)
      [[ $# -ge 2 ]] || refuse "$1 needs a number"
      if [[ $1 == --cases ]]; then FUZZ_CASES=$2; else FUZZ_SEED=$2; fi
      shift
      ;;
    --cases=*) FUZZ_CASES=${1#*=} ;;
    --seed=*) FUZZ_SEED=${1#*=} ;;
    *) rest+=("$1") ;;
  esac
  shift
done
[[ $FUZZ_CASES =~ ^[1-9][0-9]{0,5}$ ]] || refuse "the number of cases must be 1 to 999999, not '$FUZZ_CASES'"
[[ $FUZZ_SEED =~ ^[0-9]{1,9}$ ]] || refuse "the seed must be a whole number of at most 9 digits, not '$FUZZ_SEED'"
export FUZZ_CASES FUZZ_SEED
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../bin/test" --project fuzz ${rest[@]+"${rest[@]}"}
