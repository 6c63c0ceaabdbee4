# SPDX-License-Identifier: Apache-2.0
"""What a slow recovery waits for, according to delays.py."""

import unittest
from types import SimpleNamespace

import delays
from journal import CURATOR, OURS
from orphans import Knowledge


def client(maker, id=5, connected=True, paused=False):
    session = SimpleNamespace(id=id, connected=connected)
    return SimpleNamespace(maker=maker, sessions={0: session}, paused=paused)


def cause(owner, rows=(), session=5):
    return delays.cause(owner, session, {"/m/a"}, {"m"}, Knowledge(rows))


class Causes(unittest.TestCase):
    def test_nobodys(self):
        self.assertEqual(cause(None), "a session that nobody has")

    def test_a_session_that_its_client_has_left(self):
        self.assertEqual(cause(client(OURS, id=6)), "ours: an earlier session's end")

    def test_cut_off_or_stopped(self):
        for owner in (client(CURATOR, connected=False), client(CURATOR, paused=True)):
            self.assertEqual(cause(owner), "Curator: has no connection")

    def test_another_maker_stands(self):
        self.assertEqual(cause(client(CURATOR)), "Curator: stands first")

    def test_ours_waits(self):
        rows = [["pending", "0", "m", "7", "proof", "0", "-"]]
        self.assertEqual(cause(client(OURS), rows), "ours: waits for proof")

    def test_ours_holds(self):
        self.assertEqual(cause(client(OURS), [["held", "0", "m", "7", "9", "1"]]), "ours: holds")

    def test_ours_does_not_know_it(self):
        rows = [["pending", "0", "another", "7", "proof", "0", "-"]]
        self.assertEqual(cause(client(OURS), rows), "ours: does not know it")

    def test_ours_does_not_answer(self):
        self.assertEqual(delays.cause(client(OURS), 5, {"/m/a"}, {"m"}, None),
                         "ours: does not answer")


class Counting(unittest.TestCase):
    def test_the_one_that_lasted_longest_is_the_main_one(self):
        delay = delays.Delay(None)
        delay.causes = {"a": 2, "b": 8}
        self.assertEqual((delay.main_cause(), delay.text()), ("b", "b 2.0 s; a 0.5 s"))


if __name__ == "__main__":
    unittest.main()
