#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What checks the runs is checked here: with sets and journals that are wrong, and with some that only look so."""

import sys

sys.dont_write_bytecode = True
import holds  # noqa: E402
from shared_set import SharedSet  # noqa: E402

MS = holds.NS_IN_MS


def journal(*lines):
    """Of "TIME_MS PROCESS WORD...". A time without a process is of the faults."""
    split = [line.split() for line in lines]
    return [(int(at) * MS, int(process), word, words) for at, process, word, *words in split]


def found(*lines):
    return holds.figures(journal(*lines))


def check_equal(got, expected):
    assert got == expected, f"{got}, not {expected}"


def case_one_after_the_other():
    shown = found("0 1 locked -", "10 1 holds", "20 1 write 0 -", "21 1 unlocking", "25 2 locked -", "30 2 holds")
    check_equal((shown["holds"], shown["double_ms"], shown["told_ms"], shown["not_told"]), (2, [], [], 0))


def case_two_at_once():
    shown = found("0 1 locked -", "10 1 stop 2000", "1000 2 locked -", "2010 1 holds", "2020 1 lost LOST", "2100 2 holds")
    check_equal((shown["double_ms"], shown["told_ms"], shown["not_told"]), ([1010.0], [-1020.0], 0))


def case_two_at_once_until_the_second_ends():
    shown = found("0 1 locked -", "100 2 locked -", "150 2 holds", "160 2 unlocking", "900 1 holds")
    check_equal((shown["double_ms"], shown["not_told"]), ([50.0], 1))


def case_lines_that_come_late():
    """A journal is in the order in which its lines were heard: what counts is their time."""
    shown = found("100 2 locked -", "0 1 locked -", "90 1 holds", "95 1 unlocking", "120 2 holds")
    check_equal((shown["holds"], shown["double_ms"]), (2, []))


def case_a_write_is_a_hold():
    check_equal(found("0 1 locked -", "50 2 locked -", "60 1 write 0 -", "70 2 holds")["double_ms"], [10.0])


def case_three_at_once():
    shown = found("0 1 locked -", "10 2 locked -", "20 3 locked -", "30 1 holds", "30 2 holds", "30 3 holds")
    check_equal(shown["double_ms"], [10.0, 10.0, 20.0])


def case_the_same_process_again():
    check_equal(found("0 1 locked -", "10 1 holds", "20 1 unlocking", "20 1 unlocked", "20 1 locked -")["double_ms"], [])


def case_told_in_time():
    shown = found("0 1 locked -", "5 1 cut 3000", "1900 1 holds", "1950 1 lost EPROOF", "2500 2 locked -")
    check_equal((shown["told_ms"], shown["told_of_cut_ms"], shown["double_ms"]), ([550.0], [550.0], []))
    check_equal(shown["without_holder_ms"], {"kill": [], "stop": [], "cut": [2495.0]})


def case_killed():
    shown = found("0 1 locked -", "10 1 kill", "3010 2 locked -")
    check_equal(shown["without_holder_ms"]["kill"], [3000.0])
    check_equal(shown["faults"], {"kill": 1})


def case_who_keeps_the_lock_has_no_gap():
    shown = found("0 1 locked -", "10 1 stop 900", "920 1 holds", "930 1 unlocking", "940 2 locked -")
    check_equal(shown["without_holder_ms"]["stop"], [])


def write(to, process, token="-"):
    """Reads, and returns what writes later."""
    version = to.read(token)
    return lambda: to.write(version, token)


def case_updates_in_turn():
    to = SharedSet(False)
    for number in range(3):
        assert write(to, number)()
    check_equal((to.acknowledged(), to.lost()), (3, []))


def case_an_update_is_lost():
    to = SharedSet(False)
    early, late = write(to, 1), write(to, 2)
    assert late() and early() and write(to, 3)()
    check_equal((to.acknowledged(), to.lost()), (3, [(1, 2)]))


def case_a_guard_refuses():
    to = SharedSet(True)
    early, late = write(to, 1, "7"), write(to, 2, "9")
    assert not early() and late() and not early()  # who has read with a greater token is before who writes with a smaller one
    check_equal((to.acknowledged(), to.lost(), to.refused), (1, [], 2))


def case_who_has_lost_an_update():
    """The earlier holder is late: its write is the one that is lost, or loses the other."""
    lines = journal("0 1 locked -", "1 1 late_write 900", "2 2 locked -", "3 2 written 1", "4 1 written 2", "5 1 unlocking", "6 2 kill")
    check_equal(holds.faults_of_losses(lines, [(1, 2)]), {"late_write": 1})
    lines = journal("0 1 locked -", "2 2 locked -", "2 2 stop 900", "3 2 written 1", "4 1 written 2")
    check_equal(holds.faults_of_losses(lines, [(1, 2)]), {"not_own": 1})
    check_equal(holds.faults_of_losses(journal("0 1 locked -", "1 1 kill", "2 1 written 1", "3 2 locked -", "4 2 written 2"), [(1, 2)]),
                {"kill": 1})  # fmt: skip


def case_explained():
    shown = found("0 1 asked", "1 1 locked 5", "9 1 unlocking", "12 1 unlocked", "2 2 asked", "11 2 locked 7", "20 2 holds")
    check_equal(shown["explained"], {"mutex": True, "fenced mutex": True})
    shown = found("0 1 asked", "1 1 locked 7", "9 1 unlocking", "12 1 unlocked", "2 2 asked", "11 2 locked 5", "20 2 holds")
    check_equal(shown["explained"], {"mutex": True, "fenced mutex": False})
    shown = found("0 1 asked", "1 1 locked -", "5 1 holds", "2 2 asked", "11 2 locked -", "12 1 unlocked")
    check_equal(shown["explained"], {"mutex": True})
    shown = found("0 1 asked", "1 1 locked -", "9 1 holds", "9 1 lost LOST", "2 2 asked", "11 2 locked -", "30 1 unlocked")
    check_equal(shown["explained"], {"mutex": True})
    shown = found("0 1 asked", "1 1 locked -", "19 1 holds", "20 1 lost LOST", "2 2 asked", "11 2 locked -", "30 1 unlocked")
    check_equal(shown["explained"], {"mutex": False})


def case_models():
    lines = journal("0 1 asked", "1 1 locked -", "0 2 asked", "2 2 locked -", "9 1 holds", "9 2 holds", "10 1 unlocking", "11 1 unlocked",
                    "3 3 asked", "8 3 locked -", "12 3 holds")  # fmt: skip
    check_equal(holds.figures(lines, "semaphore")["explained"], {"semaphore": False})
    check_equal(holds.figures(lines, "semaphore")["double_ms"], [])
    check_equal(holds.figures(lines[:8], "semaphore")["explained"], {"semaphore": True})
    check_equal(holds.figures(lines[:8], "reentrant mutex")["explained"], {"reentrant mutex": False})


def case_quantiles():
    check_equal((holds.quantile([], 0.5), holds.quantile([3, 1, 2], 0.5), holds.quantile([3, 1, 2], 0.99)), (None, 2, 3))


for name, case in list(globals().items()):
    if name.startswith("case_"):
        case()
