#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lock is not run where a Debian package of it is missing, even if dpkg knows the package's name."""

import dataclasses
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import locks  # noqa: E402

HERE = locks.Lock("here", "a lock of this machine", "none", lambda *_: ["sh"], "none", versions=("dpkg",))


def refused(lock):
    try:
        locks.command_of(lock, None, "", "", "1000")
    except locks.NotThere as why:
        return str(why)
    return None


def a_name_without_a_version():
    """dpkg knows it from another package, which only recommends it, say."""
    known = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\\n", "*"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout  # fmt: skip
    return next((line.strip() for line in known.splitlines() if line.endswith(" ")), "no-such-package")


def main():
    assert locks.installed(HERE)["dpkg"] and refused(HERE) is None
    for package in ("no-such-package", a_name_without_a_version()):
        told = refused(dataclasses.replace(HERE, versions=("dpkg", package)))
        assert told == f"no package {package}", told
    told = refused(dataclasses.replace(HERE, command=lambda *_: ["no-such-program"]))
    assert told == "no no-such-program", told
    os.environ["UVZK_CURATOR_JARS"] = "/own/jars"
    own = dataclasses.replace(HERE, versions=(locks.CURATOR,))
    assert locks.versions(own) == {"Curator": "/own/jars"} and refused(own) is None


main()
