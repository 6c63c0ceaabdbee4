# SPDX-License-Identifier: Apache-2.0
"""A wheel with the command is of the command's platform; without it, of any. See pyproject.toml for all else."""

import pathlib

import setuptools

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

COMMAND = pathlib.Path(__file__).parent / "uvzk/bin/uvzk"
PROCESSORS = {62: "x86_64", 183: "aarch64"}  # by e_machine, elf(5)
with_command = COMMAND.exists()


def processor():
    """Returns None if it is another one: then the command is for the machine that makes the wheel."""
    return PROCESSORS.get(int.from_bytes(COMMAND.read_bytes()[18:20], "little"))


class OfPlatform(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not with_command

    def get_tag(self):
        if not with_command:
            return "py3", "none", "any"
        of = processor()
        return "py3", "none", f"linux_{of}" if of else super().get_tag()[2]


setuptools.setup(cmdclass={"bdist_wheel": OfPlatform})
