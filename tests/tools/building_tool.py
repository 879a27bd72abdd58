"""Goal: what keeps a build from going on is told, with what to do: a missing program, packages that cannot be installed, a directory
that cannot be written, a full file system, a suite that fails.
Method: the scripts behind the Makefile, in an environment of stand-ins for the programs that they call."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
NEEDED = ["sh", "env", "awk", "cat", "dirname", "head", "mkdir", "mktemp", "rm", "sed", "grep", "id"]


class Building(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="out last ")))
        self.programs = self.directory / "bin"
        self.programs.mkdir()
        for name in NEEDED:
            (self.programs / name).symlink_to(shutil.which(name))

    def stand_in(self, name, script):
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('sh')}\n{script}\n")
        path.chmod(0o755)

    def run_script(self, name, *arguments):
        return subprocess.run([shutil.which("sh"), str(TOOLS / name), *arguments], capture_output=True, text=True,
                              check=False, env={"PATH": str(self.programs), "HOME": str(self.directory)})

    def expect(self, ended, status, *texts):
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        for text in texts:
            self.assertIn(text, ended.stdout + ended.stderr)

    def build(self, *targets, directory="tree"):
        return self.run_script("build", "release", str(self.directory / directory), "2", *targets)

    def test_builds_what_is_asked_for_in_a_path_with_blanks(self):
        self.stand_in("cmake", f'for each; do echo "[$each]"; done >>"{self.directory}/calls"')
        self.expect(self.build("one", "two"), 0, "configuring", "building")
        calls = (self.directory / "calls").read_text().split("\n")
        tree = f"[{self.directory}/tree]"
        self.assertEqual(calls[:-1], ["[--preset]", "[release]", "[-B]", tree, "[--build]", tree, "[-j]", "[2]",
                                      "[--target]", "[one]", "[two]"])

    def test_names_cmake_where_it_is_missing(self):
        self.expect(self.build(), 1, "cmake is not installed")

    def test_names_a_directory_that_cannot_be_written(self):
        self.stand_in("cmake", "exit 0")
        (self.directory / "file").write_text("")
        self.expect(self.build(directory="file/tree"), 1, "file/tree cannot be written", "make BUILD=DIRECTORY")

    def test_names_a_full_file_system(self):
        self.stand_in("cmake", 'case $1 in --build) echo "No space left on device" >&2; exit 1 ;; esac')
        self.stand_in("df", 'echo header; echo "dev 100 90 10240 90% /"')
        self.expect(self.build(), 1, "has 10 MiB left", "goes on where it stopped")

    def test_shows_why_configuring_failed(self):
        self.stand_in("df", 'echo header; echo "dev 100 90 10240000 90% /"')
        self.stand_in("cmake", "echo 'CMake 3.25 or higher is required' >&2; exit 1")
        self.expect(self.build(), 1, "CMake 3.25 or higher is required", "configuring failed")

    def packages(self, **stand_ins):
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("dpkg", "exit 0")
        for name, script in stand_ins.items():
            self.stand_in(name.replace("_", "-"), script)
        return self.run_script("install-dependencies", "demo")

    def test_names_packages_where_there_is_no_sudo(self):
        self.expect(self.packages(id="echo 1000"), 1, "there is no sudo here", "apt-get install", "libxxhash-dev")

    def test_names_the_network_where_packages_cannot_be_reached(self):
        ended = self.packages(id="echo 0", apt_get="echo 'Temporary failure resolving deb.debian.org' >&2; exit 100")
        self.expect(ended, 1, "Debian's packages could not be reached", "could not install", "g++")

    def test_names_a_full_file_system_where_packages_do_not_fit(self):
        ended = self.packages(id="echo 0", apt_get="echo 'No space left on device' >&2; exit 100")
        self.expect(ended, 1, "is full")

    def test_completes_an_installation_that_was_interrupted(self):
        ended = self.packages(id="echo 0", apt_get="exit 0", dpkg=f'echo "$@" >>"{self.directory}/dpkg"; [ $1 != --audit ] || echo half')
        self.expect(ended, 0, "completing an interrupted installation")
        self.assertIn("--configure -a", (self.directory / "dpkg").read_text())

    def compare(self, before, after):
        for name, tests in (("before", before), ("after", after)):
            (self.directory / name).write_text("".join(f"  Test #{i}: {test}\n" for i, test in enumerate(tests)))
        return subprocess.run([sys.executable, str(TOOLS / "compare_tests"), "before", "--", "after"], cwd=self.directory,
                              capture_output=True, text=True, check=False)

    def test_finds_a_test_that_is_gone(self):
        self.expect(self.compare(["a", "b  # GetParam() = 1"], ["b", "c"]), 1, "missing: a", "1 missing, 1 new")
        self.expect(self.compare(["a"], ["a", "b"]), 0, "0 missing, 1 new")

    def test_a_suite_that_cannot_be_built_fails(self):
        self.stand_in("cmake", "exit 1")
        self.stand_in("df", "exit 1")
        ended = subprocess.run([sys.executable, str(TOOLS / "run_suites"), "--build", str(self.directory), "test"],
                               capture_output=True, text=True, check=False, env={**os.environ, "PATH": str(self.programs)})
        self.expect(ended, 1, "test: not built")
        self.assertEqual(ended.stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_a_suite_for_which_no_time_is_left_is_named_and_not_run(self):
        self.stand_in("cmake", "exit 1")
        self.stand_in("df", "exit 1")
        ended = subprocess.run([sys.executable, str(TOOLS / "run_suites"), "--build", str(self.directory), "--within", "30",
                                "--unit", "20", "suite", "tsan"],
                               capture_output=True, text=True, check=False, env={**os.environ, "PATH": str(self.programs)})
        # 44 minutes are too long; 16 are not, and that suite is begun.
        self.expect(ended, 1, "suite: not run, because it takes about 44 minutes", "tsan: not built")
        self.assertEqual(ended.stdout.splitlines()[-1], "0 passed, 1 failed, 1 skipped")


if __name__ == "__main__":
    sys.argv.pop(1)  # the tool, which takes no part
    unittest.main()
