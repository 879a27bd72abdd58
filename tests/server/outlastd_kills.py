"""Kills outlastd under load, again and again, and compares what it has afterwards with what it had
acknowledged.

Each writer has keys of its own and counts their versions up. On the durable port, a reply promises
that its change survives: afterwards each key has the last version that was acknowledged, or a later
one that was sent. A reader never sees a version that a later server has not.

With --mode store the server has a store, and the writers use the usual port: a kill loses nothing there.
With --undurable the writers use the port whose replies do not wait. Then this program must find that
changes were lost: it shows that it can.

usage: outlastd_kills.py PROGRAM [--kills N] [--seed N] [--directory DIR] [--mode MODE] [--undurable]
"""
import argparse
import contextlib
import random
import threading
import time

import served

WRITERS = 4
KEYS = 25


class Writer(threading.Thread):
    """Changes its keys until the connection breaks."""

    def __init__(self, number, state, seed):
        super().__init__()
        self.number = number
        self.state = state  # key -> (last version that was acknowledged, versions that were sent)
        self.random = random.Random(seed)
        self.acknowledged = 0
        self.seen = {}
        self.problem = None

    def run(self):
        try:
            with served.Lines(self.port) as client:
                while True:
                    self.change_some(client)
        except (OSError, TimeoutError):
            pass  # the kill
        except AssertionError as wrong:
            self.problem = str(wrong)

    def change_some(self, client):
        keys = self.random.sample(range(KEYS), self.random.randint(1, 8))
        sent = b""
        for key in keys:
            name = b"w%d:%d" % (self.number, key)
            version = self.state[name]["sent"] + 1
            self.state[name]["sent"] = version
            if version % 7 == 0:
                sent += b"delete %s\r\n" % name
            else:
                value = b"%d" % version + b"x" * (version % 50)
                sent += b"set %s 0 0 %d\r\n%s\r\n" % (name, len(value), value)
        other = b"w%d:%d" % (self.random.randrange(WRITERS), self.random.randrange(KEYS))
        client.send(sent + b"get %s\r\n" % other)
        for key in keys:
            line = client.line()
            if line is None:
                raise ConnectionResetError
            assert line in (b"STORED", b"DELETED", b"NOT_FOUND"), line
            name = b"w%d:%d" % (self.number, key)
            self.state[name]["acknowledged"] += 1
            self.acknowledged += 1
        while (line := client.line()) != b"END":
            if line is None:
                raise ConnectionResetError
            if not line.startswith(b"VALUE "):
                self.seen[other] = version_of(line)


def version_of(value):
    return int(value.rstrip(b"x"))


def allowed(state, value):
    """Returns whether a key can have a value: of a version from the last acknowledged one on."""
    versions = range(state["acknowledged"], state["sent"] + 1)
    if value is None:
        return any(each == 0 or each % 7 == 0 for each in versions)
    return version_of(value) in versions and version_of(value) % 7 != 0


def compare(server, state, seen):
    lost = []
    with served.Lines(server.port) as client:
        for name, each in state.items():
            value = client.get(name)
            if not allowed(each, value):
                lost.append(f"{name.decode()}: {value}, acknowledged {each['acknowledged']}, "
                            f"sent {each['sent']}")
            present = each["sent"] if value is None else version_of(value)
            if name in seen and seen[name] > present:
                lost.append(f"{name.decode()}: {value}, and version {seen[name]} was read")
            # What is there now is the only state from here on.
            if value is None:
                version = max(v for v in range(each["sent"] + 1) if v == 0 or v % 7 == 0)
                each["acknowledged"] = each["sent"] = version
            else:
                each["acknowledged"] = each["sent"] = version_of(value)
    return lost


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory")
    parser.add_argument("--mode", default="cache")
    parser.add_argument("--undurable", action="store_true")
    given = parser.parse_args()
    source = random.Random(given.seed)
    state = {b"w%d:%d" % (w, k): {"acknowledged": 0, "sent": 0}
             for w in range(WRITERS) for k in range(KEYS)}
    acknowledged = 0
    first_answers = []
    home = contextlib.nullcontext(given.directory) if given.directory else served.temporary()
    with home as directory:
        server = served.Server(given.program, directory, "-t", "2", "-m", "64", "--mode", given.mode)
        for kill in range(given.kills + 1):
            began = time.monotonic()
            server.start()
            first_answers.append(time.monotonic() - began)
            seen = {}
            if kill != 0:
                for writer in writers:
                    assert writer.problem is None, writer.problem
                    acknowledged += writer.acknowledged
                    for name, version in writer.seen.items():
                        seen[name] = max(seen.get(name, 0), version)
            lost = compare(server, state, seen)
            if lost and given.undurable:
                server.end()
                print(f"as it must, kill {kill} has lost something: {lost[0]}")
                return
            assert not lost, f"kill {kill}: " + "; ".join(lost)
            if kill == given.kills:
                break
            writers = [Writer(i, state, source.random()) for i in range(WRITERS)]
            for writer in writers:
                is_plain = given.undurable or given.mode == "store"
                writer.port = server.port if is_plain else server.durable_port
                writer.start()
            time.sleep(source.uniform(0.0, 0.15))
            server.kill()
            for writer in writers:
                writer.join()
        assert server.end() == 0
        assert not given.undurable, "no kill has lost anything, although replies did not wait"
    first_answers.sort()
    assert acknowledged > given.kills, acknowledged
    print(f"{given.kills} kills, {acknowledged} acknowledged changes, 0 lost; first answer after "
          f"{first_answers[len(first_answers) // 2] * 1000:.0f} ms (median)")


main()
