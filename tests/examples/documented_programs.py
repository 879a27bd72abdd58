"""Goal: what the pages print as a program is one.
Method: each C++ block with a main() in README and in the guides is taken as it stands, compiled, and run twice in an
empty directory, so that the second run finds what the first has left.

usage: documented_programs.py COMPILER LIBRARY_DIRECTORY [LIBRARY]...
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HISTORY = [ROOT / "docs" / "results", ROOT / "docs" / "decisions"]
WITH_A_TEST = [ROOT / "docs" / "tutorial.md"]  # tutorial.py
BLOCK = re.compile(r"^```(?:cpp|c\+\+|C\+\+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMPILE = []


def programs():
    """Each program with its page and the number of its first line."""
    for page in PAGES:
        if page in WITH_A_TEST or any(each in page.parents for each in HISTORY):
            continue
        text = page.read_text()
        for block in BLOCK.finditer(text):
            if re.search(r"\bint main\(", block[1]):
                yield f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, block.start()) + 1}", block[1]


def run(*command, directory):
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


class Programs(unittest.TestCase):
    def runs_twice(self, text):
        """What two runs print."""
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory) / "program.cpp"
            source.write_text(text)
            compiled = run(*COMPILE[:1], str(source), "-o", "program", *COMPILE[1:], directory=directory)
            self.assertEqual(compiled.returncode, 0, compiled.stderr)
            runs = [run("./program", directory=directory) for _ in range(2)]
            for each in runs:
                self.assertEqual(each.returncode, 0, each.stderr)
            return [each.stdout for each in runs]

    def test_each_program_of_the_pages_compiles_and_runs(self):
        found = dict(programs())
        self.assertTrue(any(place.startswith("README.md") for place in found), "README shows no program")
        for place, text in found.items():
            with self.subTest(place):
                printed = self.runs_twice(text)
                if place.startswith("README.md"):
                    self.assertEqual(printed, ["1\n", "2\n"], "one more in each run")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    compiler, libraries, *names = sys.argv[1:]
    COMPILE = [compiler, "-std=c++20", "-Wall", "-Werror", "-I", str(ROOT / "include"), "-L", libraries,
               *[f"-l:lib{name}.a" for name in names], "-pthread"]
    unittest.main(argv=sys.argv[:1])
