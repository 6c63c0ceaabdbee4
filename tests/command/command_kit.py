# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command stand on: a run of it, told apart from the others by its
path; what CMD says on its standard output; who is alive; the server.

A program is `NAME UVZK HOSTS [CASE...]`, and its cases are the functions whose names begin
with case_."""

import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import traceback

import kazoo.client
import kazoo.exceptions

PATIENCE_S = 60
LOOK_AGAIN_S = 0.01
# A session that ends soon; the server's tick is what with_zookeeper has. What is held in it lasts
# where an answer takes a second. Whoever need not lose his session has the usual one.
SHORT_S = 6
SHORT = ("--session-timeout", str(SHORT_S), "--tick", "0.2")

UVZK, HOSTS = sys.argv[1:3]
# Without the configuration file of whoever runs the tests.
ENVIRONMENT = {**os.environ, "ZOOKEEPER_HOSTS": HOSTS, "XDG_CONFIG_HOME": "/dev/null"}
# For runs with too few descriptors for LeakSanitizer, which opens files of /proc.
UNCHECKED = {**ENVIRONMENT, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}

# For CMD: is this process alive? A zombie is not.
ALIVE = """alive() {
    case $(sed 's/.*) //' /proc/$1/stat 2>/dev/null) in '' | [ZX]*) return 1 ;; esac
}
"""


# For CMD: the time of its grant, which time_told reads.
TELL_TIME = "read up rest </proc/uptime; echo $up"


class Wrong(Exception):
    """What is not as it should be."""


def check(right, what):
    if not right:
        raise Wrong(what)


def check_equal(found, wanted, what):
    check(found == wanted, f"{what}: {found!r} instead of {wanted!r}")


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def time_told(line):
    """The latest CLOCK_BOOTTIME, in s, that a line of TELL_TIME can mean: the kernel rounds it down
    to hundredths."""
    return float(line) + 0.01


def until(holds, what):
    """Waits for something that can only be looked at."""
    end = time.monotonic() + PATIENCE_S
    while not (value := holds()):
        check(time.monotonic() < end, f"never: {what}")
        time.sleep(LOOK_AGAIN_S)
    return value


def stat_of(pid):
    """(state, parent) of a process, or None."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1])


def alive(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"


def children_of(pid):
    numbers = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()]
    return [n for n in numbers if (stat := stat_of(n)) and stat[1] == pid and stat[0] not in "ZX"]


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


class Run:
    """One run of the command, which other words may start. CMD's standard input is a pipe, so that
    it can wait for us."""

    runs = []

    def __init__(self, *arguments, command=(UVZK,), **options):
        options = {"stdin": subprocess.PIPE, "env": ENVIRONMENT, **options}
        self.process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)  # fmt: skip
        self.pid = self.process.pid
        self.buffers = {"stdout": b"", "stderr": b""}
        Run.runs.append(self)

    def line(self, stream="stdout"):
        """The next line that CMD, or the command, prints; None at the end."""
        file = getattr(self.process, stream)
        while b"\n" not in self.buffers[stream]:
            ready, _, _ = select.select([file], [], [], PATIENCE_S)
            check(ready, f"nothing is printed on {stream}: {self.process.args}")
            more = os.read(file.fileno(), 4096)
            if not more:
                return None
            self.buffers[stream] += more
        line, _, self.buffers[stream] = self.buffers[stream].partition(b"\n")
        return line.decode()

    def says(self, wanted, stream="stdout"):
        line = self.line(stream)
        check_equal(line, wanted, f"{stream} of {self.process.args}")

    def tells(self, part):
        """The command says so on its standard error, now or later."""
        while (line := self.line("stderr")) is not None:
            if part in line:
                return line
        raise Wrong(f"{self.process.args} does not tell: {part}")

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def ends(self, code):
        """As ended(), when CMD has been told to go on, and that there is no more to read."""
        if self.process.stdin and not self.process.stdin.closed:
            try:
                self.go_on()
                self.process.stdin.close()
            except BrokenPipeError:
                pass  # CMD has ended
        return self.ended(code)

    def ended(self, code):
        """It ends by itself, with this exit status, or minus a signal, as subprocess has it.
        What it has told on its standard error."""
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{self.process.args} does not end") from None
        told = self.buffers["stderr"].decode()
        if self.process.stderr:
            os.set_blocking(self.process.stderr.fileno(), False)
            told += (self.process.stderr.read() or b"").decode()
        check(self.process.returncode == code,
              f"{self.process.args}: {self.process.returncode} instead of {code}: {told}")  # fmt: skip
        return told

    def supervisor(self):
        def found():
            return [p for p in children_of(self.pid) if name_of(p) == "uvzk-supervisor"]

        return until(found, f"a supervisor of {self.pid}")[0]

    def kill(self, signal_number):
        os.kill(self.pid, signal_number)


def lock(path, script, *options, **more):
    """CMD is a shell that reads a line when it wants to wait for us."""
    return Run("lock", *options, path, "--", "sh", "-c", script, **more)


def waiting(path, script, *options):
    """Another one, which is known to stand in line."""
    run = lock(path, script, "-v", *options)
    run.tells(" ahead")
    return run


def runs_out(begin, code, seconds):
    """What begin("-w", ...) begins ends with this exit status when its time is over: so many
    seconds, or more where these were over before it was known who holds."""
    while (found := begin("-w", str(seconds)).process.wait(PATIENCE_S)) != code:
        check(seconds < PATIENCE_S / 4, f"{found} instead of {code}")
        seconds *= 2


def zookeeper():
    client = kazoo.client.KazooClient(HOSTS)
    client.start(PATIENCE_S)
    return client


def children(path):
    client = zookeeper()
    try:
        return client.get_children(path)
    except kazoo.exceptions.NoNodeError:
        return []  # the server reaps what is empty
    finally:
        client.stop()
        client.close()


def delete_contenders(path):
    client = zookeeper()
    for name in client.get_children(path):
        client.delete(f"{path}/{name}")
    client.stop()
    client.close()


class Server:
    """The server of with_zookeeper, which is our parent."""

    def __init__(self):
        self.pid = [p for p in children_of(os.getppid()) if name_of(p) == "java"][0]

    def pause(self):
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: stat_of(self.pid)[0] == "T", "the server is stopped")

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)


def clean_up():
    for run in Run.runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.wait()
    Run.runs.clear()


def main(namespace):
    cases = {n[len("case_") :]: f for n, f in namespace.items() if n.startswith("case_")}
    failed = 0
    for name in sys.argv[3:] or cases:
        try:
            cases[name]("/" + name)
            print(f"ok      {name}", flush=True)
        except Exception:  # every case is to be seen
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
        finally:
            clean_up()
    sys.exit(1 if failed else 0)
