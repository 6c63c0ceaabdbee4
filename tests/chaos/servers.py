# SPDX-License-Identifier: Apache-2.0
"""A real ensemble: voters and perhaps observers, each a process with its own loopback address.
After an election, the connections between servers go through relays, one for each ordered pair,
q<from>-<to>. So a server can be cut off from the others while its clients still reach it."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from relays import free_port
from zookeeper import four_letters

CLASS_PATH = ("/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:"
              "/usr/share/java/netty-codec.jar")
INIT_LIMIT = 30
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()


class Server:
    def __init__(self, number, directory, observes):
        self.number, self.observes = number, observes
        self.host = "127.0.0.%d" % (number + 1)
        self.port, self.quorum, self.election = (free_port(self.host) for _ in range(3))
        self.address = "%s:%d" % (self.host, self.port)
        self.data = directory / ("data%d" % number)
        self.config = directory / ("%d.cfg" % number)
        self.log = directory / ("log%d" % number)
        self.process, self.paused = None, False
        self.options = {}  # in addition to those of the ensemble
        self.data.mkdir()
        (self.data / "myid").write_text("%d\n" % (number + 1))

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def may_answer(self):
        return self.runs() and not self.paused

    def signal(self, number):
        if self.runs():
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        self.paused = False

    def pause(self, paused):
        self.signal(signal.SIGSTOP if paused else signal.SIGCONT)
        self.paused = paused

    def mode(self):
        """Returns leader, follower or observer, or "" if the server does not serve."""
        if not self.may_answer():
            return ""
        found = re.search(r"Mode: (\w+)", four_letters(self.address, "srvr"))
        return found.group(1) if found else ""


class Ensemble:
    def __init__(self, directory, wires, voters, observers, options):
        self.wires, self.options = wires, options
        self.servers = [Server(i, directory, i >= voters) for i in range(voters + observers)]
        self.ports = {}
        for one in self.servers:
            for other in self.servers:
                if one is not other:
                    pair = (one.number, other.number)
                    self.ports[pair] = wires.open("q%d-%d" % pair, other.host, other.host,
                                                  other.quorum)
        for server in self.servers:
            self.start(server)

    def write_config(self, server):
        own = {
            "tickTime": 200, "minSessionTimeout": 400, "maxSessionTimeout": 60000,
            "initLimit": INIT_LIMIT, "syncLimit": 5,
            **self.options, **server.options,
            "dataDir": server.data, "clientPort": server.port,
            "clientPortAddress": server.host, "maxClientCnxns": 0,
            "admin.enableServer": "false", "4lw.commands.whitelist": "*",
            "snapCount": 1000000, "forceSync": "no", "extendedTypesEnabled": "true",
            "quorumListenOnAllIPs": "false"}
        if server.observes:
            own["peerType"] = "observer"
        for other in self.servers:
            port = self.ports.get((server.number, other.number), other.quorum)
            own["server.%d" % (other.number + 1)] = "%s:%d:%d%s" % (
                other.host, port, other.election, ":observer" if other.observes else "")
        server.config.write_text("".join("%s=%s\n" % item for item in own.items()))

    def start(self, server):
        if server.runs():
            return
        self.write_config(server)
        jars = os.environ.get("UVZK_ZOOKEEPER_JARS") or CLASS_PATH
        with open(server.log, "ab") as log:
            server.process = subprocess.Popen(
                ["java", "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                 "-Xshare:auto", "-Dznode.container.checkIntervalMs=300",
                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                 "-Dorg.slf4j.simpleLogger.showDateTime=true",
                 "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS", "-cp", jars,
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(server.config)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
        server.paused = False

    def hold(self, server, said, heard):
        """Holds what this server says (said) and what it should hear (heard). No connection is
        closed."""
        for other in self.servers:
            if other is not server:
                self.wires.hold("q%d-%d" % (server.number, other.number), said, heard)
                self.wires.hold("q%d-%d" % (other.number, server.number), heard, said)

    def each_wire(self, server):
        for other in self.servers:
            if other is not server:
                yield "q%d-%d" % (server.number, other.number)
                yield "q%d-%d" % (other.number, server.number)

    def leader(self):
        leaders = [server for server in self.servers if server.mode() == "leader"]
        return leaders[0] if len(leaders) == 1 else None

    def all_serve(self):
        modes = [server.mode() for server in self.servers]
        return all(modes) and modes.count("leader") == 1

    def await_all(self, seconds=60):
        """Waits until all servers serve. Returns False if they do not in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.all_serve():
                return True
            time.sleep(0.05)
        return False

    def hosts(self):
        return ",".join(server.address for server in self.servers)

    def stop(self):
        for server in self.servers:
            server.kill()


def remove(directory: Path):
    shutil.rmtree(directory, ignore_errors=True)
