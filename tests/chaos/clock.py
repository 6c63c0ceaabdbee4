# SPDX-License-Identifier: Apache-2.0
"""The clock by which everything is measured: CLOCK_BOOTTIME of this host, in ns."""

import time

MS = 1_000_000
S = 1_000_000_000


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _distance(clock):
    """Returns how far CLOCK_BOOTTIME is ahead of this clock. Time that passes between the two
    reads makes the difference too large, so the smallest of several is the best."""
    distances = []
    for _ in range(5):
        before = time.clock_gettime_ns(clock)
        boot = now()
        distances.append(boot - before)
    return min(distances)


def ahead_of_monotonic():
    return _distance(time.CLOCK_MONOTONIC)


def ahead_of_real():
    """The servers' logs have times of CLOCK_REALTIME."""
    return _distance(time.CLOCK_REALTIME)
