"""How long it may take, once a fault is over and every server serves, until somebody is granted
each lock again; in ms.

  expiry   the holder's session has died. The leader counts T from its last touch, or from when
           it began to lead, which is before the fault was over; rounds the end up to a tick, and
           looks once a tick:                                              T + 2 ticks
  return   the next in line sits on a connection that says nothing. It leaves it after 2T/3; it
           may have tried a server that accepted and said nothing just before, for 2T/3 again; the
           next one serves; between rounds of the list it rests T/60:      4T/3 + T/60
           Curator: 2T/3, then T/servers for such an attempt, and a rest of at most 1 s
  proof    the next in line has its session proved, every T/6, and looks at who stands before it
  hold     who had it before may have it for as long as a hold is long; this is taken off by who
           measures: the time counts from the end of the last hold
  late     by how much the machine was late for the chaos program itself, and for each of the
           processes that take part in a handover: client, its server, the leader, three times

  repeat   after a delete that was refused the next try comes after a pause that doubles, up to T
           and a quarter more at random (undeletable.h); of that fault alone:        5T/4
           whose watch was used up while READ was missing looks again after T at most
           (docs/promise.md, A8); of that fault alone:                                T

Expiry and return go side by side."""


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
