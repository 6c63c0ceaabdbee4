# SPDX-License-Identifier: Apache-2.0
"""What clients may be shown of shared values, and what must not happen to sets."""

import unittest
from types import SimpleNamespace

import clock
from journal import CURATOR, OURS
from records import Records
from locks import Lock
from test_watch import SilentWatch, World, client
from txnlog import Event, Lives
from values import SET, Set, Shown, Values, Wrong, lost_sets
from watch import QUIET_S

COUNT = Lock("count", "count", "/count", "shared")
VALUE = Lock("value", "value", "/value", "shared", others=False)


def shown(mzxid, content, client="u0.1", name="count", at=0):
    return Shown(client, name, mzxid, 0, content, at)


def made(content, status=SET, maker=OURS, name="count"):
    return Set(maker, "%s-%s" % (maker, name), name, status, content, 0, 1)


def written(mzxid_to_number, version=None):
    """Events that set a count. By default each one's version is its number."""
    return [Event(mzxid, 0, "set", "/count", 0, number.to_bytes(4, "big"),
                  number if version is None else version)
            for mzxid, number in mzxid_to_number.items()]


def check(*what, history=None):
    """Returns all that is wrong. `history` is what the servers have written, by name; by default,
    what was set successfully."""
    values = Values([COUNT, VALUE])
    wrong = []
    for one in what:
        wrong += values.take_set(one) if isinstance(one, Set) else values.take_shown(one)
    if history is None:
        history = {name: {-i: one.content for i, one in enumerate(what)
                          if isinstance(one, Set) and one.name == name and one.status == SET}
                   for name in ("count", "value")}
    return wrong + values.check_all(history)


class Views(unittest.TestCase):
    def test_they_grow_and_may_skip(self):
        self.assertEqual(check(shown(1, "0"), shown(5, "3"), shown(5, "3"), shown(9, "4")), [])

    def test_one_goes_back(self):
        self.assertEqual(len(check(shown(5, "3"), shown(4, "2"))), 1)

    def test_each_client_has_its_own(self):
        self.assertEqual(check(shown(5, "3"), shown(4, "2", "u1.1"), shown(4, "2", "u0.2")), [])

    def test_two_contents_of_one_transaction(self):
        self.assertEqual(len(check(shown(5, "a", name="value"),
                                   shown(5, "b", "u1.1", name="value"))), 1)

    def test_not_what_the_servers_have_written(self):
        self.assertEqual(check(shown(5, "a", name="value"), history={"value": {5: "a"}}), [])
        self.assertEqual(len(check(shown(5, "a", name="value"), history={"value": {5: "b"}})), 1)


class Sets(unittest.TestCase):
    def test_each_over_the_number_before(self):
        self.assertEqual(check(made("1"), made("2", maker=CURATOR), made("3")), [])

    def test_two_over_the_same_number(self):
        self.assertEqual(len(check(made("1"), made("1", maker=CURATOR))), 1)

    def test_one_of_two_was_refused(self):
        self.assertEqual(check(made("1"), made("1", "UVZK_EBADVERSION"), shown(5, "1")), [])

    def test_a_number_that_falls(self):
        self.assertEqual(len(check(shown(5, "3"), shown(6, "3", "u1.1"))), 1)

    def test_what_no_server_has_written(self):
        self.assertEqual(len(check(made("1"), history={"count": {5: "2"}})), 1)

    def test_of_an_unknown_one_nothing_is_asked(self):
        self.assertEqual(check(made("1", "UVZK_ECONNLOSS"), history={"count": {5: "2"}}), [])

    def test_one_that_was_refused_is_shown(self):
        refused = made("x", "UVZK_EBADVERSION", name="value")
        self.assertEqual(len(check(refused, shown(5, "x", name="value"))), 1)
        self.assertEqual(check(made("1", "another", maker=CURATOR), shown(5, "1")), [])

    def test_plain_sets_may_be_made_over_each_other(self):
        self.assertEqual(check(made("x", name="value"), made("y", name="value"),
                               shown(5, "y", name="value"), shown(6, "x", name="value")), [])


class Blame(unittest.TestCase):
    """Whether the servers have lost what they had written. In most tests that is transaction 5."""

    def lost(self, *events, by_most=lambda zxid: True):
        return [event.zxid for event in lost_sets(
            [Event(zxid, 0, kind, "/count", 0, b"", version) for zxid, kind, version in events],
            by_most)]

    def test_a_version_that_was_set_twice(self):
        self.assertEqual(self.lost((1, "create", 0), (5, "set", 1), (9, "set", 1)), [5])

    def test_what_was_set_on_top_of_it(self):
        self.assertEqual(self.lost((1, "create", 0), (5, "set", 1), (6, "set", 2), (9, "set", 1),
                                   (10, "set", 2)), [5, 6])

    def test_made_again(self):
        self.assertEqual(self.lost((1, "create", 0), (5, "set", 1), (7, "create", 0),
                                   (9, "set", 1)), [])

    def test_what_a_leader_alone_has_written(self):
        self.assertEqual(self.lost((1, "create", 0), (5, "set", 1), (9, "set", 1),
                                   by_most=lambda zxid: zxid != 5), [])

    def records(self, events, content="1", mzxid=0):
        records = Records([COUNT], [])
        lives = object.__new__(Lives)
        lives.written, lives.servers = {"/count": events}, 1
        lives.seen_by = {event.zxid: {0} for event in events}
        records.read_lives = lambda ahead: lives
        records.wrong_values = [Wrong("a set is lost", "count", content, mzxid)]
        return records.check_values(0, all_over=False)

    def test_the_servers_have_lost_it(self):
        self.assertEqual(self.records(written({5: 1, 9: 1})), [("a set is lost", True)])

    def test_they_have_not(self):
        self.assertEqual(self.records(written({5: 1, 9: 2})), [("a set is lost", False)])

    def test_they_have_lost_another(self):
        self.assertEqual(self.records(written({5: 1, 9: 1}), "7"), [("a set is lost", False)])

    def test_no_server_has_it_any_more(self):
        self.assertEqual(self.records(written({5: 1, 9: 2}), "7", 6), [("a set is lost", True)])

    def test_a_server_still_has_it(self):
        self.assertEqual(self.records(written({5: 1, 9: 2}), "7", 5), [("a set is lost", False)])

    def test_no_server_has_it_yet(self):
        self.assertEqual(self.records(written({5: 1, 9: 2}), "7", 10), [("a set is lost", False)])

    def test_what_any_loss_may_explain(self):
        self.assertEqual(self.records(written({5: 1, 9: 1}), ""), [("a set is lost", True)])


    def gone_back(self, content, kind="count"):
        """The leader shows what 5 has set, though clients were shown what 9 has."""
        values = Values([COUNT, VALUE])
        for mzxid, text in ((3, "1"), (5, "2"), (7, "4"), (9, "6")):
            values.take_shown(shown(mzxid, text, name=kind))
        values.note_gone_back(kind, 5)
        values.take_shown(shown(11, "8", name=kind))
        return values.has_gone(kind, content)

    def test_what_was_shown_and_has_gone(self):
        for kind in ("count", "value"):
            self.assertTrue(self.gone_back("4", kind) and self.gone_back("6", kind))
            self.assertFalse(self.gone_back("2", kind) or self.gone_back("8", kind))

    def test_a_number_that_nobody_was_shown_and_has_gone(self):
        self.assertTrue(self.gone_back("3") and self.gone_back("5"))
        self.assertFalse(self.gone_back("1") or self.gone_back("7"))
        self.assertFalse(self.gone_back("3", "value"))


class Watching(unittest.TestCase):
    def watch(self, seen_s_ago, set_s_ago):
        one = client(OURS, 5)
        one.process_name, one.paused = lambda: "u0.1", False
        one.sessions = {0: SimpleNamespace(id=5, connected=True, since=0)}
        world = World(one)
        world.locks = [COUNT]
        world.records = Records([COUNT], [])
        now = clock.now()
        world.records.values.take_shown(shown(5, "1", at=now - int(seen_s_ago * clock.S)))
        world.records.last["count"] = now - int(set_s_ago * clock.S)
        watch = SilentWatch(world)
        watch.quiet_from = 0
        return watch, one

    def unshown(self, seen_s_ago, set_s_ago, connected=True):
        watch, one = self.watch(seen_s_ago, set_s_ago)
        one.sessions[0].connected = connected
        watch.look_for_unshown()
        return len(watch.violations)

    def test_nothing_is_shown_of_what_others_set(self):
        self.assertEqual(self.unshown(QUIET_S + 1, 0), 1)

    def test_shown_lately(self):
        self.assertEqual(self.unshown(QUIET_S - 1, 0), 0)

    def test_shown_while_the_trees_were_looked_at(self):
        watch, one = self.watch(QUIET_S + 1, 0)
        one.shown = [shown(9, "2", at=clock.now())]
        watch.look_for_unshown()
        self.assertEqual(watch.violations, [])

    def test_nobody_sets_it(self):
        self.assertEqual(self.unshown(QUIET_S + 1, 5), 0)

    def test_it_has_no_connection(self):
        self.assertEqual(self.unshown(QUIET_S + 1, 0, connected=False), 0)

    def unset(self, mzxid):
        watch, _ = self.watch(0, 0)
        watch.world.records.values.take_shown(shown(9, "4"))
        watch.world.trees = {0: {"/count": SimpleNamespace(mzxid=mzxid, version=3)}}
        done = []
        watch.by_operator = lambda server, act: act(SimpleNamespace(
            set=lambda path, data, version: done.append((server.number, path, data[-1], version))))
        return watch.tell_stall(COUNT, watch.world.trees, 9), done

    def test_nobody_sets_it_for_long(self):
        self.assertEqual(self.unset(9), (OURS, []))

    def test_nobody_can_where_no_leader_serves(self):
        watch, _ = self.watch(0, 0)
        self.assertEqual(watch.tell_stall(COUNT, {}, 9), "servers")

    def test_it_has_been_set_since(self):
        self.assertEqual(self.unset(10), ("servers", []))

    def test_nobody_can_as_the_servers_have_gone_back(self):
        self.assertEqual(self.unset(8), ("diverged", [(0, "/count", 5, 3)]))  # nothing that was set since

    def test_what_they_have_lost_is_noted(self):
        watch, _ = self.watch(0, 0)
        watch.world.records.values.take_shown(shown(9, "4"))
        watch.by_operator = lambda server, act: None
        watch.world.trees = {0: {"/count": SimpleNamespace(mzxid=8)}}
        watch.tell_stall(COUNT, watch.world.trees, 9)
        self.assertTrue(watch.world.records.values.has_gone("count", "4"))

    def behind(self, *mzxids):
        watch, _ = self.watch(0, 0)
        watch.world.trees = {number: {"/count": SimpleNamespace(mzxid=mzxid)}
                             for number, mzxid in enumerate(mzxids)}
        watch.await_values(0)
        return len(watch.violations), len(watch.others)

    def test_at_the_end_all_know_what_stands(self):
        self.assertEqual(self.behind(5, 5), (0, 0))
        self.assertEqual(self.behind(6, 6), (1, 0))

    def test_servers_that_show_different_things(self):
        self.assertEqual(self.behind(5, 6), (0, 1))


if __name__ == "__main__":
    unittest.main()
