# SPDX-License-Identifier: Apache-2.0
"""The watch: silence and who is to blame for it; recoveries in time and too late."""

import threading
import time
import unittest
from types import SimpleNamespace

import bounds
import chaos
import clock
from journal import CURATOR, OURS, Intervention, Hold
from records import Records
from locks import Lock
from orphans import LOOKS
from watch import LATE_MS, QUIET_S, Watch

MUTEX = Lock("m", "mutex", "/m", "mutex")


def stat(owner, czxid=1, age_ms=0):
    return SimpleNamespace(owner=owner, czxid=czxid, ctime=time.time() * 1000 - age_ms)


def client(maker, session, held=()):
    return SimpleNamespace(
        maker=maker, name=maker, fresh=[], shown=[], sets=[], refused=[], fallen=[], older=[], cut_short=[],
        kills=0, past={}, sessions={}, alive=lambda: True, killed=False,
        owns=lambda asked: asked == session, longest_timeout_ms=lambda default: default,
        ask_known=lambda: [["held", "0", name, "0", "0", "0"] for name in held])


def server(number):
    return SimpleNamespace(number=number, may_answer=lambda: True)


class World:
    def __init__(self, *clients, tree=None):
        self.clients, self.locks, self.directories = clients, [MUTEX], {"/m": MUTEX}
        self.patience_ms, self.timeout_ms, self.tick_ms = 100, 100, 10
        self.records = Records(self.locks, [])
        self.stopping, self.resting = threading.Event(), False
        leader = server(0)
        self.ensemble = SimpleNamespace(leader=lambda: leader, servers=[leader])
        self.trees, self.commits = {0: tree or {}}, True
        self.eyes = SimpleNamespace(look=lambda: self.trees,
                                    tree=lambda server: self.trees[server.number],
                                    leader_commits=lambda: self.commits)

    def ours(self):
        return [each for each in self.clients if each.maker == OURS]

    def longest_timeout_ms(self):
        return self.timeout_ms


class SilentWatch(Watch):
    """A watch that writes no dump."""

    def dump(self, name, text):
        pass


def quiet(world, seconds):
    watch = SilentWatch(world)
    watch.quiet_from = clock.now() - int(seconds * clock.S)
    watch.look_for_silence(world.trees)
    return watch


class Silence(unittest.TestCase):
    def test_ours_stands_first(self):
        world = World(client(OURS, 5), tree={"/m/a": stat(5), "/m/b": stat(6, 2)})
        watch = quiet(world, QUIET_S + 1)
        self.assertEqual(len(watch.violations), 1)
        self.assertIn("/m/a of ours", watch.violations[0])

    def test_nobody_stands(self):
        self.assertEqual(len(quiet(World(client(OURS, 5)), QUIET_S + 1).violations), 1)

    def test_curators_stands_first(self):
        world = World(client(OURS, 5), client(CURATOR, 6),
                      tree={"/m/a": stat(6), "/m/b": stat(5, 2)})
        watch = quiet(world, QUIET_S + 1)
        self.assertEqual((len(watch.violations), len(watch.others)), (0, 1))

    def test_a_server_shows_another_tree(self):
        world = World(client(OURS, 5), tree={"/m/a": stat(5, age_ms=9000)})
        world.trees[1] = {}
        watch = quiet(world, QUIET_S + 1)
        self.assertEqual((watch.violations, watch.stalls[0][2]), ([], "diverged"))

    def test_who_shows_another_tree_answers_late(self):
        world = World(client(OURS, 5), tree={"/m/a": stat(5, age_ms=9000)})
        world.ensemble.servers.append(server(1))
        looks = iter([{}, {1: {}}, {0: world.trees[0]}, {0: world.trees[0]}, {1: {}}])
        world.eyes.look = lambda: next(looks)
        watch = quiet(world, QUIET_S + 1)
        self.assertEqual((watch.violations, watch.stalls[0][2]), ([], "diverged"))

    def test_servers_have_brought_it_back(self):
        world = World(client(OURS, 5), tree={"/m/a": stat(5)})
        world.records.brought_back = lambda path, czxid, ahead: "deleted by 0x7"
        watch = quiet(world, QUIET_S + 1)
        self.assertEqual((watch.violations, watch.stalls[0][2]), ([], "diverged"))

    def test_a_server_was_only_looked_at_later(self):
        world = World(client(OURS, 5), tree={"/m/a": stat(5, age_ms=9000)})
        world.eyes.look = lambda: {0: world.trees[0], 1: world.trees[0]}
        world.trees[1] = {}
        self.assertEqual(len(quiet(world, QUIET_S + 1).violations), 1)

    def test_leases_that_are_taken_one_by_one(self):
        pairs = Lock("p", "semaphore", "/p", "semaphore", permits=3, leases=2)
        world = World(client(OURS, 5), client(CURATOR, 6), client(CURATOR, 7), tree={
            "/p/locks/a": stat(5), "/p/leases/b": stat(6, 2), "/p/leases/c": stat(7, 3)})
        world.locks, world.directories = [pairs], {"/p/locks": pairs, "/p/leases": pairs}
        watch = SilentWatch(world)
        self.assertEqual(watch.blocker(pairs, world.trees)[0], CURATOR)
        del world.trees[0]["/p/leases/c"]  # now two leases are free
        self.assertEqual(watch.blocker(pairs, world.trees)[0], OURS)

    def test_a_member_whose_turn_has_not_come(self):
        first = Lock("a", "mutex", "/a", "multilock", taken_alone=False)
        second = Lock("b", "mutex", "/b", "multilock", taken_alone=False)
        both = Lock("both", "multi", "", "multilock", members=("a", "b"))
        world = World(client(OURS, 5), client(CURATOR, 6), tree={"/a/x": stat(6)})
        world.locks, world.directories = [first, second, both], {"/a": first, "/b": second}
        watch = SilentWatch(world)
        self.assertEqual(watch.blocker(second, world.trees)[0], CURATOR)
        second = Lock("b", "mutex", "/b", "multilock")
        self.assertEqual(watch.blocker(second, world.trees)[0], OURS)

    def test_the_servers_commit_nothing(self):
        world = World(client(OURS, 5), tree={"/m/a": stat(5)})
        world.commits = False
        watch = quiet(world, QUIET_S + 1)
        self.assertEqual((watch.violations, watch.stalls[0][2]), ([], "servers"))

    def test_not_for_long_enough(self):
        self.assertEqual(quiet(World(client(OURS, 5)), QUIET_S - 1).stalls, [])

    def test_one_of_ours_holds(self):
        self.assertEqual(quiet(World(client(OURS, 5, held=["m"])), QUIET_S + 1).stalls, [])


class Orphans(unittest.TestCase):
    def look(self, ended):
        world = World(client(OURS, 5), tree={"/m/a": stat(5, age_ms=9000)})
        world.records.brought_back = lambda path, czxid, ahead: ended
        watch = SilentWatch(world)
        for _ in range(LOOKS):
            watch.look_for_orphans(world.trees)
        return watch

    def test_ours(self):
        self.assertEqual(len(self.look("").violations), 1)

    def test_brought_back_by_the_servers(self):
        watch = self.look("deleted by 0x7")
        self.assertEqual((watch.violations, watch.brought_back), ([], 1))


class CutOff(unittest.TestCase):
    def cut_off(self, lost_ago_s, quiet_ago_s=99, connected=False, harming=False, paused=False,
                commits=True):
        now = clock.now()
        one = client(OURS, 5)
        one.paused = paused
        one.sessions = {0: SimpleNamespace(connected=False, since=now - lost_ago_s * clock.S),
                        1: SimpleNamespace(connected=connected, since=0)}
        watch = SilentWatch(World(one))
        watch.world.commits = commits
        watch.quiet_from, watch.harming = now - quiet_ago_s * clock.S, harming
        watch.look_for_cut_off()
        watch.look_for_cut_off()
        self.assertLessEqual(len(watch.violations) + len(watch.others), 1)
        return bool(watch.violations)

    def test_for_too_long(self):
        self.assertTrue(self.cut_off(QUIET_S + 1))

    def test_no_session_can_be_made(self):
        self.assertFalse(self.cut_off(QUIET_S + 1, commits=False))

    def test_lately(self):
        self.assertFalse(self.cut_off(QUIET_S - 1))

    def test_the_servers_serve_again_since_lately(self):
        self.assertFalse(self.cut_off(QUIET_S + 1, QUIET_S - 1))

    def test_one_of_its_sessions_is_connected(self):
        self.assertFalse(self.cut_off(QUIET_S + 1, connected=True))

    def test_something_is_being_done(self):
        self.assertFalse(self.cut_off(QUIET_S + 1, harming=True))
        self.assertFalse(self.cut_off(QUIET_S + 1, paused=True))


class Endings(unittest.TestCase):
    """The end of a session that its client has left."""

    def setUp(self):
        self.one = client(OURS, 5)
        self.watch = SilentWatch(World(self.one))
        self.watch.quiet_from = 0
        self.grace = (bounds.expiry_ms(100, 10) + LATE_MS) * clock.MS

    def ending(self, left_ago, quiet_ago=None):
        now = clock.now()
        if left_ago is not None:
            self.one.past[5] = now - int(left_ago)
        self.watch.quiet_from = now - int(quiet_ago or 9 * self.grace)
        return self.watch.ending(self.one, 5)

    def test_one_that_it_has_not_left(self):
        self.assertFalse(self.ending(None))

    def test_lately(self):
        self.assertTrue(self.ending(self.grace / 2))

    def test_long_ago(self):
        self.assertFalse(self.ending(2 * self.grace))

    def test_a_new_leader_counts_anew(self):
        self.assertTrue(self.ending(2 * self.grace, self.grace / 2))

    def test_as_long_as_something_is_done(self):
        self.watch.harming = True
        self.assertTrue(self.ending(2 * self.grace))


class Kinds(unittest.TestCase):
    def kinds(self, *locks, names=("u1",), asked=None):
        return chaos.kinds_for(SimpleNamespace(
            locks=locks, by_names=set(names), options=SimpleNamespace(fault=asked)))

    def test_that_can_do_something(self):
        value = Lock("value", "value", "/v", "shared")
        self.assertIn("remake_value", self.kinds(MUTEX, value))
        self.assertIn("delete_znode", self.kinds(MUTEX, value))
        self.assertNotIn("remake_value", self.kinds(MUTEX))
        self.assertNotIn("delete_znode", self.kinds(value))
        self.assertNotIn("change_names", self.kinds(MUTEX, names=()))

    def test_that_were_asked_for(self):
        self.assertEqual(self.kinds(MUTEX, asked=["kill"]), ["kill"])


class Recovery(unittest.TestCase):
    def recover(self, world, grant_after_ms):
        watch = SilentWatch(world)
        watch.late_ms = -chaos.LATE_MS
        now = clock.now()
        fault = SimpleNamespace(kind="kill", what="server 0", undone=now, until=now,
                                recovery_ms={}, slow={}, stalled={})
        if grant_after_ms is not None:
            world.records.first["m"] = [now + grant_after_ms * clock.MS]
        chaos.recover(world, watch, fault)
        return watch, fault

    def test_in_time(self):
        watch, fault = self.recover(World(client(OURS, 5)), 50)
        self.assertEqual((watch.violations, fault.recovery_ms), ([], {"m": 50}))

    def test_never(self):
        watch, fault = self.recover(World(client(OURS, 5)), None)
        self.assertEqual((len(watch.violations), fault.recovery_ms), (1, {}))

    def test_a_grant_before_the_fault_was_over_says_nothing(self):
        watch, _ = self.recover(World(client(OURS, 5)), -50)
        self.assertEqual(len(watch.violations), 1)


class Fences(unittest.TestCase):
    def test_a_refused_token(self):
        one = client(OURS, 5)
        hold = Hold(OURS, "u0", "u0-m", "m", 100, 120, token=5, session=5)
        for interventions, wrong in (([], 1), ([Intervention(101, session=5)], 1),
                                     ([Intervention(99, session=5)], 0)):
            one.fallen = [("fell u0-m m 5", hold)]
            watch = SilentWatch(World(one))
            watch.world.records.journal.interventions = interventions
            watch.look_at_clients()
            self.assertEqual(len(watch.violations), wrong)
        one.fallen = [("fell u0-m m 5", None)]
        watch.look_at_clients()
        self.assertEqual(len(watch.violations), 1)

    def test_a_follower_that_was_told_of_an_older_leader(self):
        one = client(OURS, 5)
        one.older = ["older u0-latch latch 3 5"]
        watch = SilentWatch(World(one))
        watch.look_at_clients()
        watch.look_at_clients()
        self.assertEqual(len(watch.violations), 1)

    def test_a_client_that_died(self):
        one = client(OURS, 5)
        one.alive = lambda: False
        watch = SilentWatch(World(one))
        watch.look_at_clients()
        self.assertEqual(len(watch.violations), 1)

    def test_a_client_that_was_killed(self):
        one = client(OURS, 5)
        one.alive, one.killed = lambda: False, True
        watch = SilentWatch(World(one))
        watch.look_at_clients()
        self.assertEqual(watch.violations, [])


if __name__ == "__main__":
    unittest.main()
