# SPDX-License-Identifier: Apache-2.0
"""The set that all processes change, each by reading it, adding an element, and writing it back. It does nothing by
itself against two that do so at once. With a guard it refuses whoever has a smaller token than it has seen.

A write that was acknowledged is lost if the last version does not come from it, by way of other writes."""


class SharedSet:
    def __init__(self, guarded):
        self.guarded = guarded
        self.greatest = 0  # token
        self.parents = [None]  # of each version, the one that was read for it
        self.refused = 0

    def seen(self, token):
        """Returns whether this token may read or write. A read counts: who has read before must not write after it."""
        if not self.guarded or token == "-":
            return True
        if int(token) < self.greatest:
            return False
        self.greatest = int(token)
        return True

    def read(self, token):
        self.seen(token)
        return len(self.parents) - 1

    def write(self, version, token):
        """Returns whether it was written; then it is acknowledged."""
        if not self.seen(token):
            self.refused += 1
            return False
        self.parents.append(version)
        return True

    def acknowledged(self):
        return len(self.parents) - 1

    def lost(self):
        """(version of an acknowledged write that the last version does not have, the next later version that it has)"""
        version, kept = len(self.parents) - 1, []
        while version is not None:
            kept.append(version)
            version = self.parents[version]
        return [(number, min(later for later in kept if later > number))
                for number in range(len(self.parents)) if number not in kept]  # fmt: skip
