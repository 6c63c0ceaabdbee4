# SPDX-License-Identifier: Apache-2.0
"""Holds of killed processes. Such a process cannot report the end of its holds, but their znodes
keep other clients out until the session ends. So each hold counts until its first znode was
deleted, according to the servers' logs. A grant before that is an overlap like any other."""

from dataclasses import replace

import clock

FIRST_LOOK_S = 5  # after the kill; about the lifetime of a session
NEXT_LOOK_S = 3


class Killed:
    def __init__(self):
        self.holds = []  # whose end is not known yet
        self.next = 0

    def take(self, holds):
        if holds and not self.holds:
            self.next = clock.now() + FIRST_LOOK_S * clock.S
        self.holds += holds

    def due(self, now):
        return bool(self.holds) and now >= self.next

    def settle(self, lives, directories_of, now):
        """directories_of(name) returns, for each lock that a hold by this name takes, its name and
        its directories. Returns the holds whose end is known now, one for each such lock."""
        self.next = now + NEXT_LOOK_S * clock.S
        known, waiting = [], []
        for hold in self.holds:
            parts = [(name, end_of(hold, lives, own)) for name, own in directories_of(hold.lock)]
            if any(end == 0 for _, end in parts):
                waiting.append(hold)
            else:
                known += [(name, replace(hold, until=end)) for name, end in parts]
        self.holds = waiting
        return known


def end_of(hold, lives, directories):
    """Returns when the first of the hold's znodes in these directories was deleted, or 0 if they
    all exist. Other holds may later use a name again."""
    own = [node for node in lives.of(hold, directories)
           if node.path.rsplit("/", 1)[0] in directories and node.born <= hold.until
           and (node.died == 0 or node.died > hold.since)]
    if not own:  # deleted before the kill, or never seen
        return hold.until
    return min((node.died for node in own if node.died), default=0)
