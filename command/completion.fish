# SPDX-License-Identifier: Apache-2.0
# fish completion for uvzk

# Prints how many words stand behind `uvzk lock` or `uvzk elect` that are neither an option nor its argument: 0
# before PATH, 1 before CMD, 2 behind CMD's name.
function __uvzk_job_words
    set -l with_argument -H -w -E -c --hosts --session-timeout --connect-timeout --tick --namespace \
        --auth-file --transport --tls-ca --tls-cert --tls-key --tls-name --sasl --config --leases --wait --timeout \
        --conflict-exit-code --on-lost --grace --max-hold --min-hold --key --once-per --offset --slack \
        --done-exit-code --data --command --id --pause --max-reign
    set -l skip 2
    set -l count 0
    for word in (commandline -opc)
        if test $skip -gt 0
            set skip (math $skip - 1)
        else if contains -- $word $with_argument
            set skip 1
        else if not string match -q -- '-*' $word
            set count (math $count + 1)
        end
        if test $count -eq 2
            break
        end
    end
    echo $count
end

function __uvzk_job_has
    set -l words (commandline -opc)
    contains -- $words[2] lock elect; and test (__uvzk_job_words) -eq $argv[1]
end

# Whether this is the subcommand, and options of uvzk may follow.
function __uvzk_is
    set -l words (commandline -opc)
    test (count $words) -gt 1; or return 1
    contains -- $words[2] $argv; or return 1
    not contains -- $words[2] lock elect; or test (__uvzk_job_words) -lt 2
end

complete -c uvzk -f
complete -c uvzk -n __fish_use_subcommand -s h -l help -d 'Print the subcommands'
complete -c uvzk -n __fish_use_subcommand -s V -l version -d 'Print the version'
complete -c uvzk -n __fish_use_subcommand -a lock -d 'Run a command while holding a lock'
complete -c uvzk -n __fish_use_subcommand -a elect -d 'Run a command while this host leads'
complete -c uvzk -n __fish_use_subcommand -a leader -d 'Show who leads'
complete -c uvzk -n __fish_use_subcommand -a status -d 'Show who holds a lock and who waits for it'
complete -c uvzk -n __fish_use_subcommand -a holders -d 'Show who holds it'
complete -c uvzk -n __fish_use_subcommand -a wait -d 'Wait until nobody holds it'
complete -c uvzk -n __fish_use_subcommand -a revoke -d 'Ask its holders to release it'
complete -c uvzk -n __fish_use_subcommand -a verify -d 'Check whether a fencing token is of a holder'
complete -c uvzk -n __fish_use_subcommand -a serve -d 'Serve locks to programs in any language'
complete -c uvzk -n __fish_use_subcommand -a top -d 'Show the busiest locks below a directory'
complete -c uvzk -n __fish_use_subcommand -a doctor -d 'Check the servers, the clock and the path of a lock'

complete -c uvzk -n '__uvzk_job_has 1' -a '(__fish_complete_command)'
complete -c uvzk -n '__uvzk_job_has 2' -F

complete -c uvzk -n '__uvzk_is lock' -s m -l mutex -d 'Mutex (the default)'
complete -c uvzk -n '__uvzk_is lock' -s x -s e -l exclusive -d 'Write half of a read-write lock'
complete -c uvzk -n '__uvzk_is lock' -s s -l shared -d 'Read half of a read-write lock'
complete -c uvzk -n '__uvzk_is lock' -x -l leases -d 'Leases of a semaphore, N/OF'
complete -c uvzk -n '__uvzk_is lock' -s n -l nonblock -d 'Do not wait'
complete -c uvzk -n '__uvzk_is lock' -x -s w -l wait -l timeout -d 'Wait this many seconds at most'
complete -c uvzk -n '__uvzk_is lock' -x -s E -l conflict-exit-code -d 'Exit status if others hold the lock'
complete -c uvzk -n '__uvzk_is lock' -x -l on-lost -a 'term kill ignore' -d 'If the lock is lost'
complete -c uvzk -n '__uvzk_is lock elect' -x -l grace -d 'Seconds between SIGTERM and SIGKILL'
complete -c uvzk -n '__uvzk_is lock' -x -l max-hold -d 'End the command and release the lock after this many seconds'
complete -c uvzk -n '__uvzk_is lock' -x -l min-hold -d 'Keep the lock at least this many seconds'
complete -c uvzk -n '__uvzk_is lock' -x -l key -d 'Run the command once for this key'
complete -c uvzk -n '__uvzk_is lock' -x -l once-per -d 'Run it once in each period of time'
complete -c uvzk -n '__uvzk_is lock' -x -l offset -d 'When a period begins, after midnight in UTC'
complete -c uvzk -n '__uvzk_is lock' -x -l slack -d 'How early a run may begin before its period'
complete -c uvzk -n '__uvzk_is lock' -l at-most-once -d 'Record a run before it begins'
complete -c uvzk -n '__uvzk_is lock' -x -l done-exit-code -d 'Exit status if the key is done'
complete -c uvzk -n '__uvzk_is lock' -s a -l all -d 'Hold it until all processes of the command have ended'
complete -c uvzk -n '__uvzk_is lock' -l revocable -d 'Send SIGTERM when another client asks for the lock'
complete -c uvzk -n '__uvzk_is lock' -x -l data -d 'What status shows'
complete -c uvzk -n '__uvzk_is lock' -l traceparent -d 'Put $TRACEPARENT into the znode'
complete -c uvzk -n '__uvzk_is lock elect' -x -s c -l command -d 'Command line for /bin/sh'

complete -c uvzk -n '__uvzk_is elect' -x -l on-lost -a 'term kill' -d 'If this host no longer leads'
complete -c uvzk -n '__uvzk_is elect' -x -l id -d 'Who this is, for the others'
complete -c uvzk -n '__uvzk_is elect' -l selector -d 'Election of LeaderSelector'
complete -c uvzk -n '__uvzk_is elect' -l once -d 'Exit when the command has ended'
complete -c uvzk -n '__uvzk_is elect' -x -l pause -d 'Seconds before it stands again'
complete -c uvzk -n '__uvzk_is elect' -x -l max-reign -d 'Lead this many seconds at most'

complete -c uvzk -n '__uvzk_is leader status holders' -s W -l watch -d 'Show it again when something has changed'
complete -c uvzk -n '__uvzk_is status' -l each-server -d 'Compare what the servers show'
complete -c uvzk -n '__uvzk_is leader status holders wait top' -x -l interval -d 'How often to look, in seconds'
complete -c uvzk -n '__uvzk_is wait' -s n -l nonblock -d 'Look once'
complete -c uvzk -n '__uvzk_is wait' -x -s w -l wait -d 'Wait this many seconds at most'
complete -c uvzk -n '__uvzk_is wait' -x -s E -l conflict-exit-code -d 'Exit status if it was held the whole time'
complete -c uvzk -n '__uvzk_is revoke' -s a -l all -d 'Ask the waiters too'
complete -c uvzk -n '__uvzk_is revoke' -x -s w -l wait -d 'Wait this many seconds at most until they have gone'
complete -c uvzk -n '__uvzk_is top' -s 1 -l once -d 'Print one table'
complete -c uvzk -n '__uvzk_is top' -r -F -s s -l socket -d 'The socket of a uvzk serve'
complete -c uvzk -n '__uvzk_is top' -x -l limit -d 'How many znodes to list each time'
complete -c uvzk -n '__uvzk_is leader status holders wait revoke verify top doctor' -s j -l json -d 'Print JSON'

complete -c uvzk -n '__uvzk_is serve' -r -F -s s -l socket -d 'Socket to make'
complete -c uvzk -n '__uvzk_is serve' -x -l fd -d 'Connected socket to the parent'
complete -c uvzk -n '__uvzk_is serve' -l stdio -d 'Serve the parent on standard input and output'
complete -c uvzk -n '__uvzk_is serve' -x -l parent -d 'Process ID of the parent'
complete -c uvzk -n '__uvzk_is serve' -x -l mode -d 'Access mode of the socket, octal'
complete -c uvzk -n '__uvzk_is serve' -x -l owner -d 'Owner of the socket, USER:GROUP'
complete -c uvzk -n '__uvzk_is serve' -r -F -l metrics -d 'Where to serve metrics over HTTP'
complete -c uvzk -n '__uvzk_is serve' -x -l sessions -d 'How many ZooKeeper sessions'
complete -c uvzk -n '__uvzk_is serve' -x -l max-connections -d 'How many connections'
complete -c uvzk -n '__uvzk_is serve' -x -l max-pending -d 'Requests, holds, watches and objects of a connection'
complete -c uvzk -n '__uvzk_is serve' -x -l max-line -d 'Bytes of a request'
complete -c uvzk -n '__uvzk_is serve' -x -l max-unsent -d 'Bytes of answers that a program leaves unread'

set -l all 'lock elect leader status holders wait revoke verify serve top doctor'
complete -c uvzk -n "__uvzk_is $all" -x -s H -l hosts -d 'Servers: host:port,host:port/chroot'
complete -c uvzk -n "__uvzk_is $all" -x -l session-timeout -d 'Seconds, requested from the servers'
complete -c uvzk -n "__uvzk_is $all" -x -l connect-timeout -d 'Seconds to wait for the first connection'
complete -c uvzk -n "__uvzk_is $all" -x -l tick -d 'tickTime of the servers in seconds, or more'
complete -c uvzk -n "__uvzk_is $all" -x -l namespace -d 'All paths are below it'
complete -c uvzk -n "__uvzk_is $all" -r -F -l auth-file -d 'Its first line is SCHEME:CREDENTIAL'
complete -c uvzk -n "__uvzk_is $all" -x -l transport -a 'c-client native' -d 'How to speak to the servers'
complete -c uvzk -n "__uvzk_is $all" -l tls -d 'TLS by the native transport'
complete -c uvzk -n "__uvzk_is $all" -r -F -l tls-ca -d 'PEM file of the CAs of the servers'
complete -c uvzk -n "__uvzk_is $all" -r -F -l tls-cert -d 'PEM file of the certificate of the client'
complete -c uvzk -n "__uvzk_is $all" -r -F -l tls-key -d 'PEM file of its key'
complete -c uvzk -n "__uvzk_is $all" -x -l tls-name -d 'Name in the certificates of the servers'
complete -c uvzk -n "__uvzk_is $all" -x -l sasl -d 'Who you are, by SASL'
complete -c uvzk -n "__uvzk_is $all" -r -F -l config -d 'Options, instead of the usual uvzk.conf'
complete -c uvzk -n "__uvzk_is $all" -l no-config -d 'Read no uvzk.conf'
complete -c uvzk -n "__uvzk_is $all" -s v -l verbose -d 'Report what happens'
complete -c uvzk -n "__uvzk_is $all" -s q -l quiet -d 'Do not report that there is no connection'
complete -c uvzk -n "__uvzk_is $all" -s h -l help -d 'Print the options'
