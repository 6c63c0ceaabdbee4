# SPDX-License-Identifier: Apache-2.0
"""A ZooKeeper server of the bench's own, and what it has counted so far."""

import os
import pathlib
import socket
import subprocess

# Empty directories of locks stay as long as the server: to reap ten thousand of them would
# take time from whoever has the next turn.
OPTIONS = ["--long-lived", "--tick", "2000", "--heap", "1024", "--containers", "3600000"]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Server:
    """Lives until stop(), or until we die: it is the child of a process that ends with its
    standard input."""

    def __init__(self, build, factory):
        netty = ["--netty"] if factory == "netty" else []
        self.process = subprocess.Popen(
            [str(build / "tests" / "with_zookeeper"), *OPTIONS, *netty, "--", "sh", "-c",
             "echo {hosts} && exec cat >/dev/null"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.hosts = self.process.stdout.readline().strip()
        if not self.hosts:
            raise SystemExit("the ZooKeeper server did not come up")
        self.pid = java_child(self.process.pid)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def counters(self):
        """Requests that have come, events of watches, bytes that have come and gone, and CPU
        seconds."""
        told = self.ask("mntr")
        requests = told.get("zk_packets_received", 0)
        return {"requests": requests,
                "events": told.get("zk_packets_sent", 0) - requests,
                "bytes_in": told.get("zk_bytes_received_count", 0),
                "bytes_out": told.get("zk_response_bytes", 0),
                "cpu": cpu_seconds(self.pid)}  # fmt: skip

    def ask(self, word):
        """The numbers in the answer to a four-letter word."""
        host, port = self.hosts.split(":")
        answer = b""
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(word.encode())
            while piece := connection.recv(65536):
                answer += piece
        numbers = {}
        for line in answer.decode().splitlines():
            name, _, value = line.partition("\t")
            if value.strip().lstrip("-").isdigit():
                numbers[name] = int(value)
        return numbers


def java_child(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "java":
            return int(child)
    raise SystemExit("which process the server is cannot be told")


def cpu_seconds(pid):
    """Of all threads, the ended ones too. None if the process has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def busy_seconds():
    """Of all cores, whoever it was."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, interrupts, soft = map(int, fields[:7])
    return (user + nice + system + interrupts + soft) / TICKS_PER_S


def loopback_bytes():
    """What has gone over the loopback interface, with the headers of TCP and IP."""
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == "lo":
            return int(rest.split()[0])
    return 0
