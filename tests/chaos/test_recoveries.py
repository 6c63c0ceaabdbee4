# SPDX-License-Identifier: Apache-2.0
"""The tables of many recoveries."""

import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import clock
import recoveries
from delays import Delay
from locks import Lock
from world import Fault


def line(ms, cause="", fault="kill", recipe="mutex"):
    return {"recipe": recipe, "ms": ms, "cause": cause, "fault": fault, "diverged": "0"}


class Tables(unittest.TestCase):
    def test_by_recipe(self):
        lines = [line("1.0"), line("3.0"), line("2000.0", "a"), line("", "Curator"),
                 line("7.0", recipe="rwlock")]
        self.assertEqual(list(recoveries.by_recipe(lines)),
                         [("mutex", 4, 3, 2000, 2000, 1, 1), ("rwlock", 1, 7, 7, 7, 0, 0)])

    def test_by_cause(self):
        lines = [line("5.0", "a"), line("2000.0", "a"), line("3000.0", "b"),
                 line("1500.0", "b", "stop"), line("", "Curator")]
        self.assertEqual(list(recoveries.slow_by_cause(lines)),
                         [("b", 2, 3000, "kill 1, stop 1"), ("a", 1, 2000, "kill 1")])


class Rows(unittest.TestCase):
    def world(self):
        slow, fault = Delay(None), Fault("kill", "server 0", 0)
        slow.causes = {"ours: waits for proof": 3}
        fault.recovery_ms, fault.slow = {"m": 1234.56}, {"m": slow}
        fault.stalled = {"n": "Curator"}
        options = SimpleNamespace(seed=1, servers=3, curators=2, session_ms=4000)
        return SimpleNamespace(options=options, faults=[fault], locks=[
            Lock("m", "mutex", "/m", "mutex"), Lock("n", "rwlock", "/n", "rwlock")])

    def test_of_a_run(self):
        watch = SimpleNamespace(diverged={}, brought_back=1)
        first, second = recoveries.rows(self.world(), watch)
        self.assertEqual((first["ms"], first["cause"], first["diverged"]),
                         ("1234.6", "ours: waits for proof", 1))
        self.assertEqual((second["recipe"], second["ms"], second["cause"]),
                         ("rwlock", "", "Curator"))

    def test_servers_that_did_not_serve_yet(self):
        world = self.world()
        fault = world.faults[0]
        fault.slow, fault.undone, fault.until = {}, 1, 1 + 1100 * clock.MS
        watch = SimpleNamespace(diverged={}, brought_back=0)
        first = next(recoveries.rows(world, watch))
        self.assertEqual(first["cause"], "servers: do not all serve yet")

    def test_a_file_has_one_head(self):
        watch = SimpleNamespace(diverged={}, brought_back=0)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "r.csv"
            for _ in range(2):
                recoveries.append(path, recoveries.rows(self.world(), watch))
            self.assertEqual(len(path.read_text().splitlines()), 5)


if __name__ == "__main__":
    unittest.main()
