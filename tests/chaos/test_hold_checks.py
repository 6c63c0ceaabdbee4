# SPDX-License-Identifier: Apache-2.0
"""Tests of hold_checks.py: records that keep the promise, and records that do not."""

import unittest

from hold_checks import (BY_HAND, STALE, THEIRS, VIOLATION, classify, find_falls,
                         find_overlaps)  # fmt: skip
from journal import CURATOR, OURS, Hold, Intervention, parse_hold
from locks import ALL_PERMITS, Lock

MUTEX = Lock("m", "mutex", "/m", "mutex")
SEMAPHORE = Lock("s", "semaphore", "/s", "semaphore", permits=3)
RWLOCK = Lock("rw", "rwlock", "/rw", "rwlock", permits=ALL_PERMITS)


def ours(since, until, token=0, name="m", **more):
    return Hold(OURS, "u0", "u0-m", name, since, until, token, session=1, paths=("/m/a",), **more)


def curators(since, until, name="m"):
    return Hold(CURATOR, "c0", "c0-m", name, since, until, session=9)


def kind_of(holds, stood=True, interventions=(), lock=MUTEX):
    """Returns the kind of the only overlap, or None if there is none."""
    overlaps = find_overlaps(lock, holds)
    assert len(overlaps) < 2, overlaps
    for overlap in overlaps:
        return classify(overlap, lock, interventions,
                           lambda hold, at: (hold.leases * stood if isinstance(stood, bool)
                                             else stood[hold.maker], "evidence"))
    return None


class Overlaps(unittest.TestCase):
    def test_one_after_the_other_is_right(self):
        self.assertIsNone(kind_of([ours(0, 10), ours(10, 20), curators(20, 30)]))

    def test_two_of_ours(self):
        self.assertEqual(kind_of([ours(0, 10), ours(9, 20)]), VIOLATION)

    def test_written_down_in_another_order(self):
        self.assertEqual(kind_of([ours(9, 20), ours(0, 10)]), VIOLATION)

    def test_one_within_the_other(self):
        self.assertEqual(kind_of([ours(0, 100), ours(9, 20)]), VIOLATION)

    def test_what_was_never_valid_overlaps_nothing(self):
        self.assertIsNone(kind_of([ours(0, 10), ours(9, 9)]))

    def test_curators_stale_belief(self):
        self.assertEqual(kind_of([curators(0, 10), ours(5, 20)], stood=False), STALE)

    def test_ours_granted_while_curators_znode_stood(self):
        self.assertEqual(kind_of([curators(0, 10), ours(5, 20)], stood=True), VIOLATION)

    def test_curator_granted_while_our_znode_stood(self):
        self.assertEqual(kind_of([ours(0, 10), curators(5, 20)], stood=True), THEIRS)

    def test_curator_granted_when_our_znode_had_gone(self):
        self.assertEqual(kind_of([ours(0, 10), curators(5, 20)], stood=False), VIOLATION)

    def test_two_of_ours_beside_a_stale_one(self):
        holds = [curators(0, 30), ours(5, 20), ours(10, 20)]
        found = find_overlaps(MUTEX, holds)
        self.assertEqual(classify(found[-1], MUTEX, (), lambda hold, at: (False, "")),
                         VIOLATION)


class ByHand(unittest.TestCase):
    def test_a_session_that_an_operator_ended(self):
        self.assertEqual(kind_of([ours(0, 10), ours(9, 20)],
                                 interventions=[Intervention(5, session=1)]), BY_HAND)

    def test_a_znode_that_was_deleted(self):
        self.assertEqual(kind_of([ours(0, 10), ours(9, 20)],
                                 interventions=[Intervention(5, path="/m/a")]), BY_HAND)

    def test_another_session(self):
        self.assertEqual(kind_of([ours(0, 10), ours(9, 20)],
                                 interventions=[Intervention(5, session=2)]), VIOLATION)

    def test_one_that_was_granted_behind_its_end(self):
        later = ours(9, 20)
        later.session = 3
        self.assertEqual(kind_of([ours(0, 10), later],
                                 interventions=[Intervention(5, session=3)]), BY_HAND)
        self.assertEqual(kind_of([ours(0, 10), later],
                                 interventions=[Intervention(9.5, session=3)]), VIOLATION)

    def test_an_intervention_that_came_later(self):
        self.assertEqual(kind_of([ours(0, 10), ours(9, 20)],
                                 interventions=[Intervention(9.5, session=1)]), VIOLATION)


class Permits(unittest.TestCase):
    def test_three_leases(self):
        self.assertIsNone(kind_of([ours(0, 10, name="s") for _ in range(3)], lock=SEMAPHORE))

    def test_a_fourth(self):
        self.assertEqual(kind_of([ours(0, 10, name="s") for _ in range(4)], lock=SEMAPHORE),
                         VIOLATION)

    def test_leases_count(self):
        holds = [ours(0, 10, name="s", leases=2), ours(5, 10, name="s", leases=2)]
        self.assertEqual(kind_of(holds, lock=SEMAPHORE), VIOLATION)

    def test_a_lease_of_curators_that_was_deleted(self):
        holds = [Hold(CURATOR, "c0", "c0-s", "s", 0, 10, session=9, leases=2),
                 ours(5, 20, name="s", leases=2)]
        self.assertEqual(kind_of(holds, stood={CURATOR: 1, OURS: 2}, lock=SEMAPHORE), STALE)
        self.assertEqual(kind_of(holds, stood={CURATOR: 2, OURS: 2}, lock=SEMAPHORE),
                         VIOLATION)

    def test_readers_together(self):
        self.assertIsNone(kind_of([ours(0, 10, name="rw.read"), ours(5, 10, name="rw.read")],
                                  lock=RWLOCK))

    def test_a_writer_beside_a_reader(self):
        for one, other in (("rw.read", "rw.write"), ("rw.write", "rw.read"),
                           ("rw.write", "rw.write")):
            self.assertEqual(kind_of([ours(0, 10, name=one), ours(5, 10, name=other)],
                                     lock=RWLOCK), VIOLATION)


class Tokens(unittest.TestCase):
    def test_they_grow(self):
        self.assertEqual(find_falls(MUTEX, [ours(0, 1, 5), ours(2, 3, 6)]), [])

    def test_one_falls(self):
        self.assertEqual(len(find_falls(MUTEX, [ours(0, 1, 6), ours(2, 3, 5)])), 1)

    def test_one_stays(self):
        self.assertEqual(len(find_falls(MUTEX, [ours(0, 1, 6), ours(2, 3, 6)])), 1)

    def test_a_cohorts_number_grows(self):
        holds = [ours(0, 1, 6, cohort=1), ours(2, 3, 6, cohort=2)]
        self.assertEqual(find_falls(MUTEX, holds), [])
        holds[1].cohort = 1
        self.assertEqual(len(find_falls(MUTEX, holds)), 1)


class Lines(unittest.TestCase):
    def test_a_hold(self):
        hold = parse_hold(CURATOR, "c0", "held c0-m m 5 9 7 1 ff 2 released /m/a /m/b".split(), 100)
        self.assertEqual((hold.worker, hold.lock, hold.since, hold.until), ("c0-m", "m", 105, 109))
        self.assertEqual((hold.token, hold.cohort, hold.session, hold.leases), (7, 1, 255, 2))
        self.assertEqual(hold.paths, ("/m/a", "/m/b"))


if __name__ == "__main__":
    unittest.main()
