# SPDX-License-Identifier: Apache-2.0
"""The servers of the locks, each kind with its own processes and directory: begun, stopped for a while, killed and begun
again with what they have on their disks, asked what is left."""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "bench" / "turns"), str(PROJECT / "tests" / "chaos")]
from relays import free_port  # noqa: E402
from server import java_child  # noqa: E402

PATIENCE_S = 30
TICK_MS = 500  # of ZooKeeper: uvzk asks for a session of four of them (docs/promise.md)
HOST = "127.0.0.1"


class NotThere(Exception):
    """A server, or a lock program, that this machine has not."""


def until_listening(port):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.02)
    raise NotThere(f"no server listens on port {port}")


class NoServer:
    """Of locks that need none: their place is a file."""

    ports = ()

    def __init__(self, _, directory):
        self.directory = directory

    def stop(self, index):
        raise AssertionError("there is no server")

    def leftovers(self, _):
        return 0

    def close(self):
        pass


class ZooKeeper:
    """One server, with its log on the disk."""

    def __init__(self, build, _):
        program = build / "tests" / "with_zookeeper"
        if not program.exists():
            raise NotThere("with_zookeeper is not built")
        self.process = subprocess.Popen(
            [program, "--tick", str(TICK_MS), "--containers", "60000", "--long-lived", "--", "sh", "-c",
             "echo {hosts} && exec cat >/dev/null"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        hosts = self.process.stdout.readline().strip()
        if not hosts:
            self.close()
            raise NotThere("the ZooKeeper server did not come up")
        self.ports = (int(hosts.rpartition(":")[2]),)

    def stop(self, _):
        os.kill(java_child(self.process.pid), signal.SIGSTOP)

    def resume(self, _):
        os.kill(java_child(self.process.pid), signal.SIGCONT)

    def kill(self, _):
        self.process.send_signal(signal.SIGUSR1)

    def begin_again(self, _):
        self.process.send_signal(signal.SIGUSR2)

    def leftovers(self, name):
        """Ephemeral znodes. Directories are containers, which the server deletes, or znodes that stay."""
        import kazoo.client

        client = kazoo.client.KazooClient(f"{HOST}:{self.ports[0]}")
        client.start(timeout=PATIENCE_S)
        try:
            return ephemeral_below(client, "/" + name)
        finally:
            client.stop()
            client.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def ephemeral_below(client, path):
    """How many there are, of those that are still there when they are looked at."""
    import kazoo.exceptions

    try:
        names = client.get_children(path)
        stat = client.exists(path)
    except kazoo.exceptions.NoNodeError:
        return 0
    own = 1 if stat and stat.ephemeralOwner else 0
    return own + sum(ephemeral_below(client, f"{path}/{name}") for name in names)


class Own:
    """Servers that are processes of their own, each with a port and a directory."""

    count = 1

    def __init__(self, _, directory):
        self.directory = pathlib.Path(directory)
        self.ports = tuple(free_port(HOST) for _ in range(self.count))
        self.processes = [None] * self.count
        try:
            for index in range(self.count):
                self.begin_again(index)
        except BaseException:
            self.close()  # nobody else has this object
            raise

    def begin_again(self, index):
        directory = self.directory / f"server-{index}"
        directory.mkdir(exist_ok=True)
        try:
            self.processes[index] = subprocess.Popen(
                self.arguments(self.ports[index], directory), cwd=directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment(index))  # fmt: skip
        except FileNotFoundError as why:
            raise NotThere(f"no {why.filename}") from why
        until_listening(self.ports[index])

    def environment(self, _):
        return None

    def stop(self, index):
        self.processes[index].send_signal(signal.SIGSTOP)

    def resume(self, index):
        self.processes[index].send_signal(signal.SIGCONT)

    def kill(self, index):
        self.processes[index].kill()
        self.processes[index].wait()

    def close(self):
        for process in filter(None, self.processes):
            process.kill()
            process.wait()


class Etcd(Own):
    """Debian's etcd-server with its defaults, but for its addresses."""

    def arguments(self, port, directory):
        client, peer = f"http://{HOST}:{port}", f"http://{HOST}:{free_port(HOST)}"
        return ["etcd", "--data-dir", "data", "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", f"default={peer}"]  # fmt: skip

    def leftovers(self, name):
        found = 0
        for prefix in (name + "/", "/locks/" + name):
            told = subprocess.run(["etcdctl", "--endpoints", f"{HOST}:{self.ports[0]}", "get", "--prefix", "--keys-only",
                                   prefix], env={**os.environ, "ETCDCTL_API": "3"}, stdout=subprocess.PIPE, check=True)  # fmt: skip
            found += len(told.stdout.split())
        return found


class Redis(Own):
    """Debian's redis-server with its defaults: it writes to its disk now and then, and not before it answers.

    Its keys expire by its wall clock, which can be stepped here."""

    def __init__(self, build, directory):
        self.preloaded = build / "bench" / "libtorture_clock.so"
        self.clocks = [pathlib.Path(directory) / f"clock-{index}" for index in range(self.count)]
        self.ahead_s = [0] * self.count
        for index in range(self.count):
            self.step_clock(index, 0)
        super().__init__(build, directory)

    def arguments(self, port, _):
        return ["redis-server", "--port", str(port), "--bind", HOST]

    def environment(self, index):
        return {**os.environ, "LD_PRELOAD": str(self.preloaded), "TORTURE_CLOCK": str(self.clocks[index])}

    def step_clock(self, index, seconds):
        """It is written in its place, because the server has mapped the file."""
        self.ahead_s[index] += seconds
        with open(self.clocks[index], "r+b" if self.clocks[index].exists() else "wb") as file:
            file.write(struct.pack("=q", 1000 * self.ahead_s[index]))

    def leftovers(self, _):
        return sum(self.keys(port) for port in self.ports)

    def keys(self, port):
        with socket.create_connection((HOST, port), timeout=PATIENCE_S) as connection:
            connection.sendall(b"DBSIZE\r\n")
            return int(connection.recv(64).strip().lstrip(b":"))


class FiveRedis(Redis):
    count = 5


KINDS = {"none": NoServer, "zookeeper": ZooKeeper, "etcd": Etcd, "redis": Redis, "redis5": FiveRedis}


class Servers:
    """Those of one run, in a directory that goes with them."""

    def __init__(self, kind, build):
        self.directory = tempfile.TemporaryDirectory(prefix="torture-")
        try:
            self.them = KINDS[kind](build, self.directory.name)
        except NotThere:
            self.directory.cleanup()
            raise

    def __enter__(self):
        return self.them

    def __exit__(self, *_):
        self.them.close()
        self.directory.cleanup()
