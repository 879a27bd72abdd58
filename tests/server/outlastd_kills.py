"""Kills outlastd under load, again and again, and compares what it has afterwards with what it had acknowledged.

The kills come at random moments: under load, while the server ends after a SIGTERM, and while it opens what the last kill
left. Some thousand items that no client changes must stay, too. kill_subjects.py and kill_sequences.py have the loads. The first loss ends the
program with status 1; a directory then has a copy of the files as the kill left them, the log and the description.

With --wrong, the server or the use of it is wrong, and this program must find that:
  undurable  replies are counted that do not wait (the usual port of a cache)
  torn       the commands of a transaction are sent without MULTI and EXEC
  old        a kill leaves the files as they were after an earlier one
  empty      a kill leaves no files

usage: outlastd_kills.py PROGRAM [--subject NAME] [--kills N] [--seed N] [--directory DIR] [--keep DIR] [--json] [--wrong WHAT]
       outlastd_kills.py --list
"""
import argparse
import collections
import contextlib
import dataclasses
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import kill_sequences
import kill_subjects
import served

SUBJECTS = {**kill_subjects.SUBJECTS, **kill_sequences.SUBJECTS}
FIRST = "cache, durable port, memcached"
MAX_LIFE_SECONDS = 0.06
STAYING = 2000  # items that no client changes


class Loss(Exception):
    """The server has not what it must have."""


class Run:
    """A server with one subject's load, from kill to kill."""

    def __init__(self, given, directory):
        self.given = given
        self.subject = SUBJECTS[given.subject]
        if given.wrong == "undurable":
            self.subject = dataclasses.replace(self.subject, port="port", first=(), waits=False)
        if given.wrong == "torn":
            self.subject = dataclasses.replace(self.subject, is_whole=False)
        self.random = random.Random(given.seed)
        self.model = self.subject.model(self.subject)
        self.server = served.Server(given.program, directory, "-t", "2", *self.subject.options)
        self.copy = pathlib.Path(directory, "as the kill left it")
        self.older = pathlib.Path(directory, "older")
        self.kills = collections.Counter()
        self.first_answers = []
        self.acknowledged = 0
        self.writers = []

    def run(self):
        self.start()
        if self.model.keeps_others:
            self.fill()
        while self.kills.total() < self.given.kills:
            self.live()
            self.leave()
            self.start()
            self.compare()
        self.compare_staying(range(STAYING if self.model.keeps_others else 0))
        if (status := self.server.end()) != 0:
            raise Loss(f"the server ends with status {status}")
        if self.acknowledged < self.given.kills:
            raise Loss(f"only {self.acknowledged} changes were acknowledged: the load does not work")

    def start(self):
        began = time.monotonic()
        self.server.start()
        self.first_answers.append(time.monotonic() - began)

    def fill(self):
        with served.Lines(self.server.port) as client:
            client.send(b"".join(b"set s%d 0 0 6 noreply\r\n%06d\r\n" % (i, i) for i in range(STAYING)))
            client.send(b"durable on\r\nget s0\r\n")
            while (line := client.line()) != b"END":
                if line is None:
                    raise Loss("the server does not take the first items")

    def live(self):
        """Loads the server for a moment, and kills it."""
        port = getattr(self.server, self.subject.port)
        self.writers = [kill_subjects.Load(self.subject, self.model, i, port, self.random.random())
                        for i in range(self.model.writers)]
        for writer in self.writers:
            writer.start()
        time.sleep(self.random.uniform(0.0, MAX_LIFE_SECONDS))
        kind = self.random.choices(("load", "drain"), (80, 20))[0]
        if kind == "drain":
            self.server.process.send_signal(signal.SIGTERM)
            time.sleep(self.random.uniform(0.0, 0.008))
        self.kill(kind)
        for writer in self.writers:
            writer.join()
            self.acknowledged += writer.acknowledged
            if writer.problem is not None:
                raise Loss("a reply is wrong: " + writer.problem)

    def kill(self, kind):
        self.server.kill()
        status = self.server.process.returncode
        if status not in (0, -signal.SIGKILL):
            raise Loss(f"the server has ended by itself, with status {status}")
        if status != 0:
            self.kills[kind] += 1

    def leave(self):
        """Sometimes kills the server while it opens the files. Keeps a copy of the files."""
        usual = sorted(self.first_answers)[len(self.first_answers) // 2]
        while self.kills.total() < self.given.kills and self.random.random() < 0.2:
            self.server.launch()
            time.sleep(self.random.uniform(0.0, usual * 1.2))
            self.kill("opening")
        if self.given.wrong in ("old", "empty") and self.kills.total() > 20:
            self.spoil()
        if self.server.pool.exists():
            copy(self.server.pool, self.copy)
        if self.given.wrong == "old" and not self.older.exists() and self.acknowledged != 0:
            copy(self.server.pool, self.older)

    def spoil(self):
        if self.given.wrong == "empty":
            remove(self.server.pool)
        elif self.older.exists():
            put_back(self.older, self.server.pool)

    def compare(self):
        seen = {}
        for writer in self.writers:
            for thing, number in writer.seen:
                seen[thing] = max(seen.get(thing, 0), number)
        problems = list(self.model.compare(self.server, seen))
        if problems:
            raise Loss(f"after {self.kills.total()} kills: " + "; ".join(problems[:5]))
        if self.model.keeps_others:
            self.compare_staying(self.random.sample(range(STAYING), 50))

    def compare_staying(self, numbers):
        found = kill_subjects.get_many(self.server.port, [b"s%d" % i for i in numbers])
        wrong = [i for i in numbers if found.get(b"s%d" % i) != b"%06d" % i]
        if wrong:
            raise Loss(f"after {self.kills.total()} kills: {len(wrong)} items that no client changes, such as s{wrong[0]}, "
                       f"are lost")

    def keep(self, what):
        """Keeps the files of a loss as the kill left them. Returns their directory.

        The files are the server's own, because a server refuses a copy of a pool that was not closed.
        """
        if self.given.keep:
            pathlib.Path(self.given.keep).mkdir(parents=True, exist_ok=True)
        kept = pathlib.Path(tempfile.mkdtemp(prefix="outlast-loss-", dir=self.given.keep or self.server.directory.parent))
        if self.copy.exists():
            put_back(self.copy, self.server.pool)
        shutil.move(self.server.pool, kept)
        shutil.copy(self.server.directory / "log", kept)
        again = ["outlastd_kills.py", self.given.program, "--subject", self.given.subject, "--seed", str(self.given.seed),
                 "--kills", str(self.given.kills)]
        (kept / "loss").write_text(f"{what}\nserver: {self.server.command()}\nagain: {again}\n", encoding="utf-8")
        return str(kept)


def copy(source, target):
    """Copies a pool or the directory of a store; holes stay holes."""
    remove(target)
    subprocess.run(["cp", "-r", "--sparse=always", source, target], check=True)


def put_back(source, target):
    """Replaces the contents of files, which remain the same files."""
    shutil.copytree(source, target, dirs_exist_ok=True) if source.is_dir() else shutil.copyfile(source, target)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("--subject", default=FIRST, choices=list(SUBJECTS))
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", help="where the server has its files; default: a temporary one in memory")
    parser.add_argument("--keep", help="directory for the files of a loss; default: beside those of the server")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--wrong", choices=("undurable", "torn", "old", "empty"))
    parser.add_argument("--list", action="store_true", help="print the subjects")
    return parser.parse_args()


def main():
    given = arguments()
    if given.list:
        print("\n".join(SUBJECTS))
        return 0
    began = time.monotonic()
    loss = None
    with contextlib.nullcontext(given.directory) if given.directory else served.temporary() as directory:
        run = Run(given, directory)
        try:
            run.run()
        except (Loss, kill_subjects.Wrong, AssertionError) as wrong:
            loss = str(wrong)
        except OSError as wrong:
            loss = f"after {run.kills.total()} kills, a server that was started again does not answer: {wrong}"
        if loss and run.server.process.poll() is None:
            run.server.kill()
        kept = run.keep(loss) if loss and not given.wrong else None
    answers = sorted(run.first_answers)
    found = {"subject": given.subject, "seed": given.seed, "kills": run.kills.total(), **{
        kind: run.kills[kind] for kind in ("load", "drain", "opening")}, "acknowledged": run.acknowledged,
        "seconds": round(time.monotonic() - began, 2), "first_answer_ms": round(answers[len(answers) // 2] * 1000, 1),
        "loss": loss, "kept": kept}
    if given.json:
        print(json.dumps(found))
    elif loss is None:
        print("{kills} kills ({load} under load, {drain} during the end, {opening} during the opening), {acknowledged} "
              "acknowledged changes, 0 lost; first answer after {first_answer_ms:.0f} ms (median)".format(**found))
    else:
        print(f"{'as it must, this was found' if given.wrong else 'loss'}: {loss}" + (f"\nfiles: {kept}" if kept else ""))
    if given.wrong and loss is None:
        print(f"{given.wrong} was not found in {run.kills.total()} kills")
    return int((loss is None) == bool(given.wrong))


if __name__ == "__main__":
    sys.exit(main())
