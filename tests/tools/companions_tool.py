"""Goal: a command that is a program of its own is executed from beside the tool, whatever the directory; where it is missing, the
tool prints which program that is and how to build it.
Method: the tool as it was built, and a copy of it that has nothing beside it."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = ""
COMPANIONS = {"bench": "outlast-bench", "demo": "outlast-demo", "verify": "outlast-verify"}


def run(tool, *arguments, directory=None):
    return subprocess.run([tool, *arguments], cwd=directory, capture_output=True, text=True, check=False)


class Companions(unittest.TestCase):
    def test_is_executed_with_its_arguments_from_anywhere(self):
        with tempfile.TemporaryDirectory() as directory:
            ended = run(TOOL, "verify", "--list", "--structure", "stack", directory=directory)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertTrue(all(line.startswith("stack ") for line in ended.stdout.splitlines()), ended.stdout)

    def test_its_status_is_the_tools(self):
        self.assertEqual(run(TOOL, "verify", "--structure", "no-such-structure").returncode, 2)
        self.assertEqual(run(TOOL, "demo", "/no/such/text").returncode, 2)

    def test_prints_how_to_build_one_that_is_missing(self):
        with tempfile.TemporaryDirectory(prefix="out last ") as directory:
            alone = pathlib.Path(directory) / "outlast"
            shutil.copy(TOOL, alone)
            for command, program in COMPANIONS.items():
                ended = run(str(alone), command)
                self.assertEqual(ended.returncode, 1, command)
                self.assertIn(str(alone.parent / program), ended.stderr)
                self.assertIn(f"--target {program}", ended.stderr)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
