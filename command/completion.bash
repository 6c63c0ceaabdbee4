# SPDX-License-Identifier: Apache-2.0
# bash completion for uvzk                                        -*- shell-script -*-

_uvzk_options() { # <subcommand>
    local connection="--hosts --session-timeout --connect-timeout --tick --namespace --auth-file
        --transport --tls --tls-ca --tls-cert --tls-key --tls-name --sasl --config --no-config --verbose --quiet --help"
    case $1 in
    lock)
        echo "--exclusive --shared --mutex --leases --nonblock --wait --timeout --conflict-exit-code --on-lost
            --grace --max-hold --min-hold --key --once-per --offset --slack --at-most-once --done-exit-code --all --revocable --data --traceparent --command $connection"
        ;;
    elect)
        echo "--id --selector --once --pause --max-reign --on-lost --grace --command $connection"
        ;;
    leader) echo "--watch --interval --json $connection" ;;
    status) echo "--watch --interval --each-server --json $connection" ;;
    holders) echo "--watch --interval --json $connection" ;;
    wait) echo "--nonblock --wait --conflict-exit-code --interval --json $connection" ;;
    revoke) echo "--all --wait --json $connection" ;;
    verify) echo "--json $connection" ;;
    serve)
        echo "--socket --fd --stdio --parent --mode --owner --metrics --sessions --max-connections
            --max-pending --max-line --max-unsent $connection"
        ;;
    top) echo "--once --interval --limit --socket --json $connection" ;;
    doctor) echo "--json $connection" ;;
    esac
}

# Where CMD of lock or elect begins, or the number of words if it does not yet.
_uvzk_command_at() {
    local i paths=0
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --)
            echo $((i + 1))
            return
            ;;
        --leases | --wait | --timeout | --conflict-exit-code | --on-lost | --grace | --max-hold | --data | --command | \
            --min-hold | --key | --once-per | --offset | --slack | --done-exit-code | \
            --id | --pause | --max-reign | \
            --hosts | --session-timeout | --connect-timeout | --tick | --namespace | --auth-file | \
            --transport | --tls-ca | --tls-cert | --tls-key | --tls-name | --sasl | --config | -w | -E | -c | -H)
            i=$((i + 1))
            ;;
        -*) ;;
        *)
            if ((paths++ > 0)); then
                echo "$i"
                return
            fi
            ;;
        esac
    done
    if ((paths > 0)) && [[ ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
        echo "$COMP_CWORD"
    else
        echo ${#COMP_WORDS[@]}
    fi
}

_uvzk() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local subcommand=${COMP_WORDS[1]-} at

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "lock elect leader status holders wait revoke verify
            serve top doctor --help --version" -- "$word")
        return
    fi
    if [[ $subcommand == lock || $subcommand == elect ]]; then
        at=$(_uvzk_command_at)
        if ((COMP_CWORD == at)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
            return
        elif ((COMP_CWORD > at)); then
            compopt -o default 2>/dev/null # files, as CMD's arguments mostly are
            return
        fi
    fi
    case $before in
    --on-lost)
        if [[ $subcommand == elect ]]; then
            mapfile -t COMPREPLY < <(compgen -W "term kill" -- "$word")
        else
            mapfile -t COMPREPLY < <(compgen -W "term kill ignore" -- "$word")
        fi
        return
        ;;
    --transport)
        mapfile -t COMPREPLY < <(compgen -W "c-client native" -- "$word")
        return
        ;;
    --auth-file | --config | --tls-ca | --tls-cert | --tls-key | --socket)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_uvzk_options "$subcommand")" -- "$word")
    fi
}

complete -F _uvzk uvzk
