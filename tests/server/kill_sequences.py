"""Loads of outlastd_kills.py with many commands: one client, whose changes have one order.

The model is the whole content after each change. After a kill the server must have the content after the last change that
was acknowledged, or after a later one that was sent. On the usual port of a cache it may also be that after an earlier one, but
no other: a kill removes the last changes, in their order, and no part of one. Commands that change all items, or move something from one item to
another, are part of the load.
"""
import kill_subjects
from kill_subjects import History, Resp, Wrong, request

import served


class Sequence:
    """A client that changes all items."""

    writers = 1
    keeps_others = False  # it removes all items from time to time

    def __init__(self, subject):
        self.subject = subject
        self.history = History({})
        self.number = 0
        self.commands = [name for name in dir(self) if name.startswith("do_")]
        if not subject.has_parts:
            self.commands = [name for name in self.commands if not name.startswith("do_part_")]

    def value(self, source):
        """Returns a value that no item has had."""
        self.number += 1
        return b"%d:" % self.number + b"z" * (5000 if source.random() < 0.02 else source.randrange(80))

    def step(self, load, client):
        sent, replies = b"", []
        for _ in range(load.random.randint(1, 10)):
            state = dict(self.history.latest())
            command, reply = getattr(self, load.random.choice(self.commands))(load.random, state)
            if command is None:
                continue
            self.history.send(state)
            sent += command
            replies.append(reply)
        client.send(sent)
        for reply in replies:
            self.check(self.receive(client), reply)
            if not self.subject.may_lose:
                self.history.acknowledge()
            load.acknowledged += 1

    @staticmethod
    def check(got, expected):
        if expected is not None and got != expected:
            raise Wrong(f"the reply is {got}, and must be {expected}")

    def compare(self, server, _):
        observed = self.observe(server)
        states = list(self.history.states)
        if self.history.settle(observed):
            return
        last = states[0]
        differences = [f"{key}: {short(observed.get(key))}, acknowledged {short(last.get(key))}"
                       for key in sorted(last.keys() | observed.keys()) if last.get(key) != observed.get(key)]
        yield f"the content is none of the {len(states)} that are possible: " + ", ".join(differences)


def short(value):
    text = repr(value)
    return text if len(text) < 80 else text[:60] + "..."


class TextSequence(Sequence):
    """Commands of memcached's text protocol."""

    client = served.Lines
    first_reply = staticmethod(kill_subjects.Items.first_reply)
    keys = [b"a%d" % i for i in range(10)]
    numbers = [b"n%d" % i for i in range(3)]

    @staticmethod
    def receive(client):
        line = client.line()
        if line is None:
            raise ConnectionResetError
        return line

    def observe(self, server):
        return kill_subjects.get_many(server.port, self.keys + self.numbers)

    @staticmethod
    def storage(word, key, value):
        return b"%s %s 0 0 %d\r\n%s\r\n" % (word, key, len(value), value)

    def do_set(self, source, state):
        key = source.choice(self.keys)
        state[key] = self.value(source)
        return self.storage(b"set", key, state[key]), b"STORED"

    def do_add(self, source, state):
        key, value = source.choice(self.keys), self.value(source)
        is_stored = key not in state
        if is_stored:
            state[key] = value
        return self.storage(b"add", key, value), b"STORED" if is_stored else b"NOT_STORED"

    def do_replace(self, source, state):
        key, value = source.choice(self.keys), self.value(source)
        is_stored = key in state
        if is_stored:
            state[key] = value
        return self.storage(b"replace", key, value), b"STORED" if is_stored else b"NOT_STORED"

    def do_extend(self, source, state):
        key, value = source.choice(self.keys), self.value(source)
        word = source.choice((b"append", b"prepend"))
        if len(state.get(key, b"")) > 10000:
            return None, None
        is_stored = key in state
        if is_stored:
            state[key] = state[key] + value if word == b"append" else value + state[key]
        return self.storage(word, key, value), b"STORED" if is_stored else b"NOT_STORED"

    def do_number(self, source, state):
        key = source.choice(self.numbers)
        if key not in state:
            state[key] = b"7"
            return self.storage(b"set", key, b"7"), b"STORED"
        step = source.randint(1, 999)
        state[key] = b"%d" % (int(state[key]) + step)
        return b"incr %s %d\r\n" % (key, step), state[key]

    def do_delete(self, source, state):
        key = source.choice(self.keys + self.numbers)
        return b"delete %s\r\n" % key, b"NOT_FOUND" if state.pop(key, None) is None else b"DELETED"

    def do_touch(self, source, state):
        key = source.choice(self.keys)
        return b"touch %s 5000\r\n" % key, b"TOUCHED" if key in state else b"NOT_FOUND"

    def do_flush(self, source, state):
        if source.random() > 0.1:
            return None, None
        state.clear()
        return b"flush_all\r\n", b"OK"


class RespSequence(Sequence):
    """Commands of RESP, with those of hashes, lists, sets and sorted sets if items have parts."""

    client = Resp
    first_reply = staticmethod(kill_subjects.Transactions.first_reply)
    strings = [b"s%d" % i for i in range(6)]
    hashes, lists, sets, sorted_sets = ([b"%c%d" % (letter, i) for i in range(2)] for letter in b"hlez")

    @staticmethod
    def receive(client):
        return client.reply()

    def observe(self, server):
        state = {}
        with Resp(server.port) as client:
            def ask(*words):
                client.send(request(*words))
                return client.reply()
            for key, value in zip(self.strings + [b"n"], ask(b"MGET", *self.strings, b"n")):
                if value is not None:
                    state[key] = value
            if self.subject.has_parts:
                for key in self.hashes:
                    flat = ask(b"HGETALL", key)
                    state[key] = dict(zip(flat[::2], flat[1::2]))
                for key in self.lists:
                    state[key] = tuple(ask(b"LRANGE", key, 0, b"-1"))
                for key in self.sets:
                    state[key] = frozenset(ask(b"SMEMBERS", key))
                for key in self.sorted_sets:
                    flat = ask(b"ZRANGE", key, 0, b"-1", b"WITHSCORES")
                    state[key] = {flat[i]: int(flat[i + 1]) for i in range(0, len(flat), 2)}
        return {key: value for key, value in state.items() if value or isinstance(value, bytes)}

    def do_set(self, source, state):
        key = source.choice(self.strings)
        state[key] = self.value(source)
        return request(b"SET", key, state[key]), b"OK"

    def do_append(self, source, state):
        key, value = source.choice(self.strings), self.value(source)
        if len(state.get(key, b"")) > 10000:
            return None, None
        state[key] = state.get(key, b"") + value
        return request(b"APPEND", key, value), len(state[key])

    def do_setrange(self, source, state):
        key, value = source.choice(self.strings), self.value(source)
        old = state.get(key, b"")
        at = source.randint(0, len(old))
        state[key] = old[:at] + value + old[at + len(value):]
        return request(b"SETRANGE", key, at, value), len(state[key])

    def do_mset(self, source, state):
        one, other = source.sample(self.strings, 2)
        state[one], state[other] = self.value(source), self.value(source)
        return request(b"MSET", one, state[one], other, state[other]), b"OK"

    def do_rename(self, source, state):
        names = source.choice([self.strings, self.hashes, self.lists, self.sets, self.sorted_sets])
        one, other = source.sample(names, 2)
        if one not in state:
            return None, None
        state[other] = state.pop(one)
        return request(b"RENAME", one, other), b"OK"

    def do_delete(self, source, state):
        keys = source.sample(self.strings + self.hashes + self.lists, 2)
        return request(b"DEL", *keys), sum(state.pop(key, None) is not None for key in keys)

    def do_increment(self, source, state):
        step = source.randint(-50, 100)
        state[b"n"] = b"%d" % (int(state.get(b"n", 0)) + step)
        return request(b"INCRBY", b"n", step), int(state[b"n"])

    def do_flush(self, source, state):
        if source.random() > 0.1:
            return None, None
        state.clear()
        return request(b"FLUSHALL"), b"OK"

    def do_part_hash(self, source, state):
        key, field = source.choice(self.hashes), b"f%d" % source.randrange(5)
        fields = dict(state.get(key, {}))
        if source.random() < 0.3:
            found = fields.pop(field, None)
            keep(state, key, fields)
            return request(b"HDEL", key, field), int(found is not None)
        is_new = field not in fields
        fields[field] = self.value(source)
        state[key] = fields
        return request(b"HSET", key, field, fields[field]), int(is_new)

    def do_part_push(self, source, state):
        key, value = source.choice(self.lists), self.value(source)
        items = state.get(key, ())
        if len(items) > 20:
            keep(state, key, items[10:])
            return request(b"LTRIM", key, 10, b"-1"), b"OK"
        is_left = source.random() < 0.5
        state[key] = (value, *items) if is_left else (*items, value)
        return request(b"LPUSH" if is_left else b"RPUSH", key, value), len(state[key])

    def do_part_move(self, source, state):
        one, other = source.sample(self.lists, 2)
        items = state.get(one, ())
        if items:
            keep(state, one, items[1:])
            state[other] = (*state.get(other, ()), items[0])
        return request(b"LMOVE", one, other, b"LEFT", b"RIGHT"), items[0] if items else None

    def do_part_set(self, source, state):
        key, member = source.choice(self.sets), b"m%d" % source.randrange(8)
        members = state.get(key, frozenset())
        if source.random() < 0.3:
            keep(state, key, members - {member})
            return request(b"SREM", key, member), int(member in members)
        state[key] = members | {member}
        return request(b"SADD", key, member), int(member not in members)

    def do_part_smove(self, source, state):
        (one, other), member = source.sample(self.sets, 2), b"m%d" % source.randrange(8)
        is_there = member in state.get(one, frozenset())
        if is_there:
            keep(state, one, state[one] - {member})
            state[other] = state.get(other, frozenset()) | {member}
        return request(b"SMOVE", one, other, member), int(is_there)

    def do_part_score(self, source, state):
        key, member, step = source.choice(self.sorted_sets), b"m%d" % source.randrange(8), source.randint(1, 9)
        scores = dict(state.get(key, {}))
        if source.random() < 0.2:
            found = scores.pop(member, None)
            keep(state, key, scores)
            return request(b"ZREM", key, member), int(found is not None)
        scores[member] = scores.get(member, 0) + step
        state[key] = scores
        return request(b"ZINCRBY", key, step, member), b"%d" % scores[member]


def keep(state, key, value):
    """Stores a collection, or removes it if it is empty."""
    if value:
        state[key] = value
    else:
        state.pop(key, None)


SUBJECTS = {
    "cache, durable port, many commands of memcached":
        kill_subjects.Subject(TextSequence, port="durable_port"),
    "cache, durable port, many commands of RESP":
        kill_subjects.Subject(RespSequence, port="durable_port"),
    "cache, usual port, the first of many commands of memcached":
        kill_subjects.Subject(TextSequence, may_lose=True),
    "cache, usual port, the first of many commands of RESP":
        kill_subjects.Subject(RespSequence, may_lose=True),
    "store, many commands of memcached":
        kill_subjects.Subject(TextSequence, kill_subjects.STORE),
    "store, many commands of RESP with collections":
        kill_subjects.Subject(RespSequence, kill_subjects.STORE, has_parts=True),
}
