# SPDX-License-Identifier: Apache-2.0
"""Records everything that can be known at the moment of a violation: it stops the clients of uvzk,
and writes what each part of the world says into a directory."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import clock
from journal import OURS
from zookeeper import four_letters


def write(directory: Path, world, reason, cores):
    """Makes the directory and writes the files; reason.txt has the reason. With `cores` it also
    writes core dumps or stacks. That takes so long that the run cannot go on afterwards."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "reason.txt").write_text("%s\nat %d ns\n" % (reason, clock.now()))
    known = {client.name: client.ask_known() for client in world.clients}
    for client in world.clients:
        if client.maker == OURS and client.alive():
            client.process.send_signal(signal.SIGSTOP)
    write_known(directory, known)
    write_trees(directory, world)
    write_faults(directory, world)
    (directory / "values.txt").write_text("".join(
        shown.text() + "\n" for shown in world.records.values.last.values()))
    if cores:
        write_cores(directory, world)
    write_servers(directory, world)
    write_journal(directory, world)
    for client in world.clients:
        if client.maker == OURS and client.alive() and not client.paused:
            client.process.send_signal(signal.SIGCONT)


def write_known(directory, known):
    for name, rows in known.items():
        if rows is not None:
            (directory / (name + ".known")).write_text(
                "".join(" ".join(row) + "\n" for row in rows))


def write_trees(directory, world):
    owners = {}
    for client in world.clients:
        for id in [s.id for s in client.sessions.values()] + list(client.past):
            owners[id] = client.name
    wall_ms = time.time() * 1000
    for number, tree in world.eyes.look().items():
        lines = []
        for path, stat in sorted(tree.items(), key=lambda item: (item[0].rsplit("/", 1)[0],
                                                                 item[1].czxid)):
            owner = stat.owner & (2**64 - 1)
            lines.append("%s czxid 0x%x mzxid 0x%x version %d owner 0x%x %s age %.1f s "
                         "children %d\n" % (
                             path, stat.czxid, stat.mzxid, stat.version, owner,
                             owners.get(owner, "-"), (wall_ms - stat.ctime) / 1000,
                             stat.children))
        (directory / ("tree%d.txt" % number)).write_text("".join(lines))


def write_faults(directory, world):
    (directory / "faults.txt").write_text("".join(
        "%d %d %s %s\n" % (fault.since, fault.until, fault.kind, fault.what)
        for fault in world.faults))


def write_cores(directory, world):
    for client in world.clients:
        pid = client.process.pid
        if client.maker == OURS and shutil.which("gcore"):
            subprocess.run(["gcore", "-o", str(directory / ("core." + client.name)), str(pid)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
                           check=False)
        elif client.maker == OURS:
            stacks = [path.read_text() for path in Path("/proc/%d/task" % pid).glob("*/stack")]
            (directory / (client.name + ".stacks")).write_text("\n".join(stacks))
        elif client.maker == "Curator" and shutil.which("jstack") and client.alive():
            with open(directory / (client.name + ".stacks"), "w", encoding="ascii",
                      errors="replace") as file:
                subprocess.run(["jstack", str(pid)], stdout=file, stderr=file, timeout=30,
                               check=False)


def write_servers(directory, world):
    for server in world.ensemble.servers:
        text = [four_letters(server.address, word, 1.0) for word in ("srvr", "cons", "dump")]
        (directory / ("server%d.txt" % server.number)).write_text("\n".join(text))
        logs = server.data / "version-2"
        copy = directory / ("data%d" % server.number)
        if logs.exists():
            copy.mkdir(exist_ok=True)
            for log in logs.glob("*"):
                subprocess.run(["cp", "--sparse=always", str(log), str(copy)], check=False)
        shutil.copy(server.log, directory / ("server%d.log" % server.number))
    for log in world.directory.glob("*.stderr"):
        shutil.copy(log, directory)


def write_journal(directory, world):
    holds = sorted((hold for held in world.records.holds.values() for hold in held),
                   key=lambda hold: hold.since)
    (directory / "holds.txt").write_text("".join(
        "%d %d %s %s\n" % (hold.since, hold.until, hold.lock, hold.text()) for hold in holds))
