# SPDX-License-Identifier: Apache-2.0
"""What clients were shown of shared values and counts, and the results of their sets. These must
hold: the shown values never go back, a transaction has one content, a set that succeeded is not
lost, and a set that was refused is never shown. Values may be skipped."""

from dataclasses import dataclass

from journal import OURS

SEED = {"count": "0", "value": "seed"}  # the first value, by kind
SET = "0"
# With these codes a set of uvzk was certainly not carried out. With any other code it is not
# known. It is never known for Curator, because Curator retries by itself, and is refused then if
# its first attempt has succeeded.
REFUSED = ("UVZK_EBADVERSION", "UVZK_ENOTSENT", "UVZK_EAUTH", "UVZK_ETHROTTLED", "UVZK_ENOAUTH",
           "UVZK_ENONODE")


@dataclass
class Shown:
    client: str  # the client's name and the number of its process
    name: str
    mzxid: int
    version: int
    content: str
    at: int

    def text(self):
        return "%s of %s by 0x%x to %s" % (self.content, self.name, self.mzxid, self.client)


@dataclass
class Set:
    maker: str
    worker: str
    name: str
    status: str
    content: str
    sent: int
    at: int

    def refused(self):
        return self.maker == OURS and self.status in REFUSED


def parse_shown(client, words):
    return Shown(client, words[1], int(words[2]), int(words[3]), words[4], int(words[5]))


def parse_set(maker, words, shift):
    return Set(maker, words[1], words[2], words[3], words[4], int(words[5]) + shift,
               int(words[6]) + shift)


@dataclass
class Wrong:
    text: str
    name: str
    content: str = ""  # of the set that the servers must have lost, if they are to blame
    mzxid: int = 0  # of that set, if a server has shown it


class Values:
    def __init__(self, locks):
        self.kinds = {lock.name: lock.kind for lock in locks if lock.is_value()}
        self.last = {}  # (client, name): what it was shown last
        self.contents = {}  # by name, by mzxid: the content
        self.attempts = {}  # by name, by content: the sets
        self.killed = False  # a process was killed, so some sets are not known
        self.gone = {}  # by name: ranges of mzxids that the servers have lost

    def take_shown(self, shown):
        """Takes what a client was shown. Returns what is wrong with it."""
        wrong = []
        before = self.last.get((shown.client, shown.name))
        if before is not None and shown.mzxid < before.mzxid:
            wrong.append(Wrong("what was shown went back: %s after %s" % (
                shown.text(), before.text()), shown.name, before.content))
        self.last[shown.client, shown.name] = shown
        contents = self.contents.setdefault(shown.name, {})
        if contents.setdefault(shown.mzxid, shown.content) != shown.content:
            wrong.append(Wrong("a transaction shows two contents: %s, and %s" % (
                shown.text(), contents[shown.mzxid]), shown.name))
        return wrong

    def take_set(self, set):
        sets = self.attempts.setdefault(set.name, {}).setdefault(set.content, [])
        sets.append(set)
        done = [one for one in sets if one.status == SET]
        if self.kinds[set.name] == "count" and set.status == SET and len(done) > 1:
            return [Wrong("a set is lost: %s of %s was set by %s, each over the number before" % (
                set.content, set.name, " and ".join(one.worker for one in done)),
                set.name, set.content)]
        return []

    def newest(self, name):
        """Returns mzxid and content of the newest value that a client was shown, or (0, "")."""
        return max(self.contents.get(name, {}).items(), default=(0, ""))

    def note_gone_back(self, name, mzxid):
        """The leader shows what this transaction has set, and a client was shown something newer.
        So the servers have lost all that was set in between, whatever their logs say now: a
        server that follows such a leader drops these transactions from its own."""
        self.gone.setdefault(name, []).append((mzxid, self.newest(name)[0]))

    def has_gone(self, name, content):
        """Whether this was set between what servers have lost. Of a count, the clients need not
        have been shown each number."""
        shown = self.contents.get(name, {})
        for first, last in self.gone.get(name, []):
            lost = {mzxid: one for mzxid, one in shown.items() if first < mzxid <= last}
            if content in lost.values():
                return True
            before = [int(one) for mzxid, one in shown.items() if mzxid <= first] if (
                self.kinds[name] == "count") else []
            if before and lost and max(before) < int(content) <= max(map(int, lost.values())):
                return True
        return False

    # --------------------------------------------------------------------- at the end

    def numbers_fall(self, name):
        """Finds numbers that are not greater than an earlier one. Each set of a count is
        conditional on the number before."""
        shown = sorted(self.contents.get(name, {}).items())
        for (mzxid, content), (later, next) in zip(shown, shown[1:]):
            if int(next) <= int(content):
                yield Wrong("a set is lost: %s of %s by 0x%x, and %s by 0x%x" % (
                    content, name, mzxid, next, later), name, content, mzxid)

    def came_to_be_though_refused(self, name):
        attempts, shown = self.attempts.get(name, {}), set(self.contents.get(name, {}).values())
        for content, sets in attempts.items():
            if content in shown and all(one.refused() for one in sets) and not (
                    self.kinds[name] == "count" and self.killed):
                yield Wrong("%s of %s was shown, though %s was told %s" % (
                    content, name, sets[0].worker, sets[0].status), name)

    def differ_from(self, name, history):
        """`history` is what the servers have written: zxid to content."""
        for mzxid, content in self.contents.get(name, {}).items():
            if history.get(mzxid, content) != content:
                yield Wrong("%s of %s was shown by 0x%x, which has set %s" % (
                    content, name, mzxid, history[mzxid]), name)

    def never_written(self, name, history):
        written = set(history.values())
        for content, sets in self.attempts.get(name, {}).items():
            if content not in written and any(one.status == SET for one in sets):
                yield Wrong("a set is lost: %s of %s, which no server has written" % (
                    content, name), name)

    def check_all(self, histories):
        """`histories` is what the servers have written, by name."""
        wrong = []
        for name, kind in self.kinds.items():
            history = histories.get(name, {})
            if kind == "count":
                wrong += self.numbers_fall(name)
            wrong += self.came_to_be_though_refused(name)
            wrong += self.differ_from(name, history)
            wrong += self.never_written(name, history)
        return wrong

    def behind(self, client, name, mzxid):
        """Whether this client was not shown yet what this transaction has set."""
        shown = self.last.get((client, name))
        return shown is None or shown.mzxid < mzxid


def lost_sets(events, by_most):
    """Returns those creates and sets of one znode that most servers have written and that all have
    lost: a later set made the same version again, or an earlier one. A transaction that only a
    leader has written may be dropped, because it was not answered."""
    lost, kept = [], []
    for event in sorted(events, key=lambda event: event.zxid):
        if event.kind == "create":
            kept = []
            continue
        lost += [one for one in kept if one.version >= event.version and by_most(one.zxid)]
        kept = [one for one in kept if one.version < event.version] + [event]
    return lost
