# SPDX-License-Identifier: Apache-2.0
"""uvzk for Conan 2, from the tree that this file lies in: conan create packaging/conan.
Conan has no ZooKeeper C client: the system's libzookeeper_mt is found."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.gnu import PkgConfigDeps

TREE = os.path.join("..", "..")
OPTIONS = {
    "UVZK_BUILD_TESTS": "OFF",
    "UVZK_BUILD_BENCH": "OFF",
    "UVZK_BUILD_EXAMPLES": "OFF",
    "UVZK_BUILD_SIM": "OFF",
    "UVZK_BUILD_COMMAND": "OFF",
    "UVZK_PROBES": "OFF",
    "UVZK_SASL": "OFF",
}


class Uvzk(ConanFile):
    name = "uvzk"
    version = "0.4.0-dev"
    license = "Apache-2.0"
    description = "Apache Curator's lock recipes for C programs on a libuv loop"
    settings = "os", "compiler", "build_type", "arch"

    def export_sources(self):
        tree = os.path.join(self.recipe_folder, TREE)
        for place in ("CMakeLists.txt", "LICENSE", "include/*", "src/*", "loop/*", "packaging/*",
                      "debian/changelog"):  # fmt: skip
            copy(self, place, tree, self.export_sources_folder)

    def requirements(self):
        self.requires("libuv/[>=1.40]", transitive_headers=True)
        self.requires("c-ares/[>=1.18]")
        self.requires("openssl/[>=3.0]")
        self.requires("uthash/[>=2.3]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(OPTIONS)
        toolchain.generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["uvzk"]
        self.cpp_info.system_libs = ["zookeeper_mt", "pthread"]
