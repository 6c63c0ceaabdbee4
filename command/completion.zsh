#compdef uvzk
# SPDX-License-Identifier: Apache-2.0
# zsh completion for uvzk

typeset -ga _uvzk_connection _uvzk_json _uvzk_watch
_uvzk_connection=(
    '(-H --hosts)'{-H+,--hosts=}'[servers]:host\:port,host\:port/chroot: '
    '--session-timeout=[requested from the servers]:seconds: '
    '--connect-timeout=[how long to wait for the first connection]:seconds: '
    '--tick=[tickTime of the servers, or more]:seconds: '
    '--namespace=[all paths are below it]:name: '
    '--auth-file=[its first line is SCHEME\:CREDENTIAL]:file:_files'
    '--transport=[how to speak to the servers]:kind:(c-client native)'
    '--tls[TLS by the native transport]'
    '--tls-ca=[CAs of the servers]:PEM file:_files'
    '--tls-cert=[certificate of the client]:PEM file:_files'
    '--tls-key=[key of the certificate]:PEM file:_files'
    '--tls-name=[name in the certificates of the servers]:name: '
    '--sasl=[who you are, by SASL]:list of mechanism=NAME and more: '
    '(--no-config)--config=[options, instead of the usual uvzk.conf]:file:_files'
    '(--config)--no-config[read no uvzk.conf]'
    '(-v --verbose)'{-v,--verbose}'[report what happens]'
    '(-q --quiet)'{-q,--quiet}'[do not report that there is no connection]'
    '(- *)'{-h,--help}'[print the options]'
)
_uvzk_json=('(-j --json)'{-j,--json}'[print JSON]')
_uvzk_watch=(
    '(-W --watch)'{-W,--watch}'[show it again when something has changed]'
    '--interval=[how often to look]:seconds: '
)

_uvzk_lock() {
    _arguments -s -S "${_uvzk_connection[@]}" \
        '(-x -e --exclusive -s --shared -m --mutex --leases)'{-x,-e,--exclusive}'[write half of a read-write lock]' \
        '(-x -e --exclusive -s --shared -m --mutex --leases)'{-s,--shared}'[read half of a read-write lock]' \
        '(-x -e --exclusive -s --shared -m --mutex --leases)'{-m,--mutex}'[mutex (the default)]' \
        '(-x -e --exclusive -s --shared -m --mutex --revocable)--leases=[leases of a semaphore]:N/OF: ' \
        '(-n --nonblock -w --wait --timeout)'{-n,--nonblock}'[do not wait]' \
        '(-n --nonblock -w --wait --timeout)'{-w+,--wait=,--timeout=}'[wait at most this long]:seconds: ' \
        '(-E --conflict-exit-code)'{-E+,--conflict-exit-code=}'[exit status if others hold the lock]:code: ' \
        '--on-lost=[what to do with the command if the lock is lost]:action:(term kill ignore)' \
        '--grace=[between SIGTERM and SIGKILL]:seconds: ' \
        '--max-hold=[end the command and release the lock after at most this time]:seconds: ' \
        '--min-hold=[keep the lock at least this long]:seconds: ' \
        '(--once-per --offset --slack)--key=[run the command once for this key]:key: ' \
        '(--key)--once-per=[run it once in each period of time]:period: ' \
        '(--key)--offset=[when a period begins, after midnight in UTC]:time: ' \
        '(--key)--slack=[how early a run may begin before its period]:time: ' \
        '--at-most-once[record a run before it begins]' \
        '--done-exit-code=[exit status if the key is done]:code: ' \
        '(-a --all)'{-a,--all}'[hold it until all processes of the command have ended]' \
        '(--leases --traceparent)--revocable[send the command SIGTERM when another client asks for the lock]' \
        '--data=[what status shows]:text: ' \
        '(--revocable)--traceparent[put $TRACEPARENT into the znode]' \
        '(-c --command)'{-c+,--command=}'[command line for /bin/sh]:command line: ' \
        '1:path: ' \
        '(-)*:::command: _normal'
}

_uvzk_elect() {
    _arguments -s -S "${_uvzk_connection[@]}" \
        '--id=[who this is, for the others]:text: ' \
        '--selector[election of LeaderSelector]' \
        '--once[exit when the command has ended]' \
        '--pause=[before it stands again]:seconds: ' \
        '--max-reign=[lead at most this long]:seconds: ' \
        '--on-lost=[what to do with the command if this host no longer leads]:action:(term kill)' \
        '--grace=[between SIGTERM and SIGKILL]:seconds: ' \
        '(-c --command)'{-c+,--command=}'[command line for /bin/sh]:command line: ' \
        '1:path: ' \
        '(-)*:::command: _normal'
}

_uvzk_leader() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" "${_uvzk_watch[@]}" \
        '1:path: '
}

_uvzk_status() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" "${_uvzk_watch[@]}" \
        '--each-server[compare what the servers show]' \
        '1:path: '
}

_uvzk_holders() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" "${_uvzk_watch[@]}" \
        '1:path: '
}

_uvzk_wait() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" \
        '(-n --nonblock -w --wait)'{-n,--nonblock}'[look once]' \
        '(-n --nonblock -w --wait)'{-w+,--wait=}'[wait at most this long]:seconds: ' \
        '(-E --conflict-exit-code)'{-E+,--conflict-exit-code=}'[exit status if it was held the whole time]:code: ' \
        '--interval=[how often to look]:seconds: ' \
        '1:path: '
}

_uvzk_revoke() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" \
        '(-a --all)'{-a,--all}'[ask the waiters too]' \
        '(-w --wait)'{-w+,--wait=}'[wait at most this long until they have gone]:seconds: ' \
        '1:path: '
}

_uvzk_verify() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" \
        '1:path: ' \
        '2:token: '
}

_uvzk_serve() {
    _arguments -s -S "${_uvzk_connection[@]}" \
        '(-s --socket)'{-s+,--socket=}'[socket to make]:socket:_files' \
        '--fd=[connected socket to the parent]:descriptor: ' \
        '--stdio[serve the parent on standard input and output]' \
        '--parent=[process ID of the parent]:process ID: ' \
        '--mode=[access mode of the socket]:octal mode: ' \
        '--owner=[owner of the socket]:user\:group: ' \
        '--metrics=[where to serve metrics over HTTP]:address\:port or path:_files' \
        '--sessions=[how many ZooKeeper sessions]:number: ' \
        '--max-connections=[how many connections]:number: ' \
        '--max-pending=[requests, holds, watches and objects of a connection]:number: ' \
        '--max-line=[length of a request]:bytes: ' \
        '--max-unsent=[answers that a program leaves unread]:bytes: '
}

_uvzk_top() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" \
        '(-1 --once)'{-1,--once}'[print one table]' \
        '--interval=[how often to read the locks]:seconds: ' \
        '--limit=[how many znodes to list each time]:number: ' \
        '(-s --socket)'{-s+,--socket=}'[socket of a uvzk serve]:socket:_files' \
        '*:path: '
}

_uvzk_doctor() {
    _arguments -s -S "${_uvzk_connection[@]}" "${_uvzk_json[@]}" \
        '1::path: '
}

_uvzk() {
    local curcontext=$curcontext state line
    local -A opt_args
    local -a subcommands=(
        'lock:run a command while holding a lock'
        'elect:run a command while this host leads'
        'leader:show who leads'
        'status:show who holds a lock and who waits for it'
        'holders:show who holds it'
        'wait:wait until nobody holds it'
        'revoke:ask its holders to release it'
        'verify:check whether a fencing token is of a holder'
        'serve:serve locks to programs in any language'
        'top:show the busiest locks below a directory'
        'doctor:check the servers, the clock and the path of a lock'
    )

    _arguments -C \
        '(- *)'{-h,--help}'[print the subcommands]' \
        '(- *)'{-V,--version}'[print the version]' \
        '1:subcommand:->subcommand' \
        '*::argument:->argument' && return
    case $state in
    subcommand)
        _describe subcommand subcommands
        ;;
    argument)
        (( $+functions[_uvzk_$line[1]] )) && _uvzk_$line[1]
        ;;
    esac
}

_uvzk "$@"
