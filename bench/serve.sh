#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Locks through `uvzk serve`, compared with the library in one run, on one server; and how soon a
# killed program's lock is granted to the next one.
#   bench/serve.sh BUILD [option of served...]
set -euo pipefail
build=$(realpath "$1")
shift
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

run='hosts=$1 build=$2 directory=$3
shift 3
: >"$directory/log"
"$build/command/uvzk" serve --hosts "$hosts" --socket "$directory/socket" 2>>"$directory/log" &
daemon=$!
trap "kill $daemon; wait $daemon" EXIT
until grep -q serving "$directory/log"; do
    kill -0 $daemon
    sleep 0.1
done
"$build/bench/served" --hosts "$hosts" --socket "$directory/socket" "$@"'
"$build/tests/with_zookeeper" --tick 2000 -- bash -e -c "$run" bash '{hosts}' "$build" "$directory" "$@"
