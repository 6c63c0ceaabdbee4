# SPDX-License-Identifier: Apache-2.0
"""Whether the recorded holds keep the promise.

An overlap is two holds of one lock that exclude each other and are valid at the same time. The
servers' logs tell the cause. If the znode of a hold of Curator or kazoo was deleted before, that
client only believed that it still held the lock (a stale belief). If the znode of a uvzk hold was
deleted by hand, or an operator ended its session, the promise does not apply. All other overlaps
are violations."""

from dataclasses import dataclass, field

from journal import OURS
from locks import need

S = 1_000_000_000

VIOLATION, STALE, THEIRS, BY_HAND = "violation", "stale belief", "theirs", "by hand"


@dataclass
class Overlap:
    lock: str
    at: int
    holds: list  # in the order in which they began
    kind: str = VIOLATION
    evidence: list = field(default_factory=list)

    def lasted_ms(self):
        return (min(hold.until for hold in self.holds) - self.at) / 1e6


def find_overlaps(lock, holds):
    """Finds overlaps among all clients' holds of one lock: each hold that, together with the holds
    that were valid when it began, needs more permits than there are."""
    overlaps, valid = [], []
    for hold in sorted((h for h in holds if h.until > h.since), key=lambda h: h.since):
        valid = [other for other in valid if other.until > hold.since]
        taken = sum(need(lock, other.lock) * other.leases for other in valid)
        if taken + need(lock, hold.lock) * hold.leases > lock.permits:
            overlaps.append(Overlap(lock.name, hold.since, [*valid, hold]))
        valid.append(hold)
    return overlaps


def by_hand(hold, at, interventions):
    """Returns the intervention that ended this hold of uvzk before this moment, or None."""
    for intervention in interventions:
        ended_session = hold.session and intervention.session == hold.session
        ended = ended_session or intervention.path in hold.paths
        if ended and intervention.at <= at and intervention.at <= hold.until:
            return intervention
    return None


def permits_of(lock, hold, standing):
    """Returns how many permits the hold has. Curator still counts a lease that was deleted while
    it waited for the next one, so only the leases that exist count."""
    leases = hold.leases if hold.maker == OURS else min(hold.leases, standing)
    return need(lock, hold.lock) * leases


def classify(overlap, lock, interventions, stood):
    """Sets the kind of the overlap and returns it. stood(hold, at) returns how many znodes of the
    hold existed at that moment, and the evidence."""
    remain = []
    for hold in overlap.holds[:-1]:
        intervention = by_hand(hold, overlap.at, interventions) if hold.maker == OURS else None
        standing, evidence = stood(hold, overlap.at)
        overlap.evidence.append("%s: %s" % (hold.worker, evidence))
        if intervention is not None:
            overlap.evidence.append("%s: ended by hand %.1f ms before" % (
                hold.worker, (overlap.at - intervention.at) / 1e6))
            overlap.kind = BY_HAND
        elif hold.maker != OURS and not standing:
            overlap.kind = STALE
        else:
            remain.append((hold, standing))
    last = overlap.holds[-1]
    if last.maker == OURS and by_hand(last, overlap.at, interventions) is not None:
        # It was granted after its session or znode had been ended, before the connection could
        # tell.
        overlap.evidence.append("%s: ended by hand before it was granted" % last.worker)
        overlap.kind = BY_HAND
        return overlap.kind
    taken = sum(permits_of(lock, hold, standing) for hold, standing in remain)
    if taken + need(lock, last.lock) * last.leases <= lock.permits:
        if overlap.kind == VIOLATION:
            overlap.kind = STALE
        return overlap.kind
    standing, evidence = stood(last, overlap.at)
    overlap.evidence.append("%s: %s" % (last.worker, evidence))
    overlap.kind = VIOLATION
    ours = [hold for hold, _ in remain if hold.maker == OURS]
    if last.maker != OURS and (not ours or all(still for hold, still in remain)):
        # It was granted although all other holders' znodes existed, or the overlap is only among
        # other makers' holds.
        overlap.kind = THEIRS
    return overlap.kind


def find_falls(lock, holds):
    """Finds tokens of uvzk's holds that are not greater than all before, for a lock that only one
    client may hold at a time."""
    falls, greatest = [], None
    for hold in sorted((h for h in holds if h.maker == OURS and h.token), key=lambda h: h.since):
        if greatest is not None and hold.until > hold.since and (
                (hold.token, hold.cohort) <= (greatest.token, greatest.cohort)):
            falls.append((greatest, hold))
        if greatest is None or (hold.token, hold.cohort) > (greatest.token, greatest.cohort):
            greatest = hold
    return falls
