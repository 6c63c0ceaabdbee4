# SPDX-License-Identifier: Apache-2.0
"""What the tests of `uvzk serve` stand on: a daemon, and programs that are connected to it."""

import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

from command_kit import PATIENCE_S, SHORT, UVZK, Run, alive, boottime, check, check_equal, clean_up, until
from serve_schema import Exchange

MODE = 0o777


class Daemon(Run):
    """A daemon with a socket in a directory of its own."""

    daemons = []

    def __init__(self, *options, session=SHORT, directory=None, **more):
        self.directory = directory or tempfile.mkdtemp()
        self.path = f"{self.directory}/socket"
        super().__init__("serve", "--socket", self.path, *transport_option(), *session, *options, **more)
        Daemon.daemons.append(self)

    def serving(self):
        self.tells("serving")
        return self

    def stop(self, code=0):
        """SIGTERM; what it has told since."""
        self.kill(signal.SIGTERM)
        return self.ended(code)


class Gone(Exception):
    """The daemon has closed the connection."""


class Program:
    """A program's connection. Answers and events are kept until they are asked for. Each line that
    comes, and each request that is accepted, is as docs/guide/serve.schema.json says."""

    programs = []

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(daemon.path)
        self.begin()

    def begin(self):
        self.text = b""
        self.kept = []
        self.last_id = 0
        self.exchange = Exchange()
        Program.programs.append(self)

    def send_bytes(self, text):
        self.exchange.sent(text)
        self.socket.sendall(text)

    def send(self, op, **fields):
        """Sends a request; returns its id."""
        self.last_id += 1
        self.send_bytes(json.dumps({"id": self.last_id, "op": op, **fields}).encode() + b"\n")
        return self.last_id

    def receive(self):
        """The next line."""
        while b"\n" not in self.text:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                raise Gone
            self.text += more
        text, _, self.text = self.text.partition(b"\n")
        line = json.loads(text)
        wrong = self.exchange.wrong(line)
        check(wrong is None, f"not as the schema says: {wrong}")
        return line

    def await_line(self, fits):
        """The first line, kept or to come, that fits."""
        for i, line in enumerate(self.kept):
            if fits(line):
                return self.kept.pop(i)
        while not fits(line := self.receive()):
            self.kept.append(line)
        return line

    def answer(self, request_id):
        return self.await_line(lambda line: line.get("id") == request_id and "ok" in line)

    def event(self, name):
        return self.await_line(lambda line: line.get("event") == name)

    def ask(self, op, **fields):
        return self.answer(self.send(op, **fields))

    def acquire(self, path, **fields):
        """The answer of a grant."""
        answer = self.ask("acquire", path=path, **fields)
        check(answer["ok"], f"acquired: {answer}")
        return answer

    def acquire_in_a_new_session(self, path):
        """The answer of a grant after a loss. The daemon may learn only from the next request
        that its session has ended: then that request is refused, and the one after it is sent in
        a new session."""
        answer = self.ask("acquire", path=path)
        if answer.get("error") == "UVZK_EEXPIRED":
            check(answer["retriable"], f"may be asked again: {answer}")
            return self.acquire(path)
        check(answer["ok"], f"acquired: {answer}")
        return answer

    def waiting(self, path, **fields):
        """The id of an acquire that stands in line."""
        request_id = self.send("acquire", path=path, queued=True, **fields)
        check_equal(self.event("queued")["id"], request_id, "queued")
        return request_id

    def refused(self, op, error, **fields):
        answer = self.ask(op, **fields)
        check(not answer["ok"], f"refused: {answer}")
        check_equal(answer["error"], error, f"error of {op} {fields}")
        return answer

    def gone(self):
        """The daemon closes the connection; the lines before that."""
        lines, self.kept = self.kept, []
        while True:
            try:
                lines.append(self.receive())
            except Gone:
                return lines

    def close(self):
        self.socket.close()


def boottime_ms():
    return boottime() * 1000


class Holder:
    """A process that holds a lock through the daemon, and prints its answer."""

    SCRIPT = """
import json, socket, sys
program = socket.socket(socket.AF_UNIX)
program.connect(sys.argv[1])
program.sendall(json.dumps({"id": 1, "op": "acquire", "path": sys.argv[2]}).encode() + b"\\n")
print(program.makefile().readline(), end="", flush=True)
program.recv(1)
"""

    def __init__(self, daemon, path):
        self.process = subprocess.Popen([sys.executable, "-c", self.SCRIPT, daemon.path, path],
                                        stdout=subprocess.PIPE)  # fmt: skip
        self.answer = json.loads(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()


def transport_option():
    return "--transport", os.environ.get("UVZK_TEST_TRANSPORT", "c-client")


class Pipes:
    """The standard input and output of a process, with the functions of a socket."""

    def __init__(self, process):
        self.process = process

    def sendall(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def recv(self, size):
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        check(ready, "nothing is printed")
        return os.read(self.process.stdout.fileno(), size)

    def close(self):
        self.process.stdin.close()


class Child(Program):
    """A daemon that is our child, and serves us over a socket ("fd") or over pipes ("stdio")."""

    def __init__(self, way, *options, session=SHORT, fds=(), **more):
        words = ("serve", *transport_option(), *session, *options)
        if way == "fd":
            self.socket, other = socket.socketpair()
            self.socket.settimeout(PATIENCE_S)
            self.run = Run(*words, "--fd", str(other.fileno()), pass_fds=[other.fileno(), *fds], **more)
            other.close()
        else:
            self.run = Run(*words, "--stdio", pass_fds=fds, **more)
            self.socket = Pipes(self.run.process)
        self.begin()


class ValidityFile:
    """What a parent reads of its holds without a request, as docs/guide/serve.md says."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDONLY)
        magic, version, self.begin, self.size, self.count = struct.unpack("=8sIIII", os.pread(self.file, 24, 0))
        check_equal((magic, version), (b"uvzkhold", 1), "magic and version")

    def slot(self, slot):
        """The number of its hold, and the two ends of its validity."""
        before = None
        while (now := os.pread(self.file, 24, self.begin + self.size * slot)) != before:
            before = now
        return struct.unpack("=QQQ", now)

    def valid_until(self, answer):
        """Of the hold of this answer; 0 when it is over."""
        hold, until, _ = self.slot(answer["slot"])
        return until if hold == answer["hold"] else 0

    def close(self):
        os.close(self.file)


class Parent(Run):
    """A process that has a daemon as its child, and does what its standard input says."""

    SCRIPT = """
import os, signal, socket, subprocess, sys
way, *command = sys.argv[1:]
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
if way == "fd":
    ours, other = socket.socketpair()
    child = subprocess.Popen([*command, "--fd", str(other.fileno())], pass_fds=[other.fileno()])
    other.close()
    lines, out = ours.makefile("r"), ours.makefile("w")
else:
    child = subprocess.Popen([*command, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lines, out = child.stdout, child.stdin
print(child.pid, flush=True)
for line in sys.stdin:
    word, _, rest = line.partition(" ")
    if word == "ask":
        out.write(rest)
        out.flush()
        print(lines.readline(), end="", flush=True)
    elif word == "read\\n":
        print(lines.readline(), end="", flush=True)
    elif word == "kill":
        child.send_signal(signal.Signals["SIG" + rest.strip()])
    elif word == "fork\\n":
        forked = os.fork()
        while forked == 0:
            signal.pause()
        print(forked, flush=True)
"""

    others = []  # processes of parents

    def __init__(self, way, *options, session=SHORT, **more):
        super().__init__("-c", self.SCRIPT, way, UVZK, "serve", *transport_option(), *session, *options,
                         command=(sys.executable,), **more)  # fmt: skip
        self.daemon = int(self.line())
        Parent.others.append(self.daemon)

    def tell(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, op, **fields):
        self.tell("ask " + json.dumps({"id": 1, "op": op, **fields}))
        return json.loads(self.line())

    def fork(self):
        """The process id of a child that has all that the parent has open."""
        self.tell("fork")
        Parent.others.append(int(self.line()))
        return Parent.others[-1]

    def end(self):
        """kill -9."""
        self.kill(signal.SIGKILL)
        self.process.wait()

    def daemon_ends(self):
        until(lambda: not alive(self.daemon), "the daemon ends")


def end_of_case():
    """For a finally: no program, no daemon and no directory is left."""
    for program in Program.programs:
        program.close()
    Program.programs.clear()
    for other in filter(alive, Parent.others):
        os.kill(other, signal.SIGKILL)
    Parent.others.clear()
    for daemon in Daemon.daemons:
        if daemon.process.poll() is None:
            os.kill(daemon.pid, signal.SIGCONT)
    clean_up()
    for daemon in Daemon.daemons:
        shutil.rmtree(daemon.directory, ignore_errors=True)
    Daemon.daemons.clear()


def cases(namespace):
    """The cases of a program, each of which leaves nothing behind."""

    def tidy(case):
        def run(path):
            try:
                case(path)
            finally:
                end_of_case()

        return run

    return {name: tidy(f) if name.startswith("case_") else f for name, f in namespace.items()}


def file_mode(path):
    return pathlib.Path(path).stat().st_mode & MODE
