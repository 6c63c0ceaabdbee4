# SPDX-License-Identifier: Apache-2.0
"""Until when the hold of a killed process counts."""

import unittest
from dataclasses import replace
from types import SimpleNamespace

import clock
import hold_checks
from journal import KILLED, OURS, Hold
from records import Records
from killed import end_of
from locks import IN_TURN, Lock
from txnlog import Node

S = clock.S
A = Lock("a", "mutex", "/a", "mutex")
B = Lock("b", "mutex", "/b", "mutex")
BOTH = Lock("both", "multi", "", "multilock", members=("a", "b"), flags=IN_TURN)
HOLD = Hold(OURS, "u0", "u0-a", "a", 10, 20, token=1, session=7, end=KILLED, paths=("/a/x",))


class Lives:
    """The given znodes, in the place of the servers' logs."""

    def __init__(self, *nodes):
        self.nodes = nodes

    def of(self, hold, own):
        return [node for node in self.nodes if node.path in hold.paths]

    def stood(self, hold, at, own):
        return any(node.born <= at < (node.died or at + 1) for node in self.of(hold, own)), ""


def node(path="/a/x", born=5, died=0):
    return Node(path, 7, 1, born, died)


class Ends(unittest.TestCase):
    def end(self, *nodes):
        return end_of(HOLD, Lives(*nodes), {"/a"})

    def test_with_its_znode(self):
        self.assertEqual(self.end(node(died=100)), 100)

    def test_not_yet(self):
        self.assertEqual(self.end(node()), 0)

    def test_one_that_had_this_name_before(self):
        self.assertEqual(self.end(node(born=1, died=4), node(died=100)), 100)

    def test_one_that_has_this_name_now(self):
        self.assertEqual(self.end(node(died=100), node(born=110)), 100)

    def test_gone_before_the_kill(self):
        self.assertEqual(self.end(node(died=15)), 15)

    def test_never_seen(self):
        self.assertEqual(self.end(), HOLD.until)


class Checks(unittest.TestCase):
    def records(self, hold, *others, lives):
        """Returns the Records and the violations, after the servers' logs have been read."""
        records = Records([A, B, BOTH], [])
        records.read_lives = lambda ahead: lives
        client = SimpleNamespace(fresh=list(others), cut_short=[hold], refused=[], shown=[],
                                 sets=[], kills=1, maker=OURS)
        records.take([client])
        records.killed.next = 0
        return records, records.check(0, {"/a": A, "/b": B})

    def hold(self, since, until, token, lock="a"):
        now = clock.now() - 10 * S
        return Hold(OURS, "u1", "u1-" + lock, lock, now + since, now + until, token=token,
                    session=8, paths=("/a/y",))

    def killed(self, lock="a", paths=("/a/x",)):
        hold = self.hold(0, 1 * S, 1, lock)
        return replace(hold, worker="u0-" + lock, end=KILLED, paths=paths)

    def test_another_is_granted_before_the_session_ends(self):
        killed = self.killed()
        lives = Lives(node(born=killed.since, died=killed.since + 5 * S))
        records, wrong = self.records(killed, self.hold(4 * S, 6 * S, 2), lives=lives)
        self.assertEqual(len(wrong), 1)
        self.assertEqual(records.overlaps_of(hold_checks.VIOLATION), 1)

    def test_after_it(self):
        killed = self.killed()
        lives = Lives(node(born=killed.since, died=killed.since + 5 * S))
        _, wrong = self.records(killed, self.hold(5 * S, 6 * S, 2), lives=lives)
        self.assertEqual(wrong, [])

    def test_what_stands_is_looked_at_again(self):
        killed = self.killed()
        records, wrong = self.records(killed, lives=Lives(node(born=killed.since)))
        self.assertEqual((wrong, records.killed.holds), ([], [killed]))

    def test_a_member_of_a_multi_lock(self):
        killed = self.killed("both", ("/a/x", "/b/x"))
        lives = Lives(node(born=killed.since, died=killed.since + 5 * S),
                      node("/b/x", killed.since, killed.since + 5 * S))
        other = self.hold(4 * S, 6 * S, 2, "b")
        _, wrong = self.records(killed, other, lives=lives)
        self.assertEqual(len(wrong), 1)


if __name__ == "__main__":
    unittest.main()
