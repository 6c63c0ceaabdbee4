#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real servers that die, fall silent, are cut off and deposed, and real clients of three makers
that are cut off and stopped, as a seed says, while all of them take the same locks.

    tests/chaos/chaos.py --minutes 10 --seed 1 --recipe mutex --recipe semaphore_mutex

Exit code: 0 if nothing was wrong, 1 if something was; then what was found is in the directory
that is named (--dumps). See CONTRIBUTING.md, "Longer runs"."""

import argparse
import faulthandler
import os
import sys
import time
from pathlib import Path

import bounds
import clock
import delays
import locks
import recoveries
import table
import world as worlds
from faults import KINDS, MAY_BLOCK
from watch import Watch

LATE_MS = 200  # how late any machine may be
# After so many seconds beyond its time, the run prints its stack and exits.
SLOW_S = 240
LOGS_PER_S = 0.05  # per second of the run: to read the servers' logs at the end


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--minutes", type=float, default=0)
    add("--seconds", type=float, default=0)
    add("--seed", type=int, default=1)
    add("--recipe", action="append", choices=[*locks.recipes(), "all"])
    add("--fault", action="append", choices=sorted(KINDS), help="these kinds alone")
    add("--servers", type=int, default=3, help="that vote")
    add("--observers", type=int, default=0)
    add("--clients", type=int, default=3, help="of uvzk")
    add("--sessions", type=int, default=1, help="of the first of them")
    add("--curators", type=int, default=2)
    add("--kazoos", type=int, default=0)
    add("--session-ms", type=int, default=4000)
    add("--keep", action="store_true", help="the servers' data stay")
    add("--append", type=Path, help="a line of this run goes to this file")
    add("--recoveries", type=Path, help="a line of each recovery goes to this file")
    add("--dumps", type=Path, default=Path("chaos-dumps"))
    add("--build", type=Path, default=Path("build"), help="where the clients were built")
    options = parser.parse_args()
    options.recipe = options.recipe or ["all"]
    with open(options.build / "tests/chaos/clients", encoding="ascii") as file:
        options.programs = dict(line.rstrip("\n").split("=", 1) for line in file)
    jars = os.environ.get("UVZK_CURATOR_JARS") or options.programs["curator"]
    options.programs["curator"] = jars + ":" + options.programs["classes"]
    return options


def seconds_of(options):
    return options.minutes * 60 + options.seconds or 60


def bound_ms(world, watch):
    return bounds.recovery_ms(world.longest_timeout_ms(), world.tick_ms,
                              len(world.ensemble.servers), max(LATE_MS, watch.late_ms))


def recover(world, watch, fault):
    """Waits for the first grant of each lock after the fault has been undone. The allowed time
    counts from when all servers serve again."""
    missing = {lock.name: lock for lock in world.locks}
    repeat = bounds.repeat_ms(fault.kind, world.longest_timeout_ms())
    end = fault.until + int((bound_ms(world, watch) + repeat) * clock.MS)
    seen = delays.Delays(world, watch.names)
    while missing and not world.stopping.is_set() and not watch.violations:
        time.sleep(0.05)
        world.records.take(world.clients)
        take_recovered(world, fault, missing, seen)
        if missing and clock.now() > end:
            too_late(world, watch, fault, missing)
            return
        if missing and clock.now() > fault.until + delays.SLOW_MS * clock.MS // 2:
            seen.look(missing.values(), time.monotonic())


def take_recovered(world, fault, missing, seen):
    """Removes the locks that have been granted from `missing`, and notes how long each took. For a
    slow recovery it prints what the lock waited for."""
    for name in list(missing):
        granted = world.records.granted_since(name, fault.undone)
        if not granted:
            continue
        since = max(last_end(world, part, fault.undone, granted)
                    for part in (name, *missing[name].members))
        since = max(fault.undone, since)
        fault.recovery_ms[name] = took = (granted - since) / clock.MS
        del missing[name]
        if took > delays.SLOW_MS and name in seen.by_lock:
            fault.slow[name] = seen.by_lock[name]
            print("slow: %s after %s of %s, %.0f ms: %s" % (
                name, fault.kind, fault.what, took, seen.by_lock[name].text()), flush=True)


def last_end(world, name, moment, granted):
    """Returns the last end of the holds that were valid at `moment` and ended before the grant; 0
    if there was none."""
    held = world.records.holds.get(name, [])
    return max([hold.until for hold in held if hold.since < moment < hold.until <= granted],
               default=0)


def too_late(world, watch, fault, missing):
    """Reports a stall for each missing lock that no client of uvzk holds."""
    trees = world.eyes.look()
    for lock in missing.values():
        if watch.held(lock):
            continue
        text = "after %s of %s no grant within the bound; " % (fault.kind, fault.what)
        fault.stalled[lock.name] = watch.tell_stall(
            lock, trees, (clock.now() - fault.until) / 1e9, text)


def kinds_for(world):
    """Returns the kinds of faults that can have an effect in this world."""
    shared = [lock for lock in world.locks if lock.is_value()]
    idle = set()
    if not any(lock.kind == "value" for lock in shared):
        idle.add("remake_value")
    if len(shared) == len(world.locks):
        idle |= {"delete_znode", "delete_waiters", "forbid_deletes", "reap"}
    if not world.by_names:
        idle.add("change_names")
    return world.options.fault or sorted(set(KINDS) - idle)


def harm(world, watch):
    kind = world.random.choice(kinds_for(world))
    fault = worlds.fault(kind)
    world.faults.append(fault)
    watch.harming, watch.blocked = True, kind in MAY_BLOCK
    fault.what = KINDS[kind](world)
    fault.undone = clock.now()
    watch.blocked = False
    if not world.ensemble.await_all():
        watch.tell_other("after %s of %s the servers do not serve" % (kind, fault.what))
    fault.until = watch.quiet_from = clock.now()
    watch.harming = False
    print("%s of %s: %.1f s" % (kind, fault.what, (fault.until - fault.since) / 1e9), flush=True)
    recover(world, watch, fault)
    world.stopping.wait(world.random.randint(0, 1000) / 1000)


def run(world, watch):
    """Injects faults until the time is up or something is wrong. Returns the minutes."""
    options = world.options
    seconds = seconds_of(options)
    began = time.monotonic()
    while time.monotonic() - began < seconds and not watch.violations:
        harm(world, watch)
    return (time.monotonic() - began) / 60


def finish(world, watch):
    """Lets all clients rest, so that no client holds or waits, and looks at what is left then."""
    world.resting = True
    for client in world.clients:
        client.rest()
    for client in world.clients:
        if not client.expect("resting", 30) and client in world.ours():
            watch.violate("%s does not come to rest" % client.name)
    if not watch.violations:
        watch.look()
        watch.await_values(bound_ms(world, watch) / 1000)
        watch.look_at_values(all_over=True)
    world.stopping.set()
    watch.thread.join(120)


def main():
    options = arguments()
    faulthandler.dump_traceback_later(seconds_of(options) * (1 + LOGS_PER_S) + SLOW_S, exit=True)
    world = worlds.World(options)
    watch = Watch(world)
    try:
        world.begin()
        watch.start()
        minutes = run(world, watch)
        finish(world, watch)
    finally:
        world.stopping.set()
        well = world.end()
    if not well and not watch.violations:
        watch.violations.append("a client of ours did not end well")
    line = table.row(world, watch, minutes, bound_ms(world, watch))
    table.show(world, line)
    if options.recoveries:
        recoveries.append(options.recoveries, recoveries.rows(world, watch))
    if options.append:
        table.append(options.append, line)
    for text in watch.violations:
        print("VIOLATION: " + text)
    return 1 if watch.violations else 0


if __name__ == "__main__":
    sys.exit(main())
