"""Goal: the manual and the completions of shells name what the tool has, all of it and nothing else.
Method: what `--help` of each command prints is read here by other means than the files were written
with; bash runs its completion; the manual is formatted, without a warning."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL = ROOT / "share" / "man" / "outlast.1"
COMPLETION = ROOT / "share" / "bash-completion" / "outlast"
TOOL = ""


def help_of(*command):
    return subprocess.run([TOOL, *command, "--help"], capture_output=True, text=True, check=True).stdout


def commands_in(text):
    part = text.split("Subcommands:\n")[1] if "Subcommands:\n" in text else ""
    return re.findall(r"^  (\S+)", part, re.MULTILINE)


def all_commands():
    """Each command with its own help; `bench` passes its arguments on, and has none."""
    for name in commands_in(help_of()):
        if name == "bench":
            continue
        yield (name,), help_of(name)
        for inner in commands_in(help_of(name)):
            yield (name, inner), help_of(name, inner)


def options_in(text):
    listed = re.findall(r"^  ((?:-\w,)?--[\w-]+)", text, re.MULTILINE)
    return {name for each in listed for name in each.split(",") if name.startswith("--")}


def sections_of_manual():
    """By command, the options that its section of the manual names."""
    parts = re.split(r"^\.SS (.*)$", MANUAL.read_text().split(".SH EXIT STATUS")[0], flags=re.MULTILINE)
    plain = [part.replace("\\-", "-") for part in parts]
    return {tuple(name.split()): set(re.findall(r"\\fB(--[\w-]+)\\fR", text))
            for name, text in zip(plain[1::2], plain[2::2])}


def completed(*words):
    script = f'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _outlast; printf "%s\\n" "${{COMPREPLY[@]}}"'
    ended = subprocess.run(["bash", "-c", script, "bash", str(COMPLETION), "outlast", *words],
                           capture_output=True, text=True, check=True)
    return set(ended.stdout.split())


class Manual(unittest.TestCase):
    def test_it_has_each_command_with_its_options(self):
        manual = sections_of_manual()
        commands = dict(all_commands())
        self.assertEqual(set(manual) - {("bench",)}, set(commands))
        self.assertIn(("bench",), manual)
        for command, text in commands.items():
            self.assertEqual(manual[command], options_in(text), command)

    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_it_is_formatted_without_a_warning(self):
        ended = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(MANUAL)], capture_output=True,
                               text=True, check=True)
        self.assertEqual(ended.stderr, "")


class Completion(unittest.TestCase):
    def test_each_command_is_offered(self):
        self.assertEqual({word for word in completed("") if not word.startswith("-")},
                         set(commands_in(help_of())))
        self.assertEqual({word for word in completed("db", "") if not word.startswith("-")},
                         set(commands_in(help_of("db"))))

    def test_a_prefix_narrows(self):
        self.assertEqual(completed("up"), {"upgrade"})
        self.assertEqual(completed("db", "de"), {"delete", "destroy"})

    def test_each_option_of_each_command_is_offered(self):
        for command, text in all_commands():
            self.assertEqual(completed(*command, "--"), options_in(text), command)

    def test_options_stay_after_arguments(self):
        self.assertIn("--json", completed("check", "a.pool", "--"))
        self.assertIn("--prefix", completed("db", "scan", "store", "--"))

    def test_values_are_offered_where_they_are_few(self):
        self.assertEqual(completed("verify", "--strategy", ""), {"random", "pct", "exhaustive"})


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
