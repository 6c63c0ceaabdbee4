# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# To be sourced. Runs a command in a session of its own, of which nothing is left when the
# command has ended or this script is told to stop: the tests start ZooKeeper servers, and
# a server that outlives its test is nobody's.

session= # its id, which is the command's process id; empty when none runs
beside=  # a shell in the background that has sessions of its own; empty when none runs

# Prints the processes of the session that are alive; a zombie is not.
session_members() {
    local file line fields pid
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        # "<pid> (<name>) <state> <parent> <group> <session> ...": the name may hold anything
        read -ra fields <<<"${line##*) }"
        pid=${file#/proc/}
        if [[ ${fields[3]-} == "$session" && ${fields[0]} != [ZX] ]]; then
            echo "${pid%/stat}"
        fi
    done
}

# Whether the session is empty within so many tenths of a second.
session_ends_within() { # <tenths>
    local tenths=$1
    while [[ -n $(session_members) ]]; do
        ((tenths-- > 0)) || return 1
        sleep 0.1
    done
}

# First the command alone, which knows best how to stop what it started; then all.
stop_session() {
    local tenths=100
    kill -TERM "$session" 2>/dev/null || true
    while session_members | grep -qx "$session" && ((tenths-- > 0)); do
        sleep 0.1
    done
    if ! session_ends_within 5; then
        session_members | xargs -r kill -TERM 2>/dev/null || true
        if ! session_ends_within 50; then
            session_members | xargs -r kill -KILL 2>/dev/null || true
        fi
    fi
    session=
}

# Runs the command; its exit code, or 1 if it left processes behind.
in_session() { # <command> [argument...]
    local status=0 pid
    # The shell lets a command in the background ignore SIGINT; ours shall not.
    setsid env --default-signal=INT,QUIT "$@" </dev/null &
    session=$!
    wait "$session" || status=$?
    if ! session_ends_within 50; then
        echo "left running by: $*" >&2
        for pid in $(session_members); do
            echo "    $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")" >&2
        done
        stop_session
        status=1
    fi
    session=
    return "$status"
}

# In a shell in the background, which has none of the traps of the shell that began it.
apart() { # <function> [argument...]
    session=
    beside=
    stop_when_told
    "$@"
}

# Runs a function of this script in the background, beside what the script runs meanwhile. Its
# output goes to the file. Afterwards the script waits for $beside.
begin_beside() { # <file> <function> [argument...]
    local output=$1
    shift
    apart "$@" >"$output" 2>&1 &
    beside=$!
}

interrupted() { # <signal> <exit code>
    trap '' INT TERM HUP
    echo "stopping on $1" >&2
    if [[ -n $beside ]]; then
        kill -TERM "$beside" 2>/dev/null || true
    fi
    if [[ -n $session ]]; then
        stop_session
    fi
    if [[ -n $beside ]]; then
        wait "$beside" || true
    fi
    exit "$2"
}

stop_when_told() {
    trap 'interrupted SIGINT 130' INT
    trap 'interrupted SIGTERM 143' TERM
    trap 'interrupted SIGHUP 129' HUP
}
stop_when_told
