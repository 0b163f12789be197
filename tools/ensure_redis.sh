#!/usr/bin/env bash
# Sees to it that there is a redis-server for the tests: looks on PATH, failing that installs one on Debian as root.
# Without one the tests of Redis stores are skipped, so a failure here is told and is none.
set -euo pipefail

policy=/usr/sbin/policy-rc.d # says which services a package may start; without it, the package would start its own

install_redis() {
    [[ -e /etc/debian_version && $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
    echo "redis-server not found: installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    local get=(apt-get -qq -o DPkg::Lock::Timeout=300)
    if [[ ! -e $policy ]]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
    fi
    "${get[@]}" update >&2 || true
    "${get[@]}" install -y --no-install-recommends redis-server >&2
}

command -v redis-server >/dev/null && exit 0
install_redis && command -v redis-server >/dev/null && exit 0
echo "No redis-server: tests of Redis stores are skipped. Install it (Debian: redis-server) to run them." >&2
