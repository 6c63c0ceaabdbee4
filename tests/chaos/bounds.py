# SPDX-License-Identifier: Apache-2.0
"""The bound for a recovery, in ms: how long it may take, after a fault is over and all servers
serve, until a client is granted each lock again. T is the session timeout.

  expiry   The holder's session has died. The leader counts T from the session's last request, or
           from when it began to lead, which is before the fault was over. It rounds the end up
           to a tick, and checks once a tick:                              T + 2 ticks
  return   The next contender's connection is silent. Its client leaves the connection after
           2T/3. It may have tried a server just before that accepted and was silent, for
           another 2T/3. The next server serves. Between two rounds of the server list the
           client pauses T/60:                                             4T/3 + T/60
           Curator: 2T/3, then T/servers for such an attempt, and a pause of at most 1 s
  proof    The next contender's session is proved, every T/6, and it looks at its predecessors.
  hold     The holder before may hold the lock for the length of a hold. The measurement excludes
           this: the time counts from the end of the last hold.
  late     The measured lateness of the chaos program, three times: once for each process in a
           handover, the client, its server and the leader.

  repeat   Only after two kinds of faults. After a refused delete, the next attempt comes after a
           pause that doubles, up to T plus a random quarter (acl_retry.h):      5T/4
           A contender whose watch was used up while READ was missing looks again after T at
           most (docs/promise.md, A8):                                             T

Expiry and return take place at the same time."""


def expiry_ms(timeout_ms, tick_ms):
    return timeout_ms + 2 * tick_ms


def return_ms(timeout_ms, servers):
    ours = 4 * timeout_ms / 3 + timeout_ms / 60
    curator = 2 * timeout_ms / 3 + timeout_ms / servers + 1000
    return max(ours, curator)


def repeat_ms(kind, timeout_ms):
    return {"forbid_deletes": 5 * timeout_ms / 4, "forbid_reads": timeout_ms}.get(kind, 0)


def recovery_ms(timeout_ms, tick_ms, servers, late_ms):
    slowest = max(expiry_ms(timeout_ms, tick_ms), return_ms(timeout_ms, servers))
    return slowest + timeout_ms / 6 + 3 * late_ms
