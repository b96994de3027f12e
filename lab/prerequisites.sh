# Sourced by bin/up and bin/test, in the repository's root: checks what the machine must have, installs what is
# missing with apt where it may (root or passwordless sudo), else prints the exact command and stops.
# shellcheck shell=bash

say() { printf '%s\n' "$*"; }

# The major version of the java on PATH, or 0.
java_major() {
  { java -version 2>&1 || true; } | sed -nE '1s/.*version "([0-9]+).*/\1/p' | grep . || echo 0
}

# npm that answers, on a Node of version 18 or later (npm then brings Node 24 as a package).
npm_works() {
  command -v npm >/dev/null && npm --version >/dev/null 2>&1 &&
    [[ "$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge 18 ]]
}

apt_install() { # package...
  local as_root=()
  if [[ $EUID -ne 0 ]]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo -n); else return 1; fi
  fi
  command -v apt-get >/dev/null || return 1
  say "installing $* with apt"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# node_modules carries the checksum of the lock file it was installed from.
install_packages() {
  local wanted
  wanted=$(sha256sum package-lock.json | cut -d' ' -f1)
  [[ "$(cat node_modules/.lock-checksum 2>/dev/null)" != "$wanted" ]] || return 0
  say "installing npm packages"
  npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
  printf '%s\n' "$wanted" >node_modules/.lock-checksum
}

ensure_prerequisites() {
  local missing=() optional=()
  [[ "$(java_major)" -ge 17 ]] || missing+=(openjdk-17-jre-headless)
  command -v mvn >/dev/null || missing+=(maven)
  npm_works || missing+=(nodejs npm)
  command -v git >/dev/null || missing+=(git)
  command -v kcat >/dev/null || optional+=(kcat)
  if [[ ${#missing[@]} -gt 0 ]]; then
    if ! apt_install "${missing[@]}"; then
      say "This machine lacks: ${missing[*]}. Nothing was started. Install them and run this again:" >&2
      say "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
      return 1
    fi
    if [[ "$(java_major)" -lt 17 ]] || ! npm_works; then
      say "The packages were installed, but Java 17 or later and Node 18 or later with npm are needed on PATH:" >&2
      say "  java: $(java_major), node: $(node --version 2>/dev/null || echo none). Install newer ones and run this again." >&2
      return 1
    fi
  fi
  # kcat is for looking at the topic by hand; the lab runs without it.
  if [[ ${#optional[@]} -gt 0 ]]; then
    apt_install "${optional[@]}" || say "kcat is not installed (optional): sudo apt-get install -y kcat"
  fi
  # Two commands at once in a new clone: the second waits and finds the packages installed.
  local lock
  lock="${TMPDIR:-/tmp}/notes-packages-$(id -u)-$(pwd | cksum | cut -d' ' -f1).lock"
  (flock 8 && install_packages 8>&-) 8>>"$lock"
}

# What only tests need. Lacking, the test that needs it fails and says so; the others run.
ensure_test_prerequisites() {
  if ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then
    apt_install python3 python3-venv ||
      say "python3-venv is not installed; the fuzz run needs it: sudo apt-get install -y python3-venv"
  fi
  # The collector of the trace test is linked with Python's own library, which may be a package of its own.
  local library
  library=$(python3 -c 'import sys; print("libpython3.%d.so.1.0" % sys.version_info.minor)' 2>/dev/null) || return 0
  if ! python3 -c 'import ctypes, os, sys, sysconfig
try: ctypes.CDLL(sys.argv[1])
except OSError: ctypes.CDLL(os.path.join(sysconfig.get_config_var("LIBDIR"), sys.argv[1]))' "$library" >/dev/null 2>&1; then
    apt_install "${library%.so.1.0}" ||
      say "$library is not installed; the trace test needs it: sudo apt-get install -y ${library%.so.1.0}"
  fi
}
