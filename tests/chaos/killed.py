"""Holds of processes that were killed: nobody is left to say when they end. Their znodes keep
others out until the session ends, so each counts as held until its first znode has gone, by the
servers' own logs; a grant before that is an overlap like any other."""

from dataclasses import replace

import clock

FIRST_LOOK_S = 5  # after the kill; sessions live about as long
NEXT_LOOK_S = 3


class Killed:
    def __init__(self):
        self.holds = []  # of which it is not known yet
        self.next = 0

    def take(self, holds):
        if holds and not self.holds:
            self.next = clock.now() + FIRST_LOOK_S * clock.S
        self.holds += holds

    def due(self, now):
        return bool(self.holds) and now >= self.next

    def settle(self, lives, directories_of, now):
        """directories_of(name): of each lock that a hold by this name takes, its name and where
        its znodes stand. Returns the holds that are known now, one for each such lock."""
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
    """When the first of its znodes there went; 0: they stand. Some names are used again by
    others later."""
    own = [node for node in lives.of(hold, directories)
           if node.path.rsplit("/", 1)[0] in directories and node.born <= hold.until
           and (node.died == 0 or node.died > hold.since)]
    if not own:  # gone before it was killed, or never seen
        return hold.until
    return min((node.died for node in own if node.died), default=0)
