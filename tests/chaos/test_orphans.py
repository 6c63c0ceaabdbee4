# SPDX-License-Identifier: Apache-2.0
"""Which znodes are orphans, and which are not."""

import unittest
from types import SimpleNamespace

import clock
from journal import OURS
from orphans import LOOKS, Knowledge, Orphans

WALL_MS = 1_000_000_000
LIMIT_MS = 10000


def stat(age_ms=20000, owner=7, czxid=5):
    return SimpleNamespace(ctime=WALL_MS - age_ms, owner=owner, czxid=czxid)


def client(session=7):
    return SimpleNamespace(maker=OURS, name="u0", owns=lambda asked: asked == session)


def pending(ms_ago, name="m"):
    """A row of an acquire that was called so many ms ago, by the servers' clock."""
    since = WALL_MS - ms_ago + clock.ahead_of_real() // clock.MS
    return ["pending", "0", name, str(since), "others", "1", "-"]


def look(trees, rows=(), times=LOOKS, owner=None):
    """Returns the certain orphans after so many looks."""
    orphans = Orphans({"/m": "lock"}, {"/m": {"m"}}, LIMIT_MS // 2, LIMIT_MS // 2)
    sure = []
    for _ in range(times):
        sure += orphans.look(trees, [owner or client()], WALL_MS,
                             lambda asked: None if rows is None else Knowledge(rows))
    return sure


class Unknown(unittest.TestCase):
    def test_shown_by_all(self):
        tree = {"/m/x": stat()}
        sure = look({0: tree, 1: tree, 2: tree})
        self.assertEqual([suspect.path for suspect in sure], ["/m/x"])
        self.assertFalse(sure[0].diverged())

    def test_told_once(self):
        tree = {"/m/x": stat()}
        self.assertEqual(len(look({0: tree, 1: tree}, times=3 * LOOKS)), 1)

    def test_shown_by_one(self):
        sure = look({0: {"/m/x": stat()}, 1: {}, 2: {}})
        self.assertTrue(sure[0].diverged())

    def test_not_sure_yet(self):
        self.assertEqual(look({0: {"/m/x": stat()}}, times=LOOKS - 1), [])

    def test_asked_for_after_it_was_made(self):
        self.assertEqual(len(look({0: {"/m/x": stat()}}, [pending(1000)])), 1)

    def test_waits_at_another_lock(self):
        self.assertEqual(len(look({0: {"/m/x": stat()}}, [pending(30000, "n")])), 1)


class Known(unittest.TestCase):
    def test_young(self):
        self.assertEqual(look({0: {"/m/x": stat(LIMIT_MS - 1)}}), [])

    def test_held(self):
        self.assertEqual(look({0: {"/m/x": stat()}}, [["node", "0", "/m/x"]]), [])

    def test_another_znode_is_held(self):
        self.assertEqual(len(look({0: {"/m/x": stat()}}, [["node", "0", "/m/y"]])), 1)

    def test_being_released(self):
        self.assertEqual(look({0: {"/m/x": stat()}}, [["releasing", "u0-m", "/m/x"]]), [])

    def test_waits_since_before(self):
        self.assertEqual(look({0: {"/m/x": stat()}}, [pending(30000)]), [])

    def test_somebody_elses(self):
        self.assertEqual(look({0: {"/m/x": stat(owner=8)}}), [])

    def test_no_contenders_directory(self):
        self.assertEqual(look({0: {"/other/x": stat()}}), [])

    def test_its_owner_does_not_answer(self):
        self.assertEqual(look({0: {"/m/x": stat()}}, None), [])


if __name__ == "__main__":
    unittest.main()
