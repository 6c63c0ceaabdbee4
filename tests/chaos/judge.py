"""Whether what was written down keeps the promise.

Two holds of one lock that exclude one another and were valid at the same time are an overlap.
Whose fault it is, is told by the servers' logs: a hold of Curator's or kazoo's whose znode had
gone by then was a stale belief of theirs; one of ours whose znode was deleted by hand, or whose
session was ended by an operator, is outside the promise. What remains is a violation."""

from dataclasses import dataclass, field

from journal import OURS
from locks import need

S = 1_000_000_000

VIOLATION, STALE, THEIRS, BY_HAND = "violation", "stale belief", "theirs", "by hand"


@dataclass
class Overlap:
    lock: str
    at: int
    holds: list  # the one that began last is the last one
    verdict: str = VIOLATION
    evidence: list = field(default_factory=list)

    def lasted_ms(self):
        return (min(hold.until for hold in self.holds) - self.at) / 1e6


def find_overlaps(lock, holds):
    """Of one lock's holds by all: each one whose permits, with those of the holds that were
    valid when it began, are more than there are."""
    overlaps, valid = [], []
    for hold in sorted((h for h in holds if h.until > h.since), key=lambda h: h.since):
        valid = [other for other in valid if other.until > hold.since]
        taken = sum(need(lock, other.lock) * other.leases for other in valid)
        if taken + need(lock, hold.lock) * hold.leases > lock.permits:
            overlaps.append(Overlap(lock.name, hold.since, [*valid, hold]))
        valid.append(hold)
    return overlaps


def by_hand(hold, at, deeds):
    """The deed that ended one of ours before this moment, if there was one."""
    for deed in deeds:
        ended = deed.session == hold.session and hold.session or deed.path in hold.paths
        if ended and deed.at <= at and deed.at <= hold.until:
            return deed
    return None


def permits_of(lock, hold, standing):
    """How many it has. Curator goes on to believe in a lease that was deleted while it waited for
    the next one: only those that stand count."""
    leases = hold.leases if hold.maker == OURS else min(hold.leases, standing)
    return need(lock, hold.lock) * leases


def blame(overlap, lock, deeds, stood):
    """Sets the verdict. stood(hold, at): how many znodes of it stood then, and the evidence."""
    remain = []
    for hold in overlap.holds[:-1]:
        deed = by_hand(hold, overlap.at, deeds) if hold.maker == OURS else None
        standing, evidence = stood(hold, overlap.at)
        overlap.evidence.append("%s: %s" % (hold.worker, evidence))
        if deed is not None:
            overlap.evidence.append("%s: ended by hand %.1f ms before" % (
                hold.worker, (overlap.at - deed.at) / 1e6))
            overlap.verdict = BY_HAND
        elif hold.maker != OURS and not standing:
            overlap.verdict = STALE
        else:
            remain.append((hold, standing))
    last = overlap.holds[-1]
    if last.maker == OURS and by_hand(last, overlap.at, deeds) is not None:
        # Granted after it had been ended, before the connection could tell.
        overlap.evidence.append("%s: ended by hand before it was granted" % last.worker)
        overlap.verdict = BY_HAND
        return overlap.verdict
    taken = sum(permits_of(lock, hold, standing) for hold, standing in remain)
    if taken + need(lock, last.lock) * last.leases <= lock.permits:
        if overlap.verdict == VIOLATION:
            overlap.verdict = STALE
        return overlap.verdict
    standing, evidence = stood(last, overlap.at)
    overlap.evidence.append("%s: %s" % (last.worker, evidence))
    overlap.verdict = VIOLATION
    ours = [hold for hold, _ in remain if hold.maker == OURS]
    if last.maker != OURS and (not ours or all(still for hold, still in remain)):
        # It was granted although everybody's znode stood, or holds beside its like alone.
        overlap.verdict = THEIRS
    return overlap.verdict


def find_falls(lock, holds):
    """Tokens of ours, of a lock that one alone holds, that are not greater than all before."""
    falls, greatest = [], None
    for hold in sorted((h for h in holds if h.maker == OURS and h.token), key=lambda h: h.since):
        if greatest is not None and hold.until > hold.since and (
                (hold.token, hold.cohort) <= (greatest.token, greatest.cohort)):
            falls.append((greatest, hold))
        if greatest is None or (hold.token, hold.cohort) > (greatest.token, greatest.cohort):
            greatest = hold
    return falls
