#!/usr/bin/env bash
# Prints the home of a Java that Spark can use (17 or newer), and nothing else, on standard output.
# Looks at JAVA_HOME, PATH and the usual places; failing that, installs one on Debian as root, or asks for it.
set -euo pipefail

oldest=17

# home_if_new_enough JAVA: prints java.home of that program when it runs and is new enough.
home_if_new_enough() {
    local settings version
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(sed -n 's/^ *java\.specification\.version = //p' <<<"$settings")
    [[ $version =~ ^[0-9]+$ ]] && ((version >= oldest)) || return 1 # Java 8 calls itself 1.8
    sed -n 's/^ *java\.home = //p' <<<"$settings"
}

find_java() {
    local java
    for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java || true)" \
        /usr/lib/jvm/*/bin/java /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
        if [[ -x $java ]] && home_if_new_enough "$java"; then return 0; fi
    done
    return 1
}

install_java() {
    [[ -e /etc/debian_version && $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
    echo "Java $oldest or newer not found: installing it with apt-get" >&2
    export DEBIAN_FRONTEND=noninteractive
    local get=(apt-get -qq -o DPkg::Lock::Timeout=300) package
    "${get[@]}" update >&2 || true
    for package in openjdk-17-jre-headless openjdk-21-jre-headless; do # newer Debians have no 17
        if "${get[@]}" install -y --no-install-recommends "$package" >&2; then return 0; fi
    done
    return 1
}

find_java && exit 0
install_java && find_java && exit 0
echo "Slidewise on Spark needs Java $oldest or newer: install it (Debian: openjdk-17-jre-headless) or set JAVA_HOME." >&2
exit 1
