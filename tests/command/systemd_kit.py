# SPDX-License-Identifier: Apache-2.0
"""Plays systemd for units of the command (Type=notify, WatchdogSec=): reads the datagrams of a
unit, kills all processes of the unit when its watchdog runs out, and starts it again."""

import contextlib
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from command_kit import (ENVIRONMENT, HOSTS, LOOK_AGAIN_S, UVZK, Run, Wrong, alive, boottime, check, check_equal,
                         children_of, main, time_told, until)  # fmt: skip

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# The slack for the manager is a part of the session timeout, and this one serves the units one after
# the other.
STOPPED = ("--session-timeout", "10", "--tick", "0.2")

WATCHDOG_S = 30  # WatchdogSec=: longer than the session, so that the lock decides
SERVICE = "trap 'exit 0' TERM; echo ${NOTIFY_SOCKET-none} ${WATCHDOG_USEC-none}; while :; do read line || sleep 1000; done"


class Unit:
    """One unit: its socket, its processes, and what it has told."""

    count = 0

    def __init__(self, command, watchdog_s=WATCHDOG_S):
        Unit.count += 1
        self.command = command
        self.watchdog_s = watchdog_s
        self.told = {}
        self.lengths = []  # of the watchdog, in s
        self.length_at = {}  # the last one of them when a status was told
        self.deadline = None  # of the watchdog; None: it is off
        self.stopped = []  # process ids
        self.killed_at = self.restarted_at = None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.address = f"uvzk-test-{os.getpid()}-{Unit.count}"
        self.socket.bind("\0" + self.address)
        self.socket.setblocking(False)
        self.start()

    def start(self):
        environment = {**ENVIRONMENT, "NOTIFY_SOCKET": "@" + self.address,
                       "WATCHDOG_USEC": str(self.watchdog_s * 1000000)}  # fmt: skip
        list(self.datagrams())  # of the processes before
        self.told.clear()
        self.lengths.clear()
        self.said = None  # by its command
        self.deadline = None
        # The shell becomes uvzk, and keeps its process id.
        become = 'export WATCHDOG_PID=$$ SYSTEMD_EXEC_PID=$$; exec "$@"'
        self.process = subprocess.Popen(["sh", "-c", become, "sh", *self.command], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        Run.runs.append(self)  # killed at the end

    def datagrams(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                yield self.socket.recv(4096).decode()

    def receive(self):
        """What has come, as systemd reads it: a keepalive counts from now."""
        for text in self.datagrams():
            told = dict(line.split("=", 1) for line in text.splitlines())
            self.told.update(told)
            if "STATUS" in told:
                self.length_at[told["STATUS"]] = self.lengths[-1] if self.lengths else None
            if "WATCHDOG_USEC" in told:
                self.lengths.append(int(told["WATCHDOG_USEC"]) / 1e6)
                check(0 < self.length <= self.watchdog_s, f"a watchdog of {self.length} s")
            if "WATCHDOG" in told:
                self.deadline = boottime() + self.length
            if "STOPPING" in self.told:
                self.deadline = None

    def service_says(self):
        """What SERVICE says when it has set its trap."""
        if self.said is None:
            self.said = self.process.stdout.readline()
        return self.said

    @property
    def length(self):
        """Of the watchdog, as it was told last."""
        return self.lengths[-1]

    def processes(self):
        found = [self.process.pid]
        for pid in found:
            found += children_of(pid)
        return found

    def stop(self):
        """Every process of the unit, as the freezer of its control group would stop them."""
        self.stopped = self.processes()
        for pid in self.stopped:
            os.kill(pid, signal.SIGSTOP)

    def is_over(self):
        """Its watchdog has run out."""
        late = self.deadline is not None and boottime() >= self.deadline
        return late and self.process.poll() is None

    def kill(self):
        """What was stopped. The kernel continues a stopped process group whose parents are gone, and hangs
        up on it: so the last ones may have ended by themselves."""
        for pid in self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def restart(self):
        self.process.wait()
        until(lambda: not any(alive(pid) for pid in self.stopped), "the unit is dead")
        self.killed_at = boottime()
        self.stopped = []
        self.start()
        self.restarted_at = boottime()


class Manager(threading.Thread):
    """Plays systemd for its units."""

    def __init__(self):
        super().__init__(daemon=True)
        self.units = []
        self.wrong = None
        self.start()

    def run(self):
        try:
            while True:
                self.serve()
        except Wrong as wrong:
            self.wrong = wrong

    def serve(self):
        sockets = {unit.socket: unit for unit in self.units}
        for ready in select.select(list(sockets), [], [], LOOK_AGAIN_S)[0]:
            sockets[ready].receive()
        over = [unit for unit in sockets.values() if unit.is_over()]
        for unit in over:
            check(unit.stopped, f"the watchdog of {unit.address}, which runs, has run out")
            unit.kill()
        for unit in over:
            unit.restart()

    def add(self, command, **options):
        unit = Unit(command, **options)
        self.units.append(unit)
        return unit

    def until(self, holds, what):
        def looked():
            if self.wrong:
                raise self.wrong
            return holds()

        until(looked, what)

    def until_ready(self, *units):
        self.until(lambda: all("READY" in unit.told for unit in units), "the unit is ready")

    def until_status(self, unit, status):
        try:
            self.until(lambda: unit.told.get("STATUS") == status, f"the status: {status}")
        except Wrong as wrong:
            raise Wrong(f"{wrong}; told: {unit.told}; exit code: {unit.process.poll()}") from wrong

    def lives(self, seconds):
        """The manager tells if the watchdog of a unit that runs has run out."""
        end = boottime() + seconds
        self.until(lambda: boottime() > end, "it lives")

    def restarted_before(self, units, others):
        """All units are stopped. The k-th is started again before the k-th of the others, which waits
        for it, tells the time."""
        for unit in units:
            unit.stop()
        self.until(lambda: all(unit.restarted_at for unit in units), "all are started again")
        for unit, other in zip(units, others):
            next_at = time_told(other.line())
            print(f"killed {next_at - unit.killed_at:.2f} s before another's turn", flush=True)
            check(unit.killed_at < next_at, f"killed at {unit.killed_at}, the next at {next_at}")
            check(unit.restarted_at < next_at, f"started at {unit.restarted_at}, the next at {next_at}")

    def stop(self, unit, code=0):
        """As `systemctl stop` with KillMode=mixed. SERVICE ends with 0."""
        if code == 0:
            unit.service_says()
        unit.process.terminate()
        self.until(lambda: unit.process.poll() is not None, "the unit has ended")
        self.until(lambda: "STOPPING" in unit.told, "it tells that it ends")
        check_equal(unit.process.returncode, code, "the unit")


manager = Manager()


def unit_on(page):
    """The unit that a page shows and that tells of itself."""
    blocks = re.findall(r"^```ini\n(.*?)^```$", (PROJECT / page).read_text(), re.M | re.S)
    [shown] = [block for block in blocks if "Type=notify" in block]
    return shown


def run_shown(shown, service, code):
    """A unit that a page shows works: it becomes ready, and `code` is its exit code when it is
    stopped."""
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / service
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        program.chmod(0o755)
        for old, new in (("/usr/bin/uvzk", UVZK), (f"/usr/local/bin/{service}", str(program)), ("%H", "a.example"),
                         ("zoo1.example:2181,zoo2.example:2181,zoo3.example:2181", HOSTS)):  # fmt: skip
            shown = shown.replace(old, new)
        settings = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
        if shutil.which("systemd-analyze"):
            file = pathlib.Path(directory) / f"{service}.service"
            file.write_text(shown)
            subprocess.run(["systemd-analyze", "verify", str(file)], check=True)
        unit = manager.add(shlex.split(settings["ExecStart"]), watchdog_s=int(settings["WatchdogSec"]))
        manager.until_ready(unit)
        manager.until(lambda: len(unit.processes()) > 2, "its service runs")
        manager.stop(unit, code)


def cases(namespace):
    """Runs the cases of a program, and leaves no stopped process behind."""
    try:
        main(namespace)
    finally:
        for unit in manager.units:
            unit.kill()
