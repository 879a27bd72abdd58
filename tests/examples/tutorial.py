"""Goal: what the tutorial shows is what appears.
Method: its files are saved and its commands are typed in the order of the page, in an empty directory.

usage: tutorial.py LIBRARY_DIRECTORY [PAGE]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEP = re.compile(r"^<!-- file: (?P<name>\S+) -->\n```cpp\n(?P<text>.*?)^```|^```console\n(?P<session>.*?)^```",
                  re.MULTILINE | re.DOTALL)
LIBRARIES = {"outlast": "-l:liboutlast.a", "outlast_verify": "-l:liboutlast_verify.a -l:liboutlast.a"}
PAGE = ROOT / "docs" / "tutorial.md"
DIRECTORY = ""


def describe_libraries(folder):
    """Files for pkg-config, as an installation has them, of the libraries that were built."""
    folder.mkdir()
    for name, libraries in LIBRARIES.items():
        (folder / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: of this build\nVersion: 0\n"
            f"Cflags: -I{ROOT / 'include'}\nLibs: -L{DIRECTORY} {libraries} -pthread\n")


def exchanges(session):
    """Each command of a console with what it prints."""
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


class Tutorial(unittest.TestCase):
    def test_shows_what_appears(self):
        commands = 0
        with tempfile.TemporaryDirectory() as directory:
            work = pathlib.Path(directory) / "work"
            work.mkdir()
            describe_libraries(pathlib.Path(directory) / "pkgconfig")
            environment = {**os.environ, "PKG_CONFIG_PATH": f"{directory}/pkgconfig"}
            for step in STEP.finditer(PAGE.read_text()):
                if step["name"]:
                    (work / step["name"]).write_text(step["text"])
                    continue
                for command, printed in exchanges(step["session"]):
                    done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, check=False,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    self.assertEqual(done.stdout, printed, f"{command}\n{done.stderr}")
                    self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
                    commands += 1
        self.assertGreater(commands, 6, "the page has hardly any command")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    DIRECTORY = pathlib.Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        PAGE = pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
