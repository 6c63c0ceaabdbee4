"""The one clock by which everything is judged: CLOCK_BOOTTIME of this host, in ns."""

import time

MS = 1_000_000
S = 1_000_000_000


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _distance(clock):
    """How far ahead CLOCK_BOOTTIME is. What comes between two looks makes it look different:
    the least of several is nearest."""
    distances = []
    for _ in range(5):
        before = time.clock_gettime_ns(clock)
        boot = now()
        distances.append(boot - before)
    return min(distances)


def ahead_of_monotonic():
    return _distance(time.CLOCK_MONOTONIC)


def ahead_of_real():
    """Of the servers' wall clock, which their logs have."""
    return _distance(time.CLOCK_REALTIME)
