# SPDX-License-Identifier: Apache-2.0
"""Instances of stock_server, orders for them by wrk, and what their store says: for the
demonstration, and for the tests."""
import http.client
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 90


class Failed(Exception):
    pass


def wait_until(what, condition, patience_s=PATIENCE_S):
    """What the condition says as soon as that is not false; asked again and again."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        said = condition()
        if said:
            return said
        time.sleep(0.02)
    raise Failed(f"not within {patience_s} s: {what}")


class Instance:
    """One stock_server, a process; options as on its command line."""

    def __init__(self, program, name, **options):
        command = [program, "--name", name, "--port", str(options.pop("port", 0))]
        for option, value in options.items():
            command.append("--" + option.replace("_", "-"))
            if value is not True:
                command.append(str(value))
        self.name = name
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        if "http://" not in said:
            raise Failed(f"{name} does not serve: {said!r}, {self.process.wait()}")
        self.url = said.split()[1]
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def ask(self, method, path, patience_s=PATIENCE_S):
        """(status, headers, body) of a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience_s)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def order(self, product):
        """(status, headers, what the answer's JSON says)"""
        status, headers, body = self.ask("POST", f"/stock/deduct?id={product}")
        return status, headers, json.loads(body)

    def metric(self, name, **labels):
        """The sum over the products, of those that have these labels."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        values = [line.split()[-1] for line in self.ask("GET", "/metrics")[2].splitlines()
                  if line.startswith((name + "{", name + " "))
                  and all(label in line for label in wanted)]  # fmt: skip
        if not values:
            raise Failed(f"{self.name}: no metric {name} {labels}")
        return sum(int(value) for value in values)

    def go_on(self):
        """After stop()."""
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        """Its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def store_is_free(database):
    """Whether nobody keeps the store's lock: whoever sells has it for a moment only."""
    store = sqlite3.connect(database, timeout=1, isolation_level=None)
    try:
        store.execute("BEGIN IMMEDIATE")
        store.execute("ROLLBACK")
        return True
    except sqlite3.OperationalError:
        return False
    finally:
        store.close()


def stop(process, database):
    """Stops a running process (SIGSTOP) when it does not have the store's lock. SQLite's lock
    is the process's: a stopped one would keep it, and the other instances could not sell."""

    def stopped():
        process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)  # until all its threads are stopped
        if not os.WIFSTOPPED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
            raise Failed(f"it has ended with {process.returncode}")
        if store_is_free(database):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    wait_until("it is stopped, and the store is free", stopped)


class Orders:
    """wrk, which orders from an instance until it is ended."""

    def __init__(self, instance, products, connections):
        self.wrk = subprocess.Popen(
            ["wrk", "--threads", "1", "--connections", str(connections), "--duration", "24h",
             "--timeout", "60s", "--script", str(HERE / "orders.lua"), instance.url, "--",
             str(products)], stdout=subprocess.PIPE, text=True)  # fmt: skip

    def end(self):
        """How many were answered how."""
        self.wrk.send_signal(signal.SIGINT)  # wrk takes it for the end of its time
        said = self.wrk.communicate(timeout=PATIENCE_S)[0]
        return json.loads(said.splitlines()[-1])

    def kill(self):
        self.wrk.kill()
        self.wrk.wait()


class Books:
    """What the store says, product by product: (stock, left, sold)."""

    def __init__(self, database):
        self.store = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)

    def read(self):
        return self.store.execute("SELECT stock, left, sold FROM stock ORDER BY id").fetchall()

    def sold(self):
        return sum(sold for _, _, sold in self.read())

    def left(self):
        return sum(left for _, left, _ in self.read())

    def close(self):
        self.store.close()


class ZooKeeper:
    """The server of with_zookeeper, whose child this process is."""

    def __init__(self, hosts):
        self.hosts = hosts

    def kill(self):
        os.kill(os.getppid(), signal.SIGUSR1)
        wait_until("ZooKeeper is dead", lambda: self.ask() is None)

    def start(self):
        os.kill(os.getppid(), signal.SIGUSR2)
        wait_until("ZooKeeper serves", lambda: "Mode:" in (self.ask() or ""))

    def ask(self):
        host, port = self.hosts.split(":")
        try:
            with socket.create_connection((host, int(port)), timeout=1) as connection:
                connection.sendall(b"srvr")
                said = b""
                while piece := connection.recv(4096):
                    said += piece
                return said.decode()
        except OSError:
            return None
