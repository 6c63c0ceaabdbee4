# SPDX-License-Identifier: Apache-2.0
"""Looks at the world all the time, in a thread of its own: for overlaps, tokens that fall,
orphans, paths on which no client is granted anything, and shared values. The first violation is
dumped."""

import threading
import time

import bounds
import clock
import dump
import hold_checks
from journal import CURATOR, KAZOO, OURS
from orphans import Knowledge, Orphans, parent
from world import names_by_directory
from zookeeper import Error

QUIET_S = 8
LATE_MS = 1000  # how late servers and this program may be
OLD_MS = 5000  # longer than any server lags without a fault
LOOK_S = 1.0
LOOKS_AT_ALL = 5  # at most so many, until each server has answered one of them
DUMPS_OF_OTHERS = 3
MASK = 2**64 - 1


class Watch:
    def __init__(self, world):
        self.world = world
        self.names = names_by_directory(world.locks)
        self.orphans = Orphans(world.directories, self.names, world.patience_ms,
                               world.timeout_ms)
        self.violations, self.stalls, self.others = [], [], []
        self.diverged = {}  # server number: how many znodes it alone shows, or does not show
        # Znodes that exist although most servers have written their end.
        self.brought_back = 0
        self.late_ms = 0.0  # the maximum of the lateness of recent looks; it decays
        self.began = self.quiet_from = clock.now()
        self.told_quiet, self.told_cut_off = {}, {}
        self.harming = False  # a fault is going on, or not all servers serve yet
        self.blocked = False  # the current fault may keep all clients waiting
        self.mutex = threading.Lock()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.began = self.quiet_from = clock.now()
        self.thread.start()

    def run(self):
        looks = 0
        while not self.world.stopping.is_set() and not self.violations:
            before = time.monotonic()
            self.world.stopping.wait(LOOK_S)
            self.note_lateness(time.monotonic() - before - LOOK_S)
            looks += 1
            try:
                self.look(checks_holds=looks % 2 == 0)
            except Exception as failure:  # a watch that cannot look must not go unnoticed
                self.violate("the watch failed: %r" % failure)
                raise

    def note_lateness(self, seconds):
        self.late_ms = max(self.late_ms * 0.9, seconds * 1000)

    def look(self, checks_holds=True):
        self.world.records.take(self.world.clients)
        self.look_at_clients()
        self.look_for_cut_off()
        if checks_holds:
            for text in self.world.records.check(clock.ahead_of_real(), self.world.directories):
                self.violate(text)
            self.look_at_values()
        trees = self.world.eyes.look()
        self.look_for_orphans(trees)
        self.look_for_silence(trees)
        self.look_for_unshown()

    def violate(self, text):
        with self.mutex:
            self.violations.append(text)
            print("VIOLATION: " + text, flush=True)
            if len(self.violations) == 1:
                self.dump("violation", text)

    def dump(self, name, text):
        directory = self.world.options.dumps / ("%s-%d" % (name, clock.now() // clock.S))
        print("dumped in %s" % directory, flush=True)
        dump.write(directory, self.world, text, cores=name == "violation")

    def look_at_clients(self):
        for client in self.world.clients:
            fallen, client.fallen = client.fallen, []
            for line, hold in fallen:
                interventions = self.world.records.journal.interventions
                if hold is None or hold_checks.by_hand(hold, hold.since, interventions) is None:
                    self.violate("the fenced store refused a valid hold: " + line)
            older, client.older = client.older, []
            for line in older:
                self.violate("a follower was told of an older leader: " + line)
            # Another thread may kill the client between these checks; it sets `killed` first.
            gone = not client.killed and not client.alive() and not client.killed
            if client.maker == OURS and gone and not self.world.stopping.is_set():
                self.violate("%s ended by itself" % client.name)

    def look_for_cut_off(self):
        """Finds clients of uvzk that do not reconnect although all servers serve."""
        for client in self.world.ours():
            sessions = client.sessions.values()
            if self.harming or client.paused or any(s.connected for s in sessions):
                continue
            since = max([self.quiet_from, self.told_cut_off.get(client.name, 0),
                         *(s.since for s in sessions)])
            seconds = (clock.now() - since) / 1e9
            if seconds > QUIET_S and not self.violations:
                self.told_cut_off[client.name] = clock.now()
                self.tell_cut_off("%s has had no connection for %.1f s" % (client.name, seconds))

    def tell_cut_off(self, text):
        if self.world.eyes.leader_commits():
            self.violate(text)
        else:
            self.tell_other(text + "; the servers serve, and commit nothing")

    # -------------------------------------------------------------------- values

    def look_at_values(self, all_over=False):
        for text, servers in self.world.records.check_values(clock.ahead_of_real(), all_over):
            if servers:
                self.tell_other("servers have lost what they had written: " + text)
            else:
                self.violate(text)

    def look_for_unshown(self):
        """Finds connected clients that are not shown what others set. First it takes all lines
        that the clients have printed, and the mutex keeps other threads from taking more
        meanwhile, because the looks before this one took some time."""
        with self.world.records.mutex:
            self.world.records.take(self.world.clients)
            unshown = [text for client in self.world.ours() for text in self.unshown(client)]
        for text in unshown:
            self.violate(text)

    def unshown(self, client):
        now, values = clock.now(), self.world.records.values
        since = max([self.quiet_from, *(s.since for s in client.sessions.values())])
        connected = client.sessions and all(s.connected for s in client.sessions.values())
        for name in values.kinds:
            shown = values.last.get((client.process_name(), name))
            seen = max(since, shown.at if shown else 0)
            fresh = now - self.world.records.last.get(name, 0) < clock.S
            if connected and not client.paused and fresh and now - seen > QUIET_S * clock.S:
                yield "%s is shown nothing of %s for %.1f s" % (
                    client.name, name, (now - seen) / 1e9)

    def unset(self, lock, trees):
        """Returns who is to blame that no client sets a value, and a text. Servers that have lost
        what they had answered show an older value than the clients know. The clients ignore it,
        and their sets fail because of its version. Then this sets the value, as an operator
        would. Another leader may be in office since, which shows what was set meanwhile; or the
        clients set it again, and only the version of what was looked at may be set over."""
        leader = self.world.ensemble.leader()
        tree = trees.get(leader.number) if leader else None
        if tree is None:
            return "servers", "no leader serves"
        stat = tree.get(lock.path)
        mzxid, content = self.world.records.values.newest(lock.name)
        if stat is not None and stat.mzxid > mzxid:
            return "servers", "it has been set again"
        if stat is None or stat.mzxid == mzxid:
            return OURS, "nobody sets it"
        self.world.records.values.note_gone_back(lock.name, stat.mzxid)
        data = (int(content) + 1).to_bytes(4, "big") if lock.kind == "count" else b"anew"
        self.by_operator(leader, lambda eyes: eyes.set(lock.path, data, stat.version))
        return "diverged", "0x%x was shown, and the leader shows 0x%x" % (mzxid, stat.mzxid)

    def await_values(self, seconds):
        """Waits until each client of uvzk was shown the current values. No client sets any
        more."""
        end = time.monotonic() + seconds
        behind = self.behind()
        while behind and time.monotonic() < end:
            time.sleep(0.1)
            self.world.records.take(self.world.clients)
            behind = self.behind()
        for text, servers in behind:
            if servers:
                self.tell_other(text)
            else:
                self.violate(text)

    def behind(self):
        """Returns (text, whether the servers show different values) for each client that was not
        shown the current value."""
        trees, values = self.world.eyes.look(), self.world.records.values
        found = []
        for lock in (lock for lock in self.world.locks if lock.is_value()):
            stood = {tree[lock.path].mzxid for tree in trees.values() if lock.path in tree}
            for client in self.world.ours() if stood else ():
                if values.behind(client.process_name(), lock.name, max(stood)):
                    found.append(("%s was not shown what stands of %s, 0x%x" % (
                        client.name, lock.name, max(stood)), len(stood) > 1))
        return found

    # ------------------------------------------------------------------- orphans

    def know(self, client):
        rows = client.ask_known()
        return None if rows is None else Knowledge(rows)

    def ending(self, owner, session):
        """Whether the servers may still need time to end a session that its client, or a killed
        process, has left. A new leader counts from when it began to lead."""
        left = owner.past.get(session)
        if left is None:
            return False
        grace_ms = bounds.expiry_ms(self.world.timeout_ms, self.world.tick_ms) + LATE_MS
        over = max(left, self.quiet_from) + int(grace_ms * clock.MS)
        return self.harming or clock.now() < over

    def look_for_orphans(self, trees):
        for suspect in self.orphans.look(trees, self.world.clients, time.time() * 1000,
                                         self.know, self.ending):
            if suspect.diverged():
                for number in suspect.shown_by:
                    self.diverged[number] = self.diverged.get(number, 0) + 1
                self.tell_other("a server has diverged: " + suspect.text())
                continue
            ended = self.ended(suspect.path, suspect.stat.czxid)
            if ended:
                self.brought_back += 1
                self.tell_other("servers have brought it back: %s, %s" % (suspect.text(), ended))
            else:
                self.violate("an orphan: " + suspect.text())

    def ended(self, path, czxid):
        """Returns how this znode was ended, if most servers have written its end; otherwise ""."""
        return self.world.records.brought_back(path, czxid, clock.ahead_of_real())

    def tell_other(self, text):
        print(text, flush=True)
        self.others.append(text)
        if len(self.others) <= DUMPS_OF_OTHERS:
            self.dump("other", text)

    # ------------------------------------------------------------------- silence

    def look_for_silence(self, trees):
        """Finds locks that no client was granted for QUIET_S and that no client of uvzk holds."""
        self.world.records.take(self.world.clients)  # the looks at the trees took some time
        now = clock.now()
        if self.blocked:
            self.quiet_from = now
        for lock in self.world.locks:
            since = max(self.world.records.last.get(lock.name, 0), self.quiet_from,
                        self.told_quiet.get(lock.name, 0))
            if now - since > QUIET_S * clock.S and not self.world.resting and not self.held(lock):
                self.told_quiet[lock.name] = now
                self.tell_stall(lock, trees, (now - since) / 1e9)

    def held(self, lock):
        """Whether a client of uvzk that is not paused says that it holds the lock. For a multi
        lock, holding one of its members counts, because the members are checked separately."""
        names = set().union(*(self.names[path] for path in self.paths_of(lock)))
        for client in self.world.ours():
            knowledge = self.know(client)
            if knowledge is not None and names & set(knowledge.held):
                return True
        return False

    def paths_of(self, lock):
        """Returns the directories that have the lock's znodes, or its members'."""
        names = {lock.name, *lock.members}
        return {path for path, of in self.world.directories.items() if of.name in names}

    def tell_stall(self, lock, trees, seconds, when=""):
        """Reports that no client was granted the lock. Returns who is to blame."""
        if self.world.eyes.leader_commits():
            blame, who = (self.unset if lock.is_value() else self.blocker)(lock, trees)
        else:
            blame, who = "servers", "no leader serves, or it commits nothing"
        text = "%s: %snobody was granted it for %.1f s; %s" % (lock.name, when, seconds, who)
        self.stalls.append((lock.name, seconds, blame))
        if blame == OURS:
            self.violate(text)
        else:
            self.tell_other(text)
            if blame in (CURATOR, KAZOO):
                self.unblock(lock, trees)
        return blame

    def unblock(self, lock, trees):
        """Deletes the znodes that other makers' clients have left in the lock's directories, as an
        operator would. Otherwise they stay as long as their sessions, and the run says nothing
        more about this lock."""
        for number, tree in trees.items():
            server = self.world.ensemble.servers[number]
            for path, stat in tree.items():
                owner = next((c for c in self.world.clients if c.owns(stat.owner & MASK)), None)
                old = time.time() * 1000 - stat.ctime > self.orphans.limit_ms
                if parent(path) in self.paths_of(lock) and old and owner and owner.maker != OURS:
                    self.by_operator(server, lambda eyes, path=path: eyes.delete(path))
            return

    def by_operator(self, server, act):
        with self.world.eyes.mutex:
            try:
                act(self.world.eyes.at(server))
            except (OSError, Error):
                self.world.eyes.lose(server)

    def blocker(self, lock, trees):
        """Returns who is to blame for a stall, and a text: the maker of the client whose znode is
        first in the queue, or that has the missing lease. If there is no znode, uvzk is to
        blame."""
        leader = self.world.ensemble.leader()
        tree = trees.get(leader.number) if leader else None
        if tree is None:
            return "servers", "no leader serves"
        paths = self.paths_of(lock)
        standing = sorted((stat.czxid, path, stat.owner & MASK) for path, stat in tree.items()
                          if parent(path) in paths)
        turn = next((multi for multi in self.world.locks if lock.name in multi.members), None)
        if not standing and turn is not None and not lock.taken_alone:
            return self.blocker(turn, trees)  # this member is taken later than another one
        if not standing:
            return OURS, "nobody stands in it"
        czxid, path, session = standing[0]
        owner = next((c for c in self.world.clients if c.owns(session)), None)
        differ = self.differing(lock, trees)
        words = "first in line is %s of %s, %d stand%s" % (
            path, owner.name if owner else "a session that nobody has, 0x%x" % session,
            len(standing), differ)
        ended = self.ended(path, czxid)
        if ended:
            return "diverged", "%s; it was %s" % (words, ended)
        if differ:
            return "diverged", words
        kept = self.kept_leases(lock, standing)
        if owner and owner.maker == OURS and len(kept) > lock.permits - lock.leases:
            return kept[0], "%s; %d leases are kept by clients that wait for more" % (
                words, len(kept))
        return (owner.maker if owner else "servers"), words

    def kept_leases(self, lock, standing):
        """Returns the makers of leases that other makers' clients keep. If an acquire needs
        several leases, Curator takes one after the other, and keeps those that it has until its
        time is up."""
        if lock.leases == 1:
            return []
        owners = [next((c for c in self.world.clients if c.owns(session)), None)
                  for _, path, session in standing if "/leases/" in path]
        return [owner.maker for owner in owners if owner and owner.maker != OURS]

    def differing(self, lock, trees):
        """Returns a text if two servers show different old znodes of this lock, in two looks. One
        look is not enough, because it looks at one server after the other."""
        odd = self.odd_in(lock, self.of_all(trees))
        again = self.odd_in(lock, self.of_all({})) if odd else {}
        odd = {path: shown for path, shown in odd.items() if again.get(path) == shown}
        return "; shown by some servers alone: %s" % odd if odd else ""

    def of_all(self, trees):
        """Adds the trees of servers that did not answer in time. On a loaded machine a server may
        be late, and that one may show what the others do not."""
        for _ in range(LOOKS_AT_ALL):
            if all(server.number in trees for server in self.world.ensemble.servers
                   if server.may_answer()):
                break
            trees = {**self.world.eyes.look(), **trees}
        return trees

    def odd_in(self, lock, trees):
        """Returns the old znodes that not all servers show, each with the servers that show it."""
        wall_ms, directories = time.time() * 1000, self.paths_of(lock)
        shown = {number: {path for path, stat in tree.items()
                          if parent(path) in directories and wall_ms - stat.ctime > OLD_MS}
                 for number, tree in trees.items()}
        paths = set().union(*shown.values()) if shown else set()
        return {path: [n for n in shown if path in shown[n]] for path in paths
                if any(path not in shown[n] for n in shown)}
