#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers of which one never comes up leave no process behind."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import servers  # noqa: E402


class OneIsSilent(servers.Own):
    """The first server listens, the second one does not."""

    count = 2
    made = None

    def arguments(self, port, directory):
        OneIsSilent.made = self
        if directory.name == "server-0":
            return [sys.executable, "-m", "http.server", "--bind", servers.HOST, str(port)]
        servers.PATIENCE_S = 0  # for this one
        return ["sleep", "60"]


def none_is_left():
    with tempfile.TemporaryDirectory() as directory:
        try:
            OneIsSilent(None, directory)
        except servers.NotThere:
            processes = OneIsSilent.made.processes
            assert len(processes) == 2 and None not in processes, processes
            assert [process.returncode for process in processes] == [-9, -9], processes
            return
    raise AssertionError("a server that does not listen has come up")


def no_zookeeper_is_left():
    """with_zookeeper says no address, and would go on until its standard input ends."""
    with tempfile.TemporaryDirectory() as build:
        program = pathlib.Path(build, "tests/with_zookeeper")
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho\ncat >/dev/null\necho ended >{build}/ended\n")
        program.chmod(0o755)
        try:
            servers.ZooKeeper(pathlib.Path(build), None)
        except servers.NotThere:
            assert pathlib.Path(build, "ended").exists()
            return
    raise AssertionError("a server without an address has come up")


none_is_left()
no_zookeeper_is_left()
