# SPDX-License-Identifier: Apache-2.0
"""Builds and tests mutants in a copy of the project, never in the tree itself."""

import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

COPIED = ("CMakeLists.txt", "docs/operations.md", "docs/a-new-recipe.md", "docs/recipes/together.md", "tools",
          "packaging", "include", "src", "loop", "sim", "examples", "tests")
LIVE_OF_LOOP = ("conformance_native", "conformance_real", "live_addresses", "live_dialects", "live_diverged_server",
                "live_fork", "live_left_servers", "live_secret_credentials", "live_tls_native", "live_together_native",
                "live_why_no_connection", "test_zk_port")  # these test loop/
# The libraries that test programs share: with assertions, and as a release build has it.
SHARED = ("uvzk_inside", "uvzk_inside_closing")
WITH_CLOSING = "test_broken_client"  # the one that has the second library
ABOUT_OTHERS = ("test_sim", "test_sim_client", "test_sim_server")
PASSES, SKIPPED = "passes", "skipped"
OUTPUT_MAX = 256 << 20  # bytes of output that a test may write
MEMORY_MAX = 4 << 30


class NoTime(Exception):
    """There is no time for the remaining tests."""


@dataclass
class Test:
    name: str
    command: list
    labels: list
    environment: dict
    seconds: float  # the time limit that ctest has for it


class Workshop:
    def __init__(self, project, directory, jobs, histories, longest):
        self.project = project
        self.tree = directory / "tree"
        self.build = directory / "build"
        self.output = directory / "output"
        self.whole = directory / "whole"  # the library without a mutant
        self.took_file = directory / "took.json"
        self.passed_file = directory / "passed.json"
        self.jobs = jobs
        self.histories = histories
        self.longest = longest  # tests that take more seconds are left out
        self.end = float("inf")  # time.monotonic() after which no test is begun
        self.noticed = {}  # (file, test): how many mutants of the file it has noticed
        self.of_headers = []  # tests that are named after a header, whose functions they contain
        self.took = {}  # seconds of processor time of tests that passed
        if self.took_file.exists():
            self.took = json.loads(self.took_file.read_text())
        self.output.mkdir(parents=True, exist_ok=True)
        self.digest = ""  # of the sources
        self.passed = set()  # tests that have passed without a mutant
        self.unfit = {}  # tests that have not: name, how
        self.built = set()  # names of tests
        self.shared = SHARED  # libraries to build anew for each mutant

    # ------------------------------------------------------------- the copy

    def files(self):
        for name in COPIED:
            path = self.project / name
            found = [path] if path.is_file() else sorted(path.rglob("*"))
            for file in found:
                relative = file.relative_to(self.project)
                if file.is_file() and "mutations" not in relative.parts:
                    yield relative

    def refresh(self):
        """Makes the copy equal to the project. Files that are equal already are not written, so
        that ninja does not build them again."""
        digest = hashlib.sha256()
        wanted = set(self.files())
        for file in sorted(wanted):
            content = (self.project / file).read_bytes()
            digest.update(str(file).encode() + b"\0" + content)
            copy = self.tree / file
            if not copy.exists() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.project / file, copy)
                os.utime(copy)
        (self.tree / "tests" / "mutations").mkdir(parents=True, exist_ok=True)
        (self.tree / "tests" / "mutations" / "CMakeLists.txt").touch()
        for copy in list(self.tree.rglob("*")):
            relative = copy.relative_to(self.tree)
            if copy.is_file() and relative not in wanted and "mutations" not in relative.parts:
                copy.unlink()
        self.digest = digest.hexdigest()[:16]
        self.recall_passed()
        return self.digest

    # ------------------------------------------------------------ the build

    def configure(self):
        command = [
            "cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja",
            "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w", "-DUVZK_WERROR=OFF",
            "-DUVZK_BUILD_BENCH=OFF", "-DUVZK_BUILD_EXAMPLES=OFF", "-DUVZK_BUILD_COMMAND=OFF",
            "-DUVZK_SHARE_INSIDE=ON", "-DUVZK_ASSERTIONS=ON", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON",
        ]  # fmt: skip
        launcher = shutil.which("ccache")
        if launcher:
            command.append(f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def ninja(self, *targets):
        """Builds the targets. Returns whether that succeeded."""
        command = ["ninja", "-C", self.build, "-j", str(self.jobs), *targets]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            (self.output / "build.txt").write_bytes(done.stdout)
        return done.returncode == 0

    def targets(self):
        """Returns all that ninja can build."""
        done = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"],
                              check=True, stdout=subprocess.PIPE, text=True)  # fmt: skip
        return {line.split(":")[0] for line in done.stdout.splitlines()}

    def objects_of(self, file):
        """Returns the objects that a change of this file may change: its own or, for a header,
        those of all files."""
        if file.endswith(".h"):
            return sorted(name for name in self.targets()
                          if re.match(r"(src|loop)/CMakeFiles/uvzk_(core|loop)\.dir/.*\.o$", name))
        directory, name = file.split("/", 1)
        library = {"src": "uvzk_core", "loop": "uvzk_loop"}[directory]
        return [f"{directory}/CMakeFiles/{library}.dir/{name}.o"]

    def build_code(self, file):
        """Returns the machine code to which a file contributes, or None if it does not compile."""
        names = self.objects_of(file)
        return b"".join((self.build / name).read_bytes() for name in names) \
            if self.ninja(*names) else None

    # ------------------------------------------------------------- the tests

    def all_tests(self):
        text = subprocess.run(
            ["ctest", "--test-dir", self.build, "--show-only=json-v1"],
            check=True, stdout=subprocess.PIPE).stdout  # fmt: skip
        for entry in json.loads(text)["tests"]:
            properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
            environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
            yield Test(entry["name"], entry.get("command", []), properties.get("LABELS", []),
                       environment, properties.get("TIMEOUT", 60))  # fmt: skip

    def names_of_tests(self):
        """Returns the names of the tests of src/ and of loop/."""
        targets = self.targets()
        tests = [test for test in self.all_tests()
                 if test.name in targets and test.name not in ABOUT_OTHERS]  # fmt: skip
        quick = [t.name for t in tests if {"unit", "sim"} & set(t.labels)]
        units = [t.name for t in tests if "unit" in t.labels]
        live = [t.name for t in tests if t.name in LIVE_OF_LOOP]
        native = [t.name for t in tests if "sim" in t.labels and t.name.startswith("test_native_")]
        return {"src": [name for name in quick if name not in native],
                "loop": units + native + live}

    def find_tests(self):
        """Finds the tests of each directory."""
        names = self.names_of_tests()
        headers = {f"test_{path.stem}" for room in ("src", "loop")
                   for path in (self.tree / room).rglob("*.h")}  # fmt: skip
        self.of_headers = sorted(headers.intersection(names["src"] + names["loop"]))
        by_name = {test.name: test for test in self.all_tests()}
        self.tests = {}
        for directory, its in names.items():
            self.tests[directory] = [by_name[name] for name in its]

    def build_tests(self, names):
        """Builds tests without a mutant, and keeps their library. ctest tells the commands of tests that are built."""
        if not self.ninja(*dict.fromkeys([*self.shared, *names])):
            raise SystemExit(f"the unbroken tree does not build: {self.output}/build.txt")
        if not self.built.issuperset(names):
            self.built.update(names)
            self.find_tests()
        self.whole.mkdir(exist_ok=True)
        for name in self.shared:
            for library in self.build.rglob(f"lib{name}.so"):
                shutil.copy2(library, self.whole)

    def build_all(self):
        self.shared = SHARED
        self.build_tests([test.name for tests in self.tests.values() for test in tests])

    def order(self, test, mutant):
        """The sort key of a test: first the test that noticed this mutant before, then quick tests
        and tests that have noticed many mutants of this file."""
        histories = "_histories_" in test.name
        guess = 4 if histories else 1 if "sim" in test.labels else 0.1
        seconds = 0.02 + self.took.get(test.name, guess)
        count = self.noticed.get((mutant.file, test.name), 0)
        return (test.name != mutant.noticed_by, seconds / (1 + 4 * count), test.name)

    def processor_limit(self, test):
        """Returns seconds of processor time. A test that needs many times its usual time hangs, on
        any machine."""
        return int(3 + 5 * self.took.get(test.name, 10))

    def run(self, test, whole=False):
        """Returns PASSES, SKIPPED, or what was wrong. With `whole` the library has no mutant."""
        environment = dict(os.environ, **test.environment)
        if whole:
            environment["LD_LIBRARY_PATH"] = str(self.whole)
        environment["UVZK_HISTORIES"] = str(self.histories)
        worked = work_of_children()
        with (self.output / "test.txt").open("wb") as output:
            process = subprocess.Popen(
                test.command, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=environment, cwd=self.build,
                process_group=0, preexec_fn=lambda: self.restrain(test))  # fmt: skip
            try:
                code = process.wait(test.seconds)
            except subprocess.TimeoutExpired:
                code = -signal.SIGXCPU
            finally:
                end_group(process)
        if code == 0:
            self.took[test.name] = round(work_of_children() - worked, 2)
            self.took_file.write_text(json.dumps(self.took))
        known = {0: PASSES, 77: SKIPPED, -signal.SIGXCPU: "hangs"}
        return known.get(code, "fails")

    def restrain(self, test):
        resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_MAX, OUTPUT_MAX))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if "live" not in test.labels:  # Java needs more of everything
            seconds = self.processor_limit(test)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))

    def run_again(self, test, whole=False):
        """Runs a live test a second time if it fails, because on a loaded machine a server may be
        too slow once."""
        how = self.run(test, whole)
        if how not in (PASSES, SKIPPED) and "live" in test.labels:
            how = self.run(test, whole)
        return how

    # ------------------------------------- what passes when nothing is broken

    def recall_passed(self):
        """Reads which tests have passed in this state of the sources."""
        if self.passed_file.exists():
            known = json.loads(self.passed_file.read_text())
            self.passed = set(known["tests"]) if known["sources"] == self.digest else set()

    def is_fit(self, test):
        """Whether the test has passed without a mutant. Only then its failure says something about
        a mutant."""
        if test.name not in self.passed and test.name not in self.unfit:
            how = self.run_again(test, whole=True)
            if how == PASSES:
                self.passed.add(test.name)
                self.passed_file.write_text(
                    json.dumps({"sources": self.digest, "tests": sorted(self.passed)}))
            else:
                self.unfit[test.name] = how
        return test.name in self.passed

    def first_failure(self, mutant):
        """Returns (name, how) of the first test that notices the mutant, or None. Only tests that are built."""
        tests = self.tests[mutant.file.split("/")[0]]
        # The test of a header has the header's functions in itself, so it is built anew, and
        # whether it is fit can be found out only before that.
        file = pathlib.Path(mutant.file)
        for test in tests:
            if file.suffix == ".h" and test.name == f"test_{file.stem}":
                self.is_fit(test)
        if not self.ninja(*self.shared, *self.built.intersection(self.of_headers)):
            return "the linker", "fails"
        for test in sorted(tests, key=lambda test: self.order(test, mutant)):
            if test.name not in self.built or self.took.get(test.name, 0) > self.longest:
                continue
            if test.name == mutant.noticed_by:
                self.is_fit(test)  # if it hangs then, its usual time is known
            if time.monotonic() >= self.end:
                raise NoTime
            how = self.run_again(test)
            if how not in (PASSES, SKIPPED) and self.is_fit(test):
                key = (mutant.file, test.name)
                self.noticed[key] = self.noticed.get(key, 0) + 1
                return test.name, how
        return None


def work_of_children():
    """Returns seconds of processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def end_group(process):
    """Ends all processes of the group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        if number == signal.SIGTERM and process.poll() is None:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                pass
    process.wait()
