#!/usr/bin/env bash
# npm run alerts:check: promtool checks and tests the alert rules. Debian's package prometheus has promtool; only
# that program is taken out of it, since installing the package would start a server on this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cache=$PWD/../../node_modules/.cache/promtool

# Prints where promtool is; fails when there is none and none can be had.
find_promtool() {
  command -v promtool && return
  [[ -x $cache/usr/bin/promtool ]] && { echo "$cache/usr/bin/promtool" && return; }
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  local work
  work=$(mktemp -d)
  chmod 755 "$work"
  (
    cd "$work"
    apt-get download -q prometheus >&2 2>/dev/null || {
      # No package lists yet, as in a new container.
      [[ $EUID -eq 0 ]] && apt-get update -q >&2 && apt-get download -q prometheus >&2
    }
    dpkg-deb -x prometheus_*.deb unpacked
  ) >&2 || { rm -rf "$work" && return 1; }
  mkdir -p "$cache/usr/bin"
  mv "$work/unpacked/usr/bin/promtool" "$cache/usr/bin/promtool"
  rm -rf "$work"
  echo "$cache/usr/bin/promtool"
}

if ! promtool=$(find_promtool); then
  echo "skipped: there is no promtool, and apt could not bring it (Debian: package prometheus)"
  exit 0
fi
"$promtool" check rules notes-pipeline.rules.yml
"$promtool" test rules notes-pipeline.tests.yml
