"""The locks of the table: how the program of each is called, and what is known of it beforehand."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import typing

from servers import NotThere

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
    versions: tuple = ()  # Debian's packages


def python(script, *more):
    def command(build, servers, name, timeout_ms):
        return [PYTHON, "-B", PROGRAMS / script, *(str(build / one) for one in more), servers, name, timeout_ms]

    return command


def uvzk_library(transport):
    def command(build, servers, name, timeout_ms):
        return [build / "bench" / "torture_uvzk", servers, name, timeout_ms, transport]

    return command


def file_lock(script):
    def command(_, servers, name, __):
        return [PYTHON, "-B", PROGRAMS / script, name]

    return command


NO_SERVER = ("cut", "delay", "server_stop", "server_restart", "clock")
OWN = "this repository"
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
]  # fmt: skip


def named(name):
    for lock in LOCKS:
        if lock.name == name:
            return lock
    raise SystemExit(f"no lock {name}; there are {', '.join(lock.name for lock in LOCKS)}")


def command_of(lock, build, servers, name, timeout_ms):
    """NotThere, if this machine has not what it needs."""
    command = lock.command(build, servers, name, timeout_ms)
    if shutil.which(str(command[0])) is None:
        raise NotThere(f"no {command[0]}")
    return command


def versions(lock):
    """Of Debian's packages, and of Python where the program is one."""
    found = {}
    for package in lock.versions:
        told = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)  # fmt: skip
        if told.returncode == 0:
            found[package] = told.stdout
    return found
