# SPDX-License-Identifier: Apache-2.0
"""The records of the clients: who held what, and from when until when."""

from dataclasses import dataclass, field

OURS, CURATOR, KAZOO = "ours", "Curator", "kazoo"
KILLED = "killed"  # the end of a hold whose process was killed


@dataclass
class Hold:
    maker: str  # OURS, CURATOR, KAZOO
    client: str
    worker: str
    lock: str  # its name
    since: int  # ns of CLOCK_BOOTTIME
    until: int
    token: int = 0
    cohort: int = 0
    session: int = 0
    leases: int = 1
    end: str = "released"
    paths: tuple = ()

    def text(self):
        return "%s's %s, session 0x%x, token 0x%x, %.1f ms, %s %s" % (
            self.maker, self.worker, self.session, self.token,
            (self.until - self.since) / 1e6, self.end, " ".join(self.paths))


def parse_hold(maker, client, words, shift):
    """Parses a line "held ID NAME FROM UNTIL TOKEN COHORT SESSION LEASES END PATH...". `shift` is
    added to the client's times to get CLOCK_BOOTTIME."""
    return Hold(maker, client, words[1], words[2], int(words[3]) + shift,
                int(words[4]) + shift, int(words[5]), int(words[6]), int(words[7], 16),
                int(words[8]), words[9], tuple(words[10:]))


@dataclass
class Intervention:
    """Something that a fault did and that ends holds without a violation: an operator ended a
    session, or a znode was deleted by hand."""

    at: int
    session: int = 0
    path: str = ""


@dataclass
class Journal:
    holds: list = field(default_factory=list)
    interventions: list = field(default_factory=list)
    refusals: dict = field(default_factory=dict)  # by status: how many
