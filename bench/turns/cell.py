# SPDX-License-Identifier: Apache-2.0
"""One cell: one program at one shape, for a while, and what it cost."""

import contextlib
import json
import statistics
import subprocess
import tempfile
import threading
import time

import journals
from server import busy_seconds, cpu_seconds, loopback_bytes

PATIENCE_S = 180


class Failed(Exception):
    pass


class TooFarApart(Failed):
    """Programs that share a lock have hardly been at work at the same time."""


def snapshot(server, pid):
    return {"server": server.counters(), "client_cpu": cpu_seconds(pid),
            "loopback": loopback_bytes(), "busy": busy_seconds(),
            "moment": time.monotonic()}  # fmt: skip


def cost(before, after, cycles):
    """For each cycle. The counters are read when the program says that its window begins and
    ends, so they are some milliseconds late, both times."""
    def each(difference, unit=1.0):
        return round(difference * unit / cycles, 3)

    server = {name: after["server"][name] - before["server"][name] for name in before["server"]}
    told = {"server_requests": each(server["requests"]), "bytes_in": each(server["bytes_in"]),
            "bytes_out": each(server["bytes_out"]),
            "loopback_bytes": each(after["loopback"] - before["loopback"]),
            "server_cpu_us": each(server["cpu"], 1e6)}  # fmt: skip
    if "events" in server:
        told["server_events"] = each(server["events"])
    if after["client_cpu"] is not None:
        client = after["client_cpu"] - before["client_cpu"]
        others = after["busy"] - before["busy"] - client - server["cpu"]
        told["client_cpu_us"] = each(client, 1e6)
        told["other_cores"] = round(max(others, 0) / (after["moment"] - before["moment"]), 2)
    return told


class Once:
    """A command that measures one cell, and ends."""

    def __init__(self, command):
        self.complaints = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.complaints, text=True)  # fmt: skip

    def done(self):
        """All that it had to say has been read."""
        code = self.process.wait()
        if code != 0:
            self.complaints.seek(0)
            lines = self.complaints.read().decode(errors="replace").strip().splitlines()
            raise Failed(f"exit code {code}: " + " | ".join(lines[-3:]))

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.process.stdout.close()
        self.complaints.close()


class Serving(Once):
    """A command that measures cell after cell, each by a line of arguments."""

    def __init__(self, command):
        self.complaints = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.complaints, text=True)  # fmt: skip

    def ask(self, arguments):
        try:
            self.process.stdin.write(" ".join(arguments) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as why:
            raise Failed("it has ended") from why
        return self

    def done(self):
        if self.process.poll() is not None:
            super().done()

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # what a process that has ended was asked
            self.process.stdin.close()
        super().close()


def attend(program, server):
    """The program's result, and the snapshots at both ends of its window."""
    result, snapshots = None, []
    for line in program.process.stdout:
        told = json.loads(line)
        if "window" not in told:
            result = told
            break
        snapshots.append(snapshot(server, program.process.pid))
    program.done()
    if result is None:
        raise Failed("it said nothing")
    return result, snapshots


class Group:
    """Programs that share one lock, and write down their holds. They are measured from when the
    last of them is warm, for window_ms."""

    def __init__(self, programs, paths, window_ms):
        self.programs, self.paths, self.window_ns = programs, paths, window_ms * 1000000
        self.guard = threading.Lock()
        self.begun = self.ended = 0
        self.snapshots, self.results, self.failures = {}, [], []

    def snapshot(self, server):
        told = snapshot(server, self.programs[0].process.pid)
        times = [cpu_seconds(program.process.pid) for program in self.programs]
        told["client_cpu"] = None if None in times else sum(times)
        return told

    def heard(self, what, server):
        """A window begins or ends. The first end is the last moment at which all are there."""
        with self.guard:
            if what == "begins":
                self.begun = time.monotonic_ns()
                self.snapshots["before"] = self.snapshot(server)
            elif self.ended == 0:
                self.ended = time.monotonic_ns()
                self.snapshots["after"] = self.snapshot(server)

    def follow(self, program, server):
        try:
            for line in program.process.stdout:
                told = json.loads(line)
                if "window" not in told:
                    self.results.append(told)
                    break
                self.heard(told["window"], server)
            program.done()
        except (Failed, ValueError, OSError) as failure:
            self.failures.append(str(failure))

    def run(self, server, patience_s=PATIENCE_S):
        """{figure: number}; Failed, with the reason, if it went wrong or was not right."""
        patience = threading.Timer(patience_s, self.kill)
        patience.start()
        following = [threading.Thread(target=self.follow, args=(program, server))
                     for program in self.programs]  # fmt: skip
        for thread in following:
            thread.start()
        for thread in following:
            thread.join()
        patience.cancel()
        wrong = [told for told in self.results if not told.get("right")]
        if self.failures or wrong or len(self.results) != len(self.programs):
            raise Failed(" | ".join(self.failures) or f"not right: {wrong}")
        return self.figures()

    def figures(self):
        if self.ended - self.begun < self.window_ns // 2:
            raise TooFarApart("they were hardly at work at the same time")
        told = journals.figures(journals.read(self.paths), self.begun, self.ended)
        if told["cycles"] == 0 or told["overlaps"] + told["out_of_order"] > 0:
            raise Failed(f"not right: {told}")
        for part, of_all in (("p50", statistics.median), ("p99", max)):
            told[f"acquire_{part}_us"] = round(of_all(
                [result[f"acquire_{part}_us"] for result in self.results]), 1)
        told.update(cost(self.snapshots["before"], self.snapshots["after"], told["cycles"]))
        return told

    def kill(self):
        for program in self.programs:
            program.process.kill()

    def close(self):
        for program in self.programs:
            program.close()


def run(program, server, patience_s=PATIENCE_S):
    """{figure: number}; Failed, with the reason, if it went wrong or was not right."""
    patience = threading.Timer(patience_s, program.process.kill)
    patience.start()
    try:
        result, snapshots = attend(program, server)
    except Failed:
        if patience.finished.is_set():
            raise Failed(f"no end within {patience_s} s") from None
        raise
    finally:
        patience.cancel()
    if not result.get("right"):
        raise Failed(f"not right: {result}")
    cycles = result.setdefault("cycles", result.get("granted", 0))
    # A handoff's window has the making of its rows in it.
    if len(snapshots) == 2 and cycles > 0 and result.get("mode") != "handoff":
        result.update(cost(*snapshots, cycles))
    return result
