"""Goal: what is installed is whole: the program, its manual with every option, its units, an example that works.
Method: the component is installed into a directory; `--help` is read here by other means than the manual was written with.

usage: outlastd_install_test.py PROGRAM BUILD_DIRECTORY
"""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import served

PROGRAM, BUILD = sys.argv[1:3]
ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL = ROOT / "share" / "man" / "outlastd.1"
EXAMPLE = ROOT / "share" / "outlastd" / "outlastd.conf"


def options_of_help():
    text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  ((?:-\w,)?--[\w-]+(?:,--[\w-]+)*)", text, re.MULTILINE)
    return {name for each in listed for name in each.split(",")}


def options_of_manual(text):
    part = text.replace("\\-", "-").split(".SH OPTIONS")[1].split(".SH SIGNALS")[0]
    entries = re.findall(r"^\.TP\n(.*)$", part, re.MULTILINE)
    return {name for each in entries for name in re.findall(r"\\fB(--?[\w-]+)\\fR", each)}


class Installed(unittest.TestCase):
    def test_the_manual_has_each_option_and_no_other(self):
        self.assertEqual(options_of_manual(MANUAL.read_text(encoding="utf-8")), options_of_help())
        self.assertGreater(len(options_of_help()), 40)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_the_manual_is_formatted_without_a_warning(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(MANUAL)], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_the_component_has_the_program_and_what_belongs_to_it(self):
        with served.temporary() as directory:
            prefix = pathlib.Path(directory, "prefix")
            subprocess.run(["cmake", "--install", BUILD, "--component", "server", "--prefix", str(prefix)], check=True,
                           capture_output=True)
            files = {str(each.relative_to(prefix)) for each in prefix.rglob("*") if each.is_file()}
            for wanted in ("bin/outlastd", "lib/systemd/system/outlastd.service", "lib/systemd/system/outlastd.socket",
                           "share/doc/outlastd/examples/outlastd.conf", "share/doc/outlastd/copyright"):
                self.assertIn(wanted, files)
            self.assertNotIn("bin/outlast", files)
            manual = next(prefix.rglob("outlastd.1*"))
            text = gzip.decompress(manual.read_bytes()) if manual.suffix == ".gz" else manual.read_bytes()
            self.assertEqual(text, MANUAL.read_bytes())
            service = (prefix / "lib/systemd/system/outlastd.service").read_text(encoding="utf-8")
            self.assertRegex(service, r"(?m)^ExecStart=/\S+/bin/outlastd \$OUTLASTD_OPTIONS \$\{OUTLASTD_FILE\}$")
            self.assertNotIn("@", service.replace("@system-service", "").replace("@privileged @resources", ""))

    def test_the_example_of_a_configuration_starts_a_server(self):
        text = EXAMPLE.read_text(encoding="utf-8")
        known = {name.lstrip("-") for name in options_of_help()}
        self.assertLessEqual(set(re.findall(r"^(?:# )?([\w-]+) = ", text, re.MULTILINE)), known)
        with served.temporary() as directory:
            # The line for a second address and the metrics are options, too.
            example = pathlib.Path(directory, "outlastd.conf")
            example.write_text(re.sub(r"(?m)^(bind = .*)$", "", text)
                               .replace("# bind = 127.0.0.1 ::1", "bind = 127.0.0.1")
                               .replace("# durable", "durable"), encoding="utf-8")
            server = served.Server(PROGRAM, directory, "--config", str(example)).start()
            with served.Lines(server.port) as client:  # the command line takes precedence
                self.assertEqual(client.set(b"key", b"value"), b"STORED")
            self.assertGreater(server.metrics()["outlast_held_replies_total"], 0)
            self.assertEqual(server.metrics()["outlast_item_bytes_limit"], 1024 << 20)
            self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
