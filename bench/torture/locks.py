# SPDX-License-Identifier: Apache-2.0
"""The locks of the table: how the program of each is called, and what is known of it beforehand."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import typing

from servers import PROJECT, NotThere

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
PYTHON = "/usr/bin/python3"


@dataclasses.dataclass(frozen=True)
class Lock:
    name: str
    title: str
    servers: str  # a kind of servers.py
    command: typing.Callable  # of the build directory, the servers, the lock's name or file, and the time-out in ms
    documentation: str
    fenced: bool = False
    cancel: str = "no"  # how an acquire that waits is given up, by its documentation
    not_played: tuple = ()  # faults that cannot be made
    versions: tuple = ()  # Debian's packages, without which it is not run
    packages: tuple = ()  # npm's
    model: str = "mutex"  # of linearizability.py


def python(script, *more):
    def command(build, servers, name, timeout_ms):
        return [PYTHON, "-B", PROGRAMS / script, *(str(build / one) for one in more), servers, name, timeout_ms]

    return command


def uvzk_library(transport, kind="mutex"):
    program = "torture_leader" if kind == "latch" else "torture_uvzk"

    def command(build, servers, name, timeout_ms):
        return [build / "bench" / program, servers, name, timeout_ms, transport, kind]

    return command


def file_lock(script):
    def command(_, servers, name, __):
        return [PYTHON, "-B", PROGRAMS / script, name]

    return command


def curator(kind):
    """Debian's, or that of a class path in UVZK_CURATOR_JARS."""
    def command(build, servers, name, timeout_ms):
        path = build / "bench" / "curator_class_path"
        own = path.read_text().strip() if path.exists() else ""
        if not own:
            raise NotThere("Curator was not there when bench/ was built")
        jars = os.environ.get("UVZK_CURATOR_JARS")
        return ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}:{build / 'bench' / 'classes'}" if jars else own,
                "CuratorLock", servers, name, timeout_ms, kind]  # fmt: skip

    return command


def node_packages(build):
    return build / "torture" / "node"


def node(script, *more):
    def command(build, servers, name, timeout_ms):
        modules = node_packages(build) / "node_modules"
        if not modules.exists():
            raise NotThere("the packages of npm are not installed (bench/torture/run --install)")
        return ["env", f"NODE_PATH={modules}", "node", PROGRAMS / "node" / script, servers, name, timeout_ms, *more]

    return command


def install(build):
    """The Debian packages, and what package-lock.json says of npm's."""
    subprocess.run([PROJECT / "tools" / "install-packages", "torture"], check=True)
    packages = node_packages(build)
    packages.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PROGRAMS / "node" / name, packages)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=packages, check=True)


NO_SERVER = ("cut", "delay", "server_stop", "server_restart", "clock")
OWN = "this repository"
ETCD = "https://github.com/etcd-io/etcd/tree/release-3.4/etcdctl"
REDLOCK = "https://github.com/mike-marcacci/node-redlock#usage"
REDIS = ("redis-server",)
CURATOR = "libcurator-recipes-java"
LOCKS = [
    Lock("none", "no lock", "none", file_lock("no_lock.py"), "the control that must lose", not_played=NO_SERVER),
    Lock("flock", "flock(1)", "none", file_lock("flock.py"), "https://man7.org/linux/man-pages/man1/flock.1.html",
         cancel="kill it", not_played=NO_SERVER, versions=("util-linux",)),
    Lock("uvzk", "uvzk, C library", "zookeeper", uvzk_library("c-client"), OWN, fenced=True, cancel="yes", not_played=("clock",)),
    Lock("uvzk-native", "uvzk, native transport", "zookeeper", uvzk_library("native"), OWN, fenced=True, cancel="yes",
         not_played=("clock",)),
    Lock("uvzk-lock", "`uvzk lock`", "zookeeper", python("uvzk_command.py", "command/uvzk"), OWN, fenced=True, cancel="kill it",
         not_played=("clock", "block")),
    Lock("uvzk-serve", "`uvzk serve`, Python", "zookeeper", python("uvzk_python.py", "command/uvzk"), OWN, fenced=True,
         cancel="yes", not_played=("clock",)),
    Lock("kazoo", "kazoo `Lock`", "zookeeper", python("kazoo_lock.py"),
         "https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html", cancel="yes", not_played=("clock",),
         versions=("python3-kazoo",)),
    Lock("curator", "Curator `InterProcessMutex`", "zookeeper", curator("mutex"),
         "https://curator.apache.org/docs/recipes-shared-reentrant-lock", cancel="interrupt its thread", not_played=("clock",),
         versions=(CURATOR,)),
    Lock("etcdctl", "`etcdctl lock`", "etcd", python("etcd_command.py"), f"{ETCD}#lock-options-lockname-command-arg1-arg2-",
         fenced=True, cancel="kill it", not_played=("clock", "block"), versions=("etcd-server", "etcd-client")),
    Lock("etcd3", "python-etcd3 `Lock`, which tries again", "etcd", python("etcd3_lock.py"),
         "https://python-etcd3.readthedocs.io/en/latest/usage.html#lock", not_played=("clock",),
         versions=("etcd-server", "python3-etcd3")),
    Lock("redlock-1", "redlock, 1 server", "redis", node("redlock.js"), REDLOCK, versions=REDIS, packages=("redlock", "ioredis")),
    Lock("redlock-5", "redlock, 5 servers", "redis5", node("redlock.js"), REDLOCK, versions=REDIS,
         packages=("redlock", "ioredis")),
    Lock("redis-semaphore-1", "redis-semaphore `Mutex`, 1 server", "redis", node("redis_semaphore.js"),
         "https://github.com/swarthy/redis-semaphore#mutex", versions=REDIS, packages=("redis-semaphore", "ioredis")),
    Lock("redis-semaphore-5", "redis-semaphore `RedlockMutex`, 5 servers", "redis5", node("redis_semaphore.js"),
         "https://github.com/swarthy/redis-semaphore#redlockmutex", versions=REDIS,
         packages=("redis-semaphore", "ioredis")),
]  # fmt: skip
LEADERS = [
    Lock("leader-uvzk", "uvzk's election, C library", "zookeeper", uvzk_library("c-client", "latch"), OWN, fenced=True,
         cancel="yes", not_played=("clock",)),
    Lock("leader-uvzk-native", "uvzk's election, native transport", "zookeeper", uvzk_library("native", "latch"), OWN,
         fenced=True, cancel="yes", not_played=("clock",)),
    Lock("leader-curator", "Curator `LeaderLatch`", "zookeeper", curator("leader"),
         "https://curator.apache.org/docs/recipes-leader-latch", cancel="close it", not_played=("clock",), versions=(CURATOR,)),
    Lock("leader-kazoo", "kazoo `Election`", "zookeeper", python("kazoo_leader.py"),
         "https://kazoo.readthedocs.io/en/latest/api/recipe/election.html", cancel="yes", not_played=("clock",),
         versions=("python3-kazoo",)),
]  # fmt: skip

MODELS = [
    Lock("reentrant-uvzk", "uvzk's mutex, twice by one owner", "zookeeper", uvzk_library("c-client", "reentrant"), OWN,
         fenced=True, cancel="yes", not_played=("clock",), model="reentrant mutex"),
    Lock("reentrant-curator", "Curator `InterProcessMutex`, twice by one thread", "zookeeper", curator("reentrant"),
         "https://curator.apache.org/docs/recipes-shared-reentrant-lock", cancel="interrupt its thread", not_played=("clock",),
         versions=(CURATOR,), model="reentrant mutex"),
    Lock("semaphore-uvzk", "uvzk's semaphore", "zookeeper", uvzk_library("c-client", "semaphore"), OWN, cancel="yes", not_played=("clock",),
         model="semaphore"),
    Lock("semaphore-uvzk-native", "uvzk's semaphore, native transport", "zookeeper", uvzk_library("native", "semaphore"), OWN,
         cancel="yes", not_played=("clock",), model="semaphore"),
    Lock("semaphore-curator", "Curator `InterProcessSemaphoreV2`", "zookeeper", curator("semaphore"),
         "https://curator.apache.org/docs/recipes-shared-semaphore", cancel="interrupt its thread", not_played=("clock",),
         versions=(CURATOR,), model="semaphore"),
    Lock("semaphore-kazoo", "kazoo `Semaphore`", "zookeeper", python("kazoo_semaphore.py"),
         "https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html", cancel="yes", not_played=("clock",), versions=("python3-kazoo",),
         model="semaphore"),
    Lock("semaphore-redis", "redis-semaphore `Semaphore`, 1 server", "redis", node("redis_semaphore.js", "semaphore"),
         "https://github.com/swarthy/redis-semaphore#semaphore", versions=REDIS,
         packages=("redis-semaphore", "ioredis"), model="semaphore"),
]  # fmt: skip


def command_of(lock, build, servers, name, timeout_ms):
    """NotThere, if this machine has not what it needs."""
    command = lock.command(build, servers, name, timeout_ms)
    if shutil.which(str(command[0])) is None:
        raise NotThere(f"no {command[0]}")
    missing = [package for package, version in installed(lock).items() if version is None]
    if missing:
        raise NotThere(f"no package {', '.join(missing)}")
    return command


def installed(lock):
    """{Debian package that the lock needs: its version, or None}; an own Curator takes the place of Debian's."""
    found = {}
    for package in lock.versions:
        if package == CURATOR and os.environ.get("UVZK_CURATOR_JARS"):
            found["Curator"] = os.environ["UVZK_CURATOR_JARS"]
            continue
        told = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)  # fmt: skip
        found[package] = told.stdout or None  # dpkg may know the name of a package that is not there
    return found


def versions(lock):
    """{package: version}"""
    wanted = json.loads((PROGRAMS / "node" / "package.json").read_text())["dependencies"]
    found = {package: version for package, version in installed(lock).items() if version is not None}
    return {package: wanted[package] for package in lock.packages} | found
