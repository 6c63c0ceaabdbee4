#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutex.sh SOCKET PATH STEPS: works while it holds a mutex through `uvzk serve`; needs socat.
coproc socat - UNIX-CONNECT:"$1" 2>/dev/null
exec {to}>&"${COPROC[1]}" {from}<&"${COPROC[0]}"
trap '' PIPE

now() { # ms; /proc/uptime also runs while the machine is suspended
    read -r uptime _ </proc/uptime
    echo $((10#${uptime/./} * 10))
}
ask() { # <fields of the request> [until]; sets hold, token and until
    local sent line='' wait=()
    sent=$(now)
    if [[ ${2-} ]]; then
        wait=(-t "$((($2 - sent) / 1000)).$(printf %03d $((($2 - sent) % 1000)))")
    fi
    { echo "{\"id\":1,$1}" >&"$to" && read -r "${wait[@]}" line <&"$from"; } 2>/dev/null
    if [[ $line != *'"ok":true'* ]]; then
        echo lost >&2 # an error, a loss, the end, or no answer in time
        exit 1
    fi
    [[ $line =~ \"hold\":([0-9]+) ]] && hold=${BASH_REMATCH[1]}
    [[ $line =~ \"token\":([0-9]+) ]] && token=${BASH_REMATCH[1]}
    [[ $line =~ \"valid_for_ms\":([0-9]+) ]] && until=$((sent + BASH_REMATCH[1]))
}

ask "\"op\":\"acquire\",\"path\":\"$2\""
echo "acquired, token $token"
for ((step = 1; step <= $3; step++)); do
    ask "\"op\":\"valid\",\"hold\":$hold" "$until"
    sleep 0.1 # the work: it takes less time than the hold is valid
    echo "step $step"
done
ask "\"op\":\"release\",\"hold\":$hold" "$until"
echo released
