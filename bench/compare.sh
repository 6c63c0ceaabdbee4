#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare.sh [BUILD_DIR]: many_locks beside raw_cycles, on one server of their
# own, one right after the other. The ratio is the figure to trust: absolute ones
# move with the machine. LOCKS and ROUNDS in the environment change the size.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../build}" && pwd)
locks=${LOCKS:-1000}
rounds=${ROUNDS:-5} # at least 2: the first, which makes the directories, does not count

if [ -z "${COMPARE_HOSTS:-}" ]; then
    exec "$build/tests/with_zookeeper" -- \
        env "COMPARE_HOSTS={hosts}" "$0" "$build"
fi

results=$(mktemp)
complaints=$(mktemp)
trap 'rm -f "$results" "$complaints"' EXIT

# run NAME PROGRAM ARGUMENT...: one result, named, on one line.
run() {
    name=$1
    program=$2
    shift 2
    echo "$name" >&2
    printf '%s\t' "$name" >>"$results"
    if ! "$build/bench/$program" --hosts "$COMPARE_HOSTS" --json "$@" \
        2>"$complaints" >>"$results"; then
        grep "^$program:" "$complaints" >&2
        exit 1
    fi
}

cycles=$((locks * rounds))
echo "warming the server up" >&2
"$build/bench/raw_cycles" --hosts "$COMPARE_HOSTS" --cycles 10000 >/dev/null
run "raw, 256 at once" raw_cycles --cycles "$cycles" --window 256
run "raw, 256 at once, sequential" raw_cycles --cycles "$cycles" --window 256 --sequential
run "raw, all at once" raw_cycles --cycles "$cycles" --window "$locks"
run "uvzk, $locks locks" many_locks --locks "$locks" --rounds "$rounds"
run "uvzk, $locks locks, 4 sessions" many_locks --locks "$locks" --rounds "$rounds" --clients 4
run "uvzk, 1 lock, $locks local contenders" many_locks --locks 1 --contenders "$locks" --rounds "$rounds"
run "uvzk, 1 lock, $locks contenders, 4 sessions" many_locks --locks 1 --contenders "$locks" \
    --clients 4 --rounds "$rounds"
run "raw, 1 at once" raw_cycles --cycles 1000 --window 1
run "uvzk, 1 lock, again and again" many_locks --locks 1 --rounds 1000

# The first raw result is the yardstick of all that run many at once, "raw, 1 at
# once" of what follows it.
awk -F '\t' '
    function field(name) {
        if (match($2, "\"" name "\":[0-9.]+")) {
            return substr($2, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
        }
        return ""
    }
    BEGIN { printf "%-46s %12s %9s %12s\n", "", "cycles/s", "to raw", "bytes/lock" }
    {
        rate = field("cycles_per_s")
        if (rate == "") rate = field("later_pairs_per_s")
        if (NR == 1 || $1 == "raw, 1 at once") raw = rate
        printf "%-46s %12.0f %9.2f %12s\n", $1, rate, rate / raw, field("bytes_per_pending")
    }' "$results"
