"""A wheel with the command is of one platform; without it, of any. See pyproject.toml for all else."""

import pathlib

import setuptools

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

with_command = (pathlib.Path(__file__).parent / "uvzk/bin/uvzk").exists()


class OfPlatform(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not with_command

    def get_tag(self):
        platform = super().get_tag()[2]
        return "py3", "none", platform if with_command else "any"


setuptools.setup(cmdclass={"bdist_wheel": OfPlatform})
