# SPDX-License-Identifier: Apache-2.0
"""Who takes turns: how each is called for a shape, and which of them this machine has."""

import contextlib
import itertools
import shutil
import subprocess
import tempfile

import cell
import shapes
from record import SOURCES

PEERS = {
    "uvzk": "uvzk",
    "native": "uvzk, native transport",
    "raw": "the C client, bare",
    "curator": "Curator",
    "kazoo": "kazoo",
    "etcd": "etcd",
    "redlock": "Redis, redlock",
    "redis-semaphore": "Redis, redis-semaphore",
    "redisson": "Redis, Redisson",
}
SYSTEMS = {"etcd": ("etcd",), "redis": shapes.REDIS}
# Ten thousand threads of Curator's queue and drain for minutes.
PATIENCE_S = {shapes.CYCLES: 180, shapes.BYTES: 180, shapes.PENDING: 1200}
# By how much longer the processes of a shape are at work than is measured, because they do not
# begin together.
APART_MS = {"kazoo": 4000, "curator": 15000}
APART_LEAST_MS = 1500
# If that was too little, they are asked again, for so many times as much.
APART_TIMES = (1, 3, 9)
GROUP_PATIENCE_S = 180


def system_of(peer):
    return "redis" if peer in shapes.REDIS else "etcd" if peer == "etcd" else "zookeeper"


class Peers:
    def __init__(self, project, build, java_warm_ms):
        self.project, self.bench, self.java_warm_ms = project, build / "bench", java_warm_ms
        self.serving = None
        self.number = itertools.count()  # of a path that processes share
        self.python = next((python for python in ("python3", "/usr/bin/python3")
                            if has_kazoo(python)), None)  # fmt: skip
        path = self.bench / "curator_class_path"
        self.class_path = path.read_text().strip() if path.exists() else ""

    def missing(self):
        """{peer: why it takes no part}"""
        why = {}
        if not self.class_path or not shutil.which("java"):
            why["curator"] = "no Curator, or no Java"
        if self.python is None:
            why["kazoo"] = "no python3 that has kazoo"
        return why | self.missing_systems()

    def missing_systems(self):
        why = {}
        if not shutil.which("etcd") or not (self.bench / "etcd_tasks").exists():
            why["etcd"] = "no etcd, or no Go with etcd's client"
        if not shutil.which("redis-server") or not (self.bench / "redis_tasks").exists():
            why |= dict.fromkeys(shapes.REDIS, "no redis-server, or no hiredis")
        return why

    def run(self, peer, shape, server, warm_ms, window_ms):
        """Measures a cell; cell.Failed."""
        if shape.journaled and peer != "raw":
            return self.in_group(peer, shape, server, warm_ms, window_ms)
        warm_ms = max(warm_ms, shape.least_ms())
        window_ms = max(window_ms, shape.least_ms())
        if peer == "curator" and shape.kind == shapes.PENDING:
            warm_ms = self.java_warm_ms // 4  # in a JVM of its own, whose memory is measured
        times = ["--hosts", server.hosts, "--warm", str(warm_ms), "--window", str(window_ms)]
        if peer == "curator" and shape.kind == shapes.CYCLES:
            return self.served(server, [*shape.flags(), *times])
        program = cell.Once(self.command(peer, shape, times))
        try:
            return cell.run(program, server, PATIENCE_S[shape.kind])
        finally:
            program.close()

    def in_group(self, peer, shape, server, warm_ms, window_ms):
        """By one process or several, whose holds are written down. On a slow machine or disk processes begin further
        apart: they are asked again, and work for longer."""
        apart_ms = APART_MS.get(peer, APART_LEAST_MS) if shape.processes > 1 else 0
        if peer == "curator" and shape.processes > 1:
            warm_ms = self.java_warm_ms // 4  # the JVMs are new
        for times in APART_TIMES:
            try:
                return self.in_group_once(peer, shape, server, warm_ms, window_ms, times * apart_ms)
            except cell.TooFarApart:
                if times == APART_TIMES[-1]:
                    raise

    def in_group_once(self, peer, shape, server, warm_ms, window_ms, apart_ms):
        times = ["--hosts", server.hosts, "--warm", str(warm_ms), "--window",
                 str(window_ms + apart_ms), "--path", f"/beside-{next(self.number)}"]
        with tempfile.TemporaryDirectory() as directory:
            paths = [f"{directory}/{number}" for number in range(shape.processes)]
            if peer == "curator" and shape.processes == 1:
                with self.java_asked(server, [*shape.flags(), *times, "--journal", paths[0]]) as asked:
                    return cell.Group([asked], paths, window_ms).run(server, GROUP_PATIENCE_S)
            programs = []
            try:
                for path in paths:
                    programs.append(cell.Once(self.command(peer, shape, [*times, "--journal", path])))
                return cell.Group(programs, paths, window_ms).run(server, GROUP_PATIENCE_S)
            finally:
                for program in programs:
                    program.close()

    def command(self, peer, shape, times):
        if peer == "raw":
            return [str(self.bench / "raw_tasks"), *shape.raw, *times]
        if peer in ("uvzk", "native"):
            transport = ["--transport", "native" if peer == "native" else "c-client"]
            if shape.kind == shapes.PENDING:
                return self.many_locks(times[1], 1, shape.tasks) + transport
            if shape.kind == shapes.BYTES:
                return self.many_locks(times[1], shape.tasks, 1) + transport
            return [str(self.bench / "tasks"), *shape.flags(), *times, *transport]
        pending = ["--pending", "yes"] if shape.kind == shapes.PENDING else []
        if peer == "curator":
            return [*self.java(shape), *shape.flags(), *times, *pending]
        if peer == "etcd":
            return [str(self.bench / "etcd_tasks"), *shape.flags(), *times]
        if peer in shapes.REDIS:
            in_turn = ["--in-turn"] if shape.hold else []
            return [str(self.bench / "redis_tasks"), *shape.flags(), *times, "--wait", peer, *in_turn]
        script = self.project / "bench" / "peers" / "kazoo_tasks.py"
        return [self.python, str(script), *shape.flags(), *times, *pending]

    def java(self, shape=None):
        heap = "-Xmx2g" if shape is None or shape.processes == 1 else "-Xmx256m"
        return ["java", heap, "-cp", self.class_path, "CuratorTasks"]

    def warm_java(self, server):
        """One process for all cells, which has been at work for a while before the first."""
        if self.serving is None:
            self.serving = cell.Serving([*self.java(), "serve"])
            for name in shapes.WARMING:
                warming = [*shapes.named(name).flags(), "--hosts", server.hosts, "--warm", "0",
                           "--window", str(self.java_warm_ms // len(shapes.WARMING))]
                cell.run(self.serving.ask(warming), server)
        return self.serving

    @contextlib.contextmanager
    def java_asked(self, server, arguments):
        """After a failure, the next cell has a new process."""
        try:
            yield self.warm_java(server).ask(arguments)
        except cell.Failed:
            self.close()
            raise

    def served(self, server, arguments):
        with self.java_asked(server, arguments) as asked:
            return cell.run(asked, server)

    def close(self):
        if self.serving is not None:
            self.serving.close()
        self.serving = None

    def many_locks(self, hosts, locks, contenders):
        return [str(self.bench / "many_locks"), "--json", "--hosts", hosts, "--locks",
                str(locks), "--contenders", str(contenders)]  # fmt: skip


def has_kazoo(python):
    if shutil.which(python) is None:
        return False
    code = subprocess.run([python, "-c", "import kazoo.recipe.lock"],
                          stderr=subprocess.DEVNULL).returncode  # fmt: skip
    return code == 0


def versions(*others):
    """What is compared, by the system's packages; of the other systems only these."""
    packages = {"ZooKeeper": "libzookeeper-java", "C client": "libzookeeper-mt2",
                "Curator": "libcurator-recipes-java", "kazoo": "python3-kazoo"}  # fmt: skip
    packages |= {"etcd": "etcd-server"} if "etcd" in others else {}
    packages |= {"Redis": "redis-server"} if "redis" in others else {}
    found = {}
    for name, package in packages.items():
        told = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if told.returncode == 0:
            found[name] = told.stdout.rpartition(":")[2].split("-")[0]
    return found


def uvzk_version(project):
    """The commit, and whether what is measured differs from it."""
    def git(*words):
        return subprocess.run(["git", "-C", str(project), *words], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.strip()  # fmt: skip

    commit = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--", *SOURCES)
    return (commit or "no git") + (" and changes" if changed else "")
