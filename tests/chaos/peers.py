# SPDX-License-Identifier: Apache-2.0
"""The clients of uvzk, Curator and kazoo. Each is a process that reads commands and prints
lines."""

import signal
import subprocess
import threading
from dataclasses import replace

import clock
from journal import CURATOR, KAZOO, KILLED, OURS, Intervention, parse_hold
from servers import LIBC, PR_SET_PDEATHSIG
from values import parse_set, parse_shown


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Session:
    def __init__(self, number):
        self.number, self.id, self.timeout_ms, self.connected = number, 0, 0, False
        self.since = 0  # ns; when id or connected changed last


class Client:
    """One client process, and its successors after kills. A thread reads its lines; the checks
    takes the holds from `fresh`."""

    def __init__(self, maker, name, command, log):
        self.maker, self.name = maker, name
        self.command, self.log = command, log
        self.shown, self.sets, self.processes = [], [], 0
        self.fresh, self.refused, self.errors, self.fallen = [], [], [], []
        self.older = []  # lines: who was told of an older leader than before
        # Holds that have begun, by worker; and the holds of a killed process.
        self.begun, self.cut_short = {}, []
        self.sessions, self.past = {}, {}  # past: session id -> when the client left it
        self.kills = 0
        self.known, self.told, self.asked = {}, {}, 0
        self.arrived = threading.Condition()
        self.lines, self.paused, self.ended, self.killed = set(), False, False, False
        self.wall_ms = None  # how far it sees its wall clock ahead
        self.last = {}  # by lock: the end of the last hold
        self.shift = 0 if maker == OURS else clock.ahead_of_monotonic()
        self.begin()

    def begin(self):
        """Starts a process: the first one, or one after a kill."""
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        bufsize=1, preexec_fn=die_with_parent)
        self.processes += 1
        self.lines.clear()
        self.ended = self.killed = False
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def process_name(self):
        """Identifies one process. A new process does not know what the one before it knew."""
        return "%s.%d" % (self.name, self.processes)

    def kill(self):
        """Kills the process with SIGKILL. It cannot end its sessions, so its holds last until the
        servers end these."""
        self.killed = True
        self.kills += 1
        self.process.kill()
        self.process.wait()
        self.thread.join()
        now = clock.now()
        self.cut_short += [replace(hold, until=now, end=KILLED) for hold in self.begun.values()]
        self.begun.clear()
        for session in self.sessions.values():
            self.past[session.id] = now
        self.sessions.clear()

    # --------------------------------------------------------- lines that it prints

    def listen(self):
        for line in self.process.stdout:
            if not line.endswith("\n"):  # it was killed while it wrote this line
                break
            words = line.split()
            try:
                self.take(words, line)
            except (ValueError, IndexError) as failure:
                self.errors.append("%s: %r" % (line.rstrip(), failure))
        with self.arrived:
            self.ended = True
            self.arrived.notify_all()

    def take(self, words, line):
        if words[0] == "granted":
            self.begun[words[1]] = parse_hold(self.maker, self.name, words, self.shift)
        elif words[0] == "held":
            self.begun.pop(words[1], None)
            self.fresh.append(parse_hold(self.maker, self.name, words, self.shift))
        elif words[0] == "shown":
            self.shown.append(parse_shown(self.process_name(), words))
        elif words[0] == "set":
            self.sets.append(parse_set(self.maker, words, self.shift))
        elif words[0] == "refused":
            self.refused.append((words[2], words[3], int(words[4]) + self.shift))
        elif words[0] == "session":
            self.take_session(words)
        elif words[0] == "known":
            self.take_known(words)
        elif words[0] == "wall":
            with self.arrived:
                self.wall_ms = int(words[1])
                self.arrived.notify_all()
        elif words[0] == "fell":
            hold = self.begun.get(words[1])  # which is still valid
            self.fallen.append((line.rstrip(), hold and replace(hold, until=clock.now())))
        elif words[0] == "older":
            self.older.append(line.rstrip())
        elif words[0] == "error":
            self.errors.append(line.rstrip())
        else:
            with self.arrived:
                self.lines.add(" ".join(words[:2]))
                self.arrived.notify_all()

    def take_session(self, words):
        number, id = int(words[1]), int(words[2], 16)
        session = self.sessions.setdefault(number, Session(number))
        if session.id not in (0, id):
            self.past[session.id] = clock.now()
        changed = (session.id, session.connected) != (id, words[4] == "1")
        session.id, session.timeout_ms = id, int(words[3])
        session.connected = words[4] == "1"
        if changed:
            session.since = clock.now()

    def take_known(self, words):
        rows = self.known.setdefault(words[1], [])
        if words[2] != "end":
            rows.append(words[2:])
            return
        with self.arrived:
            self.told[words[1]] = self.known.pop(words[1])
            self.arrived.notify_all()

    # ------------------------------------------------------------- lines that it is sent

    def say(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def expect(self, line, seconds=40):
        with self.arrived:
            return self.arrived.wait_for(lambda: line in self.lines or self.ended, seconds) \
                and line in self.lines

    def expect_value(self, name, seconds):
        """Waits until the client has printed this value."""
        with self.arrived:
            return self.arrived.wait_for(
                lambda: getattr(self, name) is not None or self.ended, seconds) \
                and getattr(self, name) is not None

    def ask_known(self, seconds=2):
        """Asks what the client knows. Returns the rows, or None if it did not answer in time."""
        if self.maker != OURS or self.paused or self.ended:
            return None
        with self.arrived:
            self.asked += 1
            number = str(self.asked)
        self.say("known " + number)
        with self.arrived:
            self.arrived.wait_for(lambda: number in self.told or self.ended, seconds)
            return self.told.pop(number, None)

    def rest(self):
        self.lines.discard("resting")
        self.say("rest")

    def pause(self, paused):
        self.process.send_signal(signal.SIGSTOP if paused else signal.SIGCONT)
        self.paused = paused

    def owns(self, session):
        return session != 0 and (session in self.past or any(
            mine.id == session for mine in self.sessions.values()))

    def longest_timeout_ms(self, default):
        return max([s.timeout_ms for s in self.sessions.values() if s.timeout_ms] or [default])

    def end(self, seconds=20):
        """Closes the client's input, at which the client ends. Returns whether it ended by itself
        with code 0."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            return self.process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False

    def alive(self):
        return self.process.poll() is None


def intervention(session=0, path=""):
    return Intervention(clock.now(), session, path)


MAKERS = (OURS, CURATOR, KAZOO)
