# SPDX-License-Identifier: Apache-2.0
"""The body of the lock programs in Python: what each does with its lock, whoever grants it.

A lock program is one process. It is told "lock" on its standard input, and then does what a program does that
changes a set that it shares with others: it acquires the lock, reads the set, works, writes, and releases the lock.
The set and the journal are on the other side of its pipes (lock_set.py). Each line that it says begins with a word
and the time of CLOCK_MONOTONIC in ns, which is the same for all programs of the machine:

    ready T                         it can be told "lock"
    locked T TOKEN                  acquired; "-" without a token. T is later than the grant
    read T TOKEN                    answered with "work VERSION MS sleep|block"
    holds T                         asked at T or later, its lock has said that it is held
    lost T REASON                   its lock has told it that it is not held any more
    write T VERSION TOKEN           answered with "written" or "refused"
    gave_up T                       it does not write, because the lock was lost
    unlocking T, unlocked T
    failed T REASON                 there was no lock, or its release has failed

While it works it asks its lock every TICK_S whether it still holds, and once more directly before it writes, if there is
something in its interface that tells it. With "block" it does not: it computes, and so blocks its loop if it has one.

A lock has acquire(), which returns the token or None, holds(), renew(), which is called as often as holds(), and
release()."""

import os
import subprocess
import threading
import time

TICK_S = 0.02
SAYING = threading.RLock()  # a signal may come while something is said


def now():
    return time.monotonic_ns()


def say(word, *words, at=None):
    with SAYING:
        line = " ".join(map(str, (word, at or now(), *words))).replace("\n", " ")
        os.write(1, line.encode() + b"\n")


def heard():
    """The next line, as words. It reads no further, because a child may have the same standard input."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            raise EOFError
        line += piece
    return line.decode().split()


def answer(*expected):
    """The words of the next line that begins with one of the expected words. Answers to a program that was killed come
    to its successor, which has not asked."""
    while (words := heard())[0] not in expected:
        pass
    return words


class Lock:
    """Of which nothing is known after the grant."""

    def cycle(self):
        critical_section(self, self.acquire())
        self.release()

    def holds(self):
        return True

    def renew(self):
        pass

    def close(self):
        pass


def still_holds(lock):
    at = now()
    holds = lock.holds()
    if holds:
        say("holds", at=at)
    return holds


def works(lock, ms, how):
    """Returns whether the lock is held at the end, as far as it tells."""
    end = now() + ms * 1_000_000
    while now() < end:
        if how == "sleep":
            if not still_holds(lock):
                return False
            lock.renew()
            time.sleep(max(0, min(TICK_S, (end - now()) / 1e9)))
    return still_holds(lock)


def critical_section(lock, token):
    token = "-" if token is None else token
    say("locked", token)
    say("read", token)
    _, version, ms, how = answer("work")
    if works(lock, int(ms), how):
        say("write", version, token)
        answer("written", "refused")
    else:
        say("gave_up")
    say("unlocking")


def serve(lock, *failures):
    """Does what it is told until the end of its standard input."""
    say("ready")
    try:
        while answer("lock"):
            try:
                lock.cycle()
                say("unlocked")
            except failures as why:
                say("failed", type(why).__name__, why)
    except EOFError:
        lock.close()


def command(arguments, environment=None):
    """As serve(), of a command that runs another one while it holds a lock: critical_section.py."""
    say("ready")
    section = os.path.join(os.path.dirname(os.path.abspath(__file__)), "critical_section.py")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TORTURE_INPUT": f"/proc/{os.getpid()}/fd/0", **(environment or {})}
    try:
        while answer("lock"):
            code = subprocess.run([*arguments, section], env=environment, check=False).returncode
            say("unlocked", code)
    except EOFError:
        pass
