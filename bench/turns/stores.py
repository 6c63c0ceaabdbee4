# SPDX-License-Identifier: Apache-2.0
"""The servers that bench/run --peers compares, each system alone or as three servers, and what
they have counted so far.

memory: one server, which writes nothing to a disk. durable: three servers, each of which calls
fsync before it answers a write: ZooKeeper with forceSync, etcd as it is, Redis with
appendfsync always."""

import ctypes
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

from server import Server, cpu_seconds

KINDS = ("memory", "durable")
HOST, MEMBERS, UP_WITHIN_S = "127.0.0.1", 3, 60
ZOOKEEPER_JARS = ("/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:"
                  "/usr/share/java/netty-codec.jar")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
# What the scripts of a release call inside the server is no request.
REDIS_REQUESTS = ("set", "evalsha", "subscribe", "script|load")


def free_port():
    """Below the kernel's range for outgoing connections."""
    while True:
        port = 20000 + random.SystemRandom().randrange(12000)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
                return port
            except OSError:
                continue


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()


def asked(port, words, ends=lambda answer: False):
    """All that a server says to these words until it hangs up, or the answer has its end."""
    answer = b""
    with socket.create_connection((HOST, port), timeout=10) as connection:
        connection.sendall(words)
        while not ends(answer) and (piece := connection.recv(65536)):
            answer += piece
    return answer.decode(errors="replace")


class Store:
    """Servers of one system. They live until stop(), or until we die."""

    system = ""

    def __init__(self, durable, disk):
        self.directory = pathlib.Path(tempfile.mkdtemp(
            prefix=f"uvzk-{self.system}-", dir=disk if durable else "/dev/shm"))  # fmt: skip
        self.durable = durable
        self.ports = [free_port() for _ in range(MEMBERS if durable else 1)]
        self.processes = []
        self.start()
        self.await_serving()

    @property
    def hosts(self):
        return ",".join(f"{HOST}:{port}" for port in self.ports)

    def launch(self, number, command):
        log = self.directory / f"log{number}"
        with open(log, "wb") as file:
            self.processes.append(subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.directory,
                preexec_fn=die_with_parent))  # fmt: skip

    def await_serving(self):
        end = time.monotonic() + UP_WITHIN_S
        while not self.all_serve():
            if time.monotonic() > end or any(p.poll() is not None for p in self.processes):
                logs = "\n".join(p.read_text()[-1000:] for p in self.directory.glob("log*"))
                self.stop()
                raise SystemExit(f"{self.system} did not come up:\n{logs}")
            time.sleep(0.1)

    def all_serve(self):
        try:
            return all(self.serves(port) for port in self.ports)
        except OSError:
            return False

    def counters(self):
        total = {"requests": 0, "bytes_in": 0, "bytes_out": 0,
                 "cpu": sum(cpu_seconds(process.pid) or 0 for process in self.processes)}
        for port in self.ports:
            for name, value in self.counted(port).items():
                total[name] += value
        return total

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class ZooKeepers(Store):
    """Three; one alone, in memory, is a Server."""

    system = "zookeeper"

    def start(self):
        between = [(free_port(), free_port()) for _ in self.ports]
        for number, port in enumerate(self.ports):
            data = self.directory / f"data{number}"
            data.mkdir()
            (data / "myid").write_text(f"{number + 1}\n")
            config = self.directory / f"{number}.cfg"
            config.write_text(
                f"tickTime=2000\ninitLimit=30\nsyncLimit=5\ndataDir={data}\nclientPort={port}\n"
                f"clientPortAddress={HOST}\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"
                "admin.enableServer=false\n4lw.commands.whitelist=*\nforceSync=yes\n"
                "extendedTypesEnabled=true\n" + "".join(
                    f"server.{other + 1}={HOST}:{quorum}:{election}\n"
                    for other, (quorum, election) in enumerate(between)))  # fmt: skip
            self.launch(number, [
                "java", "-Xms64m", "-Xmx512m", "-XX:+UseG1GC", "-Xshare:auto",
                "-Dznode.container.checkIntervalMs=3600000",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp",
                os.environ.get("UVZK_ZOOKEEPER_JARS") or ZOOKEEPER_JARS,
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)])  # fmt: skip

    def serves(self, port):
        return "Mode: " in asked(port, b"srvr")

    def counted(self, port):
        told = dict(line.split("\t")[:2] for line in asked(port, b"mntr").splitlines()
                    if line.count("\t"))  # fmt: skip
        return {"requests": int(told.get("zk_packets_received", 0)),
                "bytes_in": int(told.get("zk_bytes_received_count", 0)),
                "bytes_out": int(told.get("zk_response_bytes", 0))}  # fmt: skip


class Etcds(Store):
    system = "etcd"

    def start(self):
        between = [free_port() for _ in self.ports]
        cluster = ",".join(f"m{n}=http://{HOST}:{port}" for n, port in enumerate(between))
        for number, port in enumerate(self.ports):
            client, peer = f"http://{HOST}:{port}", f"http://{HOST}:{between[number]}"
            self.launch(number, [
                "etcd", "--name", f"m{number}", "--data-dir", str(self.directory / f"data{number}"),
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", cluster, "--log-level", "error"])  # fmt: skip

    def page(self, port, path):
        with urllib.request.urlopen(f"http://{HOST}:{port}/{path}", timeout=10) as answer:
            return answer.read().decode()

    def serves(self, port):
        return '"true"' in self.page(port, "health")

    def counted(self, port):
        """A message of a client, of a stream too, is a request."""
        names = {"grpc_server_msg_received_total": "requests",
                 "etcd_network_client_grpc_received_bytes_total": "bytes_in",
                 "etcd_network_client_grpc_sent_bytes_total": "bytes_out"}  # fmt: skip
        told = dict.fromkeys(names.values(), 0)
        for line in self.page(port, "metrics").splitlines():
            figure = names.get(line.partition("{")[0].partition(" ")[0])
            if figure:
                told[figure] += int(float(line.rpartition(" ")[2]))
        return told


class Redises(Store):
    system = "redis"

    def start(self):
        stored = ["--appendonly", "yes", "--appendfsync", "always"] if self.durable else [
            "--appendonly", "no"]  # fmt: skip
        for number, port in enumerate(self.ports):
            self.launch(number, [
                "redis-server", "--port", str(port), "--bind", HOST, "--save", "", "--loglevel",
                "warning", "--appenddirname", f"append{number}", *stored])  # fmt: skip

    def serves(self, port):
        return "PONG" in asked(port, b"PING\r\n", lambda answer: answer.endswith(b"\r\n"))

    def counted(self, port):
        answer = asked(port, b"INFO everything\r\nQUIT\r\n")
        lines = dict(line.partition(":")[::2] for line in answer.split("\r\n"))
        calls = 0
        for command in REDIS_REQUESTS:
            told = lines.get(f"cmdstat_{command}", "calls=0,")
            calls += int(told.partition("calls=")[2].partition(",")[0])
        return {"requests": calls, "bytes_in": int(lines.get("total_net_input_bytes", 0)),
                "bytes_out": int(lines.get("total_net_output_bytes", 0))}  # fmt: skip


def make(system, kind, build):
    disk = build / "bench" / "data"
    disk.mkdir(parents=True, exist_ok=True)
    if system == "zookeeper" and kind == "memory":
        return Server(build, "nio")
    return {"zookeeper": ZooKeepers, "etcd": Etcds, "redis": Redises}[system](
        kind == "durable", disk)  # fmt: skip


def fsync_us(build):
    """The median time of an fsync on the disk of the durable servers, of 2 kB appended."""
    disk = build / "bench" / "data"
    disk.mkdir(parents=True, exist_ok=True)
    taken = []
    with tempfile.TemporaryFile(dir=disk) as file:
        for _ in range(101):
            file.write(bytes(2048))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return sorted(taken)[50] * 1e6
