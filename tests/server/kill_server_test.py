"""Goal: the campaign of kills finds a server that breaks its promise, ends with status 1, and keeps the files of the loss.
Method: a program that gives outlastd the two ports the other way round stands for that server: the replies of its durable
port do not wait. The campaign also runs with the right server.

usage: kill_server_test.py PROGRAM CAMPAIGN
"""
import json
import pathlib
import subprocess
import sys

import served

PROGRAM, CAMPAIGN = sys.argv[1:3]
SUBJECT = "cache, durable port, memcached"
SWAPPED = """#!{python}
import os, sys
words = sys.argv[1:]
swapped = {{"-p": "--durable-port", "--durable-port": "-p"}}
os.execv({program!r}, [{program!r}, *(swapped.get(word, word) for word in words)])
"""


def campaign(program, directory, subject):
    """Returns the campaign's result, its output and the lines of its file."""
    results = pathlib.Path(directory, "results.jsonl")
    results.unlink(missing_ok=True)
    done = subprocess.run([CAMPAIGN, str(program), "--kills", "100", "--subject", subject, "--seed", "1", "--jobs", "2",
                           "--results", str(results), "--keep", f"{directory}/losses"], capture_output=True, text=True,
                          timeout=250)
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return done.returncode, done.stdout, lines


def main():
    with served.temporary() as directory:
        status, output, lines = campaign(PROGRAM, directory, SUBJECT)
        assert status == 0 and f"| {SUBJECT} | 100 |" in output, output
        assert len(lines) == 1 and lines[0]["loss"] is None and lines[0]["acknowledged"] > 100, lines
        assert not pathlib.Path(directory, "losses").exists()

        wrong = pathlib.Path(directory, "wrong")
        wrong.write_text(SWAPPED.format(python=sys.executable, program=PROGRAM), encoding="utf-8")
        wrong.chmod(0o755)
        status, output, lines = campaign(wrong, directory, SUBJECT)
        assert status == 1 and output.startswith(f"LOST: {SUBJECT}, seed 1: after "), output
        kept = pathlib.Path(lines[0]["kept"])
        assert kept.parent == pathlib.Path(directory, "losses") and lines[0]["loss"] in (kept / "loss").read_text()
        # The pool that was kept is the one that the server left: it opens, with the items that were lost.
        server = served.Server(PROGRAM, kept).start()
        with served.Lines(server.port) as client:
            assert client.get(b"s7") == b"000007"
        assert server.end() == 0


main()
