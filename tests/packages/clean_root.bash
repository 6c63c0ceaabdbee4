# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# To be sourced. A Debian of this machine's suite that has the named packages and nothing else.
# It needs root, a mirror and mmdebstrap; without one of them, the test is skipped.

skip() { # <why>
    echo "skipped: $1"
    exit 77
}

# Sets suite and mirror.
find_mirror() { # <temporary directory>
    ((EUID == 0)) || skip "only root may change its root"
    command -v mmdebstrap >/dev/null || skip "no mmdebstrap (tools/install-packages test)"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
        grep -m1 '/debian/*$') || skip "apt knows no Debian mirror"
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    /usr/lib/apt/apt-helper download-file "${mirror%/}/dists/$suite/InRelease" \
        "$1/InRelease" >/dev/null 2>&1 || skip "the mirror $mirror does not answer"
}

# apt finds what the packages depend on, and nothing that is only recommended.
make_root() { # <its directory> <packages, with commas> [source of packages...]
    local root=$1 packages=$2
    shift 2
    if ! mmdebstrap --variant=essential --include="$packages" --skip=cleanup/apt \
        "$suite" "$root" "deb $mirror $suite main" "$@" >"$root.log" 2>&1; then
        tail -n 30 "$root.log"
        exit 1
    fi
}
