# SPDX-License-Identifier: Apache-2.0
"""What the clients have recorded so far, and what is wrong with it."""

import threading
from dataclasses import replace

import clock
import hold_checks
import txnlog
from journal import OURS, Journal
from killed import Killed
from values import SET, Values, lost_sets

# Older holds have been checked and are forgotten. No client is paused for so long.
HORIZON_S = 60


class Records:
    def __init__(self, locks, servers_data):
        self.locks = {lock.name: lock for lock in locks}
        self.servers_data = servers_data  # directories
        self.holds = {lock.name: [] for lock in locks if lock.path}
        self.first, self.last = {}, {}  # by lock: times of grants; the end of the last hold
        self.journal = Journal()
        self.killed = Killed()
        self.values = Values(locks)
        self.wrong_values = []  # not reported yet
        self.overlaps, self.falls, self.seen = [], [], set()
        self.grants = {}  # (lock, maker): how many
        self.lost = {}
        # The contents of the servers' logs; read at most once for each look at all holds.
        self.lives = None
        self.mutex = threading.RLock()

    def plain(self, name):
        """Returns NAME for NAME.read and NAME.write."""
        return name if name in self.locks else name.rsplit(".", 1)[0]

    def take(self, clients):
        """Takes what the clients have recorded since the last call."""
        with self.mutex:
            for client in clients:
                fresh, client.fresh = client.fresh, []
                for hold in fresh:
                    self.add(hold)
                self.take_values(client)
                killed, client.cut_short = client.cut_short, []
                for hold in killed:
                    self.count(hold)
                self.killed.take(killed)
                self.values.killed = self.values.killed or bool(client.kills)
                refused, client.refused = client.refused, []
                for _, status, _ in refused:
                    self.count_refusal(client.maker, status)

    def count_refusal(self, maker, status):
        key = maker + ":" + status
        self.journal.refusals[key] = self.journal.refusals.get(key, 0) + 1

    def take_values(self, client):
        shown, client.shown = client.shown, []
        for one in shown:
            self.wrong_values += self.values.take_shown(one)
        sets, client.sets = client.sets, []
        for one in sets:
            self.wrong_values += self.values.take_set(one)
            if one.status == SET:
                key = (one.name, one.maker)
                self.grants[key] = self.grants.get(key, 0) + 1
                self.note(one.name, one.at, one.at)
            else:
                self.count_refusal(one.maker, "set:" + one.status)

    def check_values(self, ahead_of_real, all_over):
        """Returns what is wrong with the values: (text, whether the servers are to blame because
        they have lost what they had written). With all_over, no client sets a value any more."""
        with self.mutex:
            wrong, self.wrong_values = self.wrong_values, []
            if not wrong and not all_over:
                return []
            self.lives = None
            lives = self.read_lives(ahead_of_real)
            written = {lock.name: lives.written.get(lock.path, [])
                       for lock in self.locks.values() if lock.is_value()}
            if all_over:
                wrong += self.values.check_all({name: self.contents(name, events)
                                                for name, events in written.items()})
            lost = {name: set(self.contents(name, lost_sets(events, lives.by_most)).values())
                    for name, events in written.items()}
            return [(one.text, self.explained(one, lost) or lives.is_cut_out(one.mzxid))
                    for one in wrong]

    def explained(self, wrong, lost):
        """Whether the sets that the servers have lost explain it. `lost` has their contents by
        name."""
        if not wrong.content:
            return any(lost.values())
        return wrong.content in lost[wrong.name] or self.values.has_gone(wrong.name, wrong.content)

    def contents(self, name, events):
        counts = self.locks[name].kind == "count"
        return {event.zxid: str(int.from_bytes(event.data, "big", signed=True)) if counts
                else event.data.decode(errors="replace") for event in events}

    def count(self, hold):
        key = (self.plain(hold.lock), hold.maker)
        self.grants[key] = self.grants.get(key, 0) + 1
        if hold.end != "released":
            self.lost[hold.end] = self.lost.get(hold.end, 0) + 1

    def add(self, hold):
        self.count(hold)
        lock = self.locks[self.plain(hold.lock)]
        self.note(lock.name, hold.since, hold.until)
        if not lock.members:
            self.holds[lock.name].append(hold)
        for member in lock.members:
            self.note(member, hold.since, hold.until)
            self.holds[member].append(replace(hold, lock=member, token=0))

    def note(self, name, since, until):
        self.last[name] = max(self.last.get(name, 0), until)
        self.first.setdefault(name, []).append(since)

    def granted_since(self, name, moment):
        """Returns the first grant of a lock since then, or 0."""
        with self.mutex:
            self.first[name] = later = [at for at in self.first.get(name, []) if at >= moment]
            return min(later, default=0)

    def check(self, ahead_of_real, directories):
        """Returns the new violations, as texts."""
        with self.mutex:
            self.lives = None
            if self.killed.due(clock.now()):
                self.settle_killed(ahead_of_real, directories)
            new = []
            horizon = clock.now() - HORIZON_S * clock.S
            for name, holds in self.holds.items():
                lock = self.locks[name]
                for overlap in hold_checks.find_overlaps(lock, holds):
                    last = overlap.holds[-1]
                    if (name, last.worker, last.since) not in self.seen:
                        self.seen.add((name, last.worker, last.since))
                        new += self.weigh(overlap, lock, ahead_of_real, directories)
                if lock.exclusive():
                    new += self.weigh_falls(lock, holds)
                self.holds[name] = [hold for hold in holds if hold.until > horizon]
            return new

    def settle_killed(self, ahead_of_real, directories):
        def directories_of(name):
            lock = self.locks[self.plain(name)]
            return [(part, {path for path, of in directories.items() if of.name == part})
                    for part in lock.members or (lock.name,)]

        lives = self.read_lives(ahead_of_real)
        for name, hold in self.killed.settle(lives, directories_of, clock.now()):
            part = hold.lock if self.plain(hold.lock) == name else name
            token = 0 if self.locks[self.plain(hold.lock)].members else hold.token
            self.holds[name].append(replace(hold, lock=part, token=token))

    def weigh(self, overlap, lock, ahead_of_real, directories):
        if all(hold.maker != OURS for hold in overlap.holds):
            overlap.kind = hold_checks.THEIRS
            self.overlaps.append(overlap)
            return []
        lives = self.read_lives(ahead_of_real)
        own = {path for path, of in directories.items() if of is lock}
        hold_checks.classify(overlap, lock, self.journal.interventions,
                    lambda hold, at: lives.stood(hold, at, own))
        self.overlaps.append(overlap)
        text = "overlap at %s, %s, at %d: %s; %s" % (
            lock.name, overlap.kind, overlap.at,
            " BESIDE ".join(hold.text() for hold in overlap.holds),
            "; ".join(overlap.evidence))
        return [text] if overlap.kind == hold_checks.VIOLATION else []

    def read_lives(self, ahead_of_real):
        """Reads the servers' logs, which takes about a second, and keeps them: a hold whose znode
        was deleted may overlap hundreds of holds."""
        if self.lives is None:
            self.lives = txnlog.Lives(self.servers_data, ahead_of_real)
        return self.lives

    def brought_back(self, path, czxid, ahead_of_real):
        """Returns how this znode ended, if it exists although most servers have written its
        end."""
        with self.mutex:
            return self.read_lives(ahead_of_real).ended(path, czxid)

    def weigh_falls(self, lock, holds):
        new = []
        for before, hold in hold_checks.find_falls(lock, holds):
            key = ("fall", lock.name, hold.worker, hold.since)
            if hold_checks.by_hand(hold, hold.since, self.journal.interventions) is not None:
                continue  # granted before the connection could tell that it had been ended
            if key not in self.seen:
                self.seen.add(key)
                self.falls.append((before, hold))
                new.append("a token of %s fell: %s AFTER %s" % (
                    lock.name, hold.text(), before.text()))
        return new

    def overlaps_of(self, *kinds):
        return sum(overlap.kind in kinds for overlap in self.overlaps)
