"""Goal: `outlast db` does what it says, answers by its exit status, and names file and cause of what it
cannot do. Method: stores on a file system in memory and on a device, good ones and spoilt ones, and
databases that LevelDB's own library has made (left out where that is not installed)."""

import ctypes
import fcntl
import json
import mmap
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = ""
ROOM = ["--capacity", "16MB"]


def outlast(*arguments, stdin=b"", **others):
    """Exit status, output, and what it said on standard error."""
    ended = subprocess.run([TOOL, "db", *arguments], input=stdin, capture_output=True, timeout=120, **others)
    return ended.returncode, ended.stdout, ended.stderr.decode()


class StoreTest(unittest.TestCase):
    medium = "/dev/shm"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.medium, prefix="outlast-test-"))
        self.store = str(self.folder / "store")
        self.pool = self.folder / "store" / "store.pool"

    def tearDown(self):
        for each in self.folder.rglob("*"):
            if each.is_dir():
                each.chmod(0o755)
        shutil.rmtree(self.folder)

    def does(self, *arguments, stdin=b""):
        status, out, said = outlast(*arguments, stdin=stdin)
        self.assertEqual((status, said), (0, ""), arguments)
        return out

    def refuses(self, *arguments, says, status=2, **others):
        """The message names all of `says`."""
        ended, _, said = outlast(*arguments, **others)
        self.assertEqual(ended, status, said)
        for part in says:
            self.assertIn(part, said)

    def fill(self, entries):
        lines = ["# outlast dump 1, comparator leveldb.BytewiseComparator"]
        lines += [f"{key}\t{value}" for key, value in entries]
        lines += [f"# end, {len(entries)} keys", ""]
        return self.does("load", *ROOM, self.store, stdin="\n".join(lines).encode())


class Keys(StoreTest):
    def test_a_value_comes_back_byte_by_byte(self):
        value = bytes(range(256)) * 3
        self.does("put", "--create", *ROOM, self.store, "\\x00k\\\\", "--file", "-", stdin=value)
        self.assertEqual(self.does("get", "--raw", self.store, "\\x00k\\\\"), value)
        self.does("put", self.store, "", "\\xff\\x00")
        self.assertEqual(self.does("get", self.store, ""), b"\\xff\\x00\n")
        self.assertEqual(json.loads(self.does("get", "--json", self.store, "")),
                         {"key": "", "value": "\\xff\\x00"})
        self.does("put", self.store, "--", "-k", "-v")
        self.assertEqual(self.does("get", self.store, "--", "-k"), b"-v\n")

    def test_a_missing_key_is_status_1(self):
        self.fill([("a", "1")])
        self.refuses("get", self.store, "b", status=1, says=[self.store, "'b'"])
        self.refuses("delete", self.store, "b", status=1, says=[self.store, "'b'"])
        self.does("delete", self.store, "a")
        self.refuses("get", self.store, "a", status=1, says=["'a'"])

    def test_a_scan_keeps_to_its_range(self):
        self.fill([(key, "A") for key in ("a", "b1", "b2", "b3", "c", "\\xff")])

        def keys(*arguments):
            return self.does("scan", "--keys", self.store, *arguments).decode().split()

        self.assertEqual(keys(), ["a", "b1", "b2", "b3", "c", "\\xff"])
        self.assertEqual(keys("--reverse", "--limit", "2"), ["\\xff", "c"])
        self.assertEqual(keys("--from", "b1", "--to", "b3"), ["b1", "b2"])
        self.assertEqual(keys("--from", "b1", "--to", "b3", "--reverse"), ["b2", "b1"])
        self.assertEqual(keys("--prefix", "b", "--from", "b2"), ["b2", "b3"])
        self.assertEqual(keys("--prefix", "\\xff"), ["\\xff"])
        self.assertEqual(keys("--from", "z", "--to", "b"), [])
        self.assertEqual(self.does("scan", self.store, "--limit", "1"), b"a\tA\n")
        self.assertEqual(self.does("scan", "--json", self.store, "--limit", "1"),
                         b'{"key":"a","value":"A"}\n')

    def test_wrong_usage_is_status_2(self):
        self.fill([])
        self.refuses(says=["subcommand"])
        self.refuses("get", says=["store is required"])
        self.refuses("get", self.store, "a\\q", says=["a\\q", "backslash"])
        self.refuses("put", self.store, "a", says=["value"])
        self.refuses("put", self.store, "a", "--file", "/no/such/file",
                     says=["/no/such/file", "No such file"])
        self.refuses("scan", self.store, "--limit", "x", says=["--limit"])

    def test_stats_and_help_are_for_people_and_programs(self):
        self.fill([("a", "1")])
        self.assertEqual(json.loads(self.does("stats", "--json", self.store))["keys"], 1)
        self.assertIn(b"keys: 1\n", self.does("stats", self.store))
        self.assertIn(b"\\xNN", self.does("put", "--help"))
        self.does("destroy", self.store)
        self.assertFalse(os.path.exists(self.store))


class KeysOnADevice(Keys):
    medium = "."


class Dumps(StoreTest):
    entries = [("", "empty"), ("\\x23", "begins as a comment"), ("a\\x09\\x0a", "\\x00\\\\"), ("b", "")]

    def test_a_dump_is_loaded_exactly(self):
        self.assertEqual(self.fill(self.entries), b"4 keys\n")
        other = str(self.folder / "other")
        for form in ([], ["--json"]):
            dumped = self.does("dump", *form, self.store)
            self.does("load", *ROOM, other, stdin=dumped)
            self.assertEqual(self.does("dump", *form, other), dumped)
            self.does("destroy", other)
        file = str(self.folder / "file")
        self.does("dump", self.store, file)
        self.does("load", *ROOM, other, file)
        self.assertEqual(self.does("dump", other), pathlib.Path(file).read_bytes())

    def test_what_is_no_whole_dump_is_refused_with_its_line(self):
        self.fill(self.entries)
        good = self.does("dump", self.store).split(b"\n")
        file = self.folder / "file"

        def refused(lines, *says):
            file.write_bytes(b"\n".join(lines))
            self.refuses("load", self.store, str(file), says=[str(file), *says])

        refused([], "line 0", "empty")
        refused([b"nonsense"], "line 1", "not a dump")
        refused([b"# outlast dump 2, comparator x"], "line 1", "another version or comparator")
        refused(good[:3], "line 3", "missing")
        refused(good[:3] + good[4:], "line 5", "fewer or more")
        refused([good[0], b"no tab"], "line 2", "tab")
        refused([good[0], b"a\t\\z"], "line 2", "backslash")
        refused([b'{"outlast_dump":1,"comparator":"leveldb.BytewiseComparator"}', b"{"], "line 2")
        self.refuses("load", self.store, "/no/such/dump", says=["/no/such/dump", "No such file"])

    def test_a_store_that_is_too_small_is_told_with_its_remedy(self):
        lines = ["# outlast dump 1, comparator leveldb.BytewiseComparator"]
        lines += [f"key{i}\t{'x' * 100_000}" for i in range(200)] + ["# end, 200 keys", ""]
        dump = "\n".join(lines).encode()
        self.refuses("load", *ROOM, self.store, says=["no space", "--capacity"], stdin=dump)
        self.assertEqual(self.does("load", "--capacity", "64MB", str(self.folder / "large"), stdin=dump),
                         b"200 keys\n")

    def test_a_full_device_is_noticed(self):
        self.fill([("a", "1")])
        self.refuses("dump", self.store, "/dev/full", says=["/dev/full", "cannot write"])
        self.refuses("dump", self.store, "/no/such/folder/x", says=["/no/such/folder/x"])

    def test_a_backup_is_another_store(self):
        self.fill(self.entries)
        target = str(self.folder / "backup")
        self.assertEqual(self.does("backup", self.store, target), b"4 keys\n")
        self.assertEqual(self.does("dump", target), self.does("dump", self.store))
        self.does("check", target)
        self.refuses("backup", self.store, target, says=[target, "empty"])
        self.refuses("backup", self.store, "/no/such/folder/x", says=["/no/such/folder/x"])

    def test_a_backup_that_is_killed_is_whole_or_not_there(self):
        self.fill([(f"key{i}", "x" * 100) for i in range(5000)])
        whole = 0
        for attempt in range(6):
            target = self.folder / f"backup{attempt}"
            child = subprocess.Popen([TOOL, "db", "backup", self.store, str(target)],
                                     stdout=subprocess.DEVNULL)
            time.sleep(0.01 * attempt)
            child.send_signal(signal.SIGKILL)
            child.wait()
            if (target / "store.pool").exists():
                self.assertEqual(json.loads(self.does("stats", "--json", str(target)))["keys"], 5000)
                whole += 1
            else:
                self.does("backup", self.store, str(target))
            shutil.rmtree(target)
        self.does("check", self.store)


class DumpsOnADevice(Dumps):
    medium = "."


class BadStores(StoreTest):
    def spoil(self, damage):
        """Calls damage(bytes) with the pool of a good store."""
        self.fill([("key", "precious-" * 20), ("sound", "value")])
        self.damage(damage)

    def damage(self, damage):
        with open(self.pool, "r+b") as file, mmap.mmap(file.fileno(), 0) as bytes_of_it:
            damage(bytes_of_it)

    @staticmethod
    def damage_value(pool):
        """In each copy of the data. The file is sparse: it is not read from end to end."""
        at = pool.find(b"precious-precious")
        while at >= 0:
            pool[at + 3:at + 4] = b"!"
            at = pool.find(b"precious-precious", at + 1)

    def everything_refuses(self, *says):
        for command in (["get", self.store, "key"], ["put", self.store, "key", "v"], ["scan", self.store],
                        ["dump", self.store], ["stats", self.store],
                        ["backup", self.store, str(self.folder / "backup")]):
            self.refuses(*command, says=[str(self.pool), *says])
        self.assertFalse((self.folder / "backup").exists())

    def test_no_store(self):
        nowhere = str(self.folder / "nowhere")
        for command in (["get", nowhere, "k"], ["check", nowhere], ["repair", nowhere], ["destroy", nowhere],
                        ["stats", nowhere], ["put", nowhere, "k", "v"]):
            self.refuses(*command, says=[nowhere])
        self.assertFalse(os.path.exists(nowhere))
        self.refuses("put", "--create", nowhere + "/below", "k", "v", says=[nowhere, "No such file"])

    def test_a_foreign_file(self):
        os.mkdir(self.store)
        self.pool.write_bytes(b"something else " * 1000)
        self.everything_refuses("pool")
        self.assertEqual(self.pool.read_bytes(), b"something else " * 1000)
        status, out, _ = outlast("check", self.store)
        self.assertEqual(status, 1)
        self.assertIn(str(self.pool).encode(), out)

    def test_a_truncated_file(self):
        self.fill([("key", "value")])
        os.truncate(self.pool, 100_000)
        self.everything_refuses("cut off")

    def test_a_newer_format(self):
        try:
            xxhash = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
        except OSError:
            self.skipTest("libxxhash is not installed")
        xxhash.restype = ctypes.c_uint64
        xxhash.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

        def newer(pool):
            pool[16:20] = (99).to_bytes(4, "little")
            page = bytearray(pool[:4096])
            for start, size in ((56, 8), (2048, 64), (3072, 64)):
                page[start:start + size] = bytes(size)
            pool[56:64] = xxhash(bytes(page), 4096).to_bytes(8, "little")

        self.spoil(newer)
        self.everything_refuses("Not implemented", "version 99")

    def test_another_comparator(self):
        def rename(pool):
            at = pool.find(b"leveldb.BytewiseComparator")
            while at >= 0:
                pool[at:at + 7] = b"mydata."
                at = pool.find(b"leveldb.BytewiseComparator")

        self.fill([("key", "precious-" * 20), ("sound", "value")])
        self.does("convert", "--engine", "replicas", *ROOM, self.store)  # the other engine's header has a checksum
        self.damage(rename)
        for command in (["get", self.store, "key"], ["put", self.store, "key", "v"], ["scan", self.store],
                        ["delete", self.store, "key"], ["repair", self.store]):
            self.refuses(*command, says=[self.store, "'mydata..BytewiseComparator'", "--comparator"])
        self.does("check", self.store)
        self.assertEqual(self.does("get", "--comparator", "bytewise", self.store, "sound"), b"value\n")

    def test_a_damaged_header(self):
        self.spoil(lambda pool: pool.__setitem__(100, 0xff))
        self.everything_refuses("checksum")

    def test_a_damaged_value(self):
        self.spoil(self.damage_value)
        self.refuses("get", self.store, "key", says=["Corruption", "checksum"])
        status, out, _ = outlast("check", self.store)
        self.assertEqual(status, 1)
        self.assertIn(b"checksum", out)
        self.assertFalse(json.loads(outlast("check", "--json", self.store)[1])["sound"])
        self.refuses("dump", self.store, says=["checksum"])
        self.refuses("backup", self.store, str(self.folder / "backup"), says=[str(self.pool), "checksum"])

    def test_a_repair_keeps_the_rest(self):
        self.spoil(self.damage_value)
        said = self.does("repair", self.store)
        self.assertIn(b"1 keys kept", said)
        self.assertIn(b"1 keys lost", said)
        kept = self.folder / "store" / "lost" / "000001.pool"
        self.assertIn(str(kept).encode(), said)
        self.assertTrue(b"pre!ious" in kept.read_bytes())
        self.assertEqual(self.does("scan", self.store), b"sound\tvalue\n")
        self.does("check", self.store)
        self.does("destroy", self.store)
        self.assertFalse(os.path.exists(self.store))

    def test_a_store_in_use(self):
        self.fill([("key", "value")])
        with open(pathlib.Path(self.store) / "LOCK", "r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            for command in (["get", self.store, "key"], ["check", self.store], ["repair", self.store],
                            ["destroy", self.store]):
                self.refuses(*command, says=[self.store + "/LOCK"])
        self.assertEqual(self.does("get", self.store, "key"), b"value\n")

    def test_no_permission(self):
        others = {}
        if os.geteuid() == 0:  # who may do everything
            others = {"user": 65534, "group": 65534, "extra_groups": []}
            try:
                subprocess.run([TOOL, "version"], check=True, capture_output=True, **others)
            except (OSError, subprocess.SubprocessError):
                self.skipTest("the tool lies where nobody else may run it")
        self.fill([("key", "value")])
        os.chmod(self.folder, 0o755)
        os.chmod(self.store, 0o777)
        for each in pathlib.Path(self.store).iterdir():
            each.chmod(0o666)
        self.pool.chmod(0o444)
        self.refuses("put", self.store, "key", "v", says=[str(self.pool), "ermission"], **others)
        self.assertEqual(outlast("get", self.store, "key", **others), (0, b"value\n", ""))
        self.pool.chmod(0o000)
        self.refuses("get", self.store, "key", says=[str(self.pool), "ermission"], **others)
        (self.folder / "store" / "LOCK").chmod(0o444)
        self.refuses("get", self.store, "key", says=[self.store + "/LOCK", "ermission"], **others)

    def test_a_database_of_leveldbs_is_told_apart(self):
        os.mkdir(self.store)
        (self.folder / "store" / "CURRENT").write_text("MANIFEST-000001\n")
        self.refuses("get", self.store, "key", says=[self.store, "LevelDB", "import"])
        self.refuses("destroy", self.store, says=[self.store, "no store"])


class OtherOrders(StoreTest):
    """Stores whose keys are in the order of a program's own comparator: here the reverse."""

    engine = "replicas"
    dump = b"# outlast dump 1, comparator mydata.backwards\nc\t3\nba\t2\nb\t1\n\t0\n# end, 4 keys\n"

    def setUp(self):
        super().setUp()
        self.does("load", *ROOM, "--engine", self.engine, "--comparator", "reverse", self.store, stdin=self.dump)

    def files(self):
        """What the directory holds, and when it was changed."""
        return {each.name: (each.stat().st_mtime_ns, each.stat().st_size)
                for each in pathlib.Path(self.store).iterdir()}

    def test_what_needs_no_order_works_and_changes_nothing(self):
        before = self.files()
        self.assertNotIn("store.pool.redo", before)
        stats = json.loads(self.does("stats", "--json", self.store))
        self.assertEqual((stats["keys"], stats["comparator"]), (4, "mydata.backwards"))
        self.does("check", self.store)
        self.assertEqual(self.does("dump", self.store), self.dump)
        self.assertEqual(json.loads(self.does("dump", "--json", self.store).split(b"\n")[0])["comparator"],
                         "mydata.backwards")
        target = str(self.folder / "backup")
        self.assertEqual(self.does("backup", self.store, target), b"4 keys\n")
        self.assertEqual(self.does("dump", target), self.dump)
        self.assertEqual(self.does("get", "--comparator", "reverse", target, "ba"), b"2\n")
        self.assertEqual(self.files(), before)

    def test_the_rest_names_the_comparator_and_changes_nothing(self):
        before = self.files()
        for command in (["get", self.store, "b"], ["put", self.store, "b", "v"], ["delete", self.store, "b"],
                        ["scan", self.store], ["repair", self.store]):
            self.refuses(*command, says=[self.store, "'mydata.backwards'", "--comparator"])
        self.refuses("get", "--comparator", "bytewise", self.store, "b", says=["not in the order of --comparator", "'c'", "'ba'"])
        self.refuses("scan", "--comparator", "sideways", self.store, says=["--comparator"])
        other = str(self.folder / "other")
        self.refuses("load", *ROOM, other, says=["'mydata.backwards'"], stdin=self.dump)
        self.assertFalse(os.path.exists(other))
        self.assertEqual(self.files(), before)

    def test_an_order_that_is_named_is_used(self):
        order = ["--comparator", "reverse"]

        def keys(*arguments):
            return self.does("scan", "--keys", *order, self.store, *arguments).decode().split("\n")[:-1]

        self.assertEqual(keys(), ["c", "ba", "b", ""])
        self.assertEqual(keys("--reverse", "--limit", "2"), ["", "b"])
        self.assertEqual(keys("--from", "bb", "--to", "b"), ["ba"])
        self.assertEqual(keys("--prefix", "b"), ["ba", "b"])
        self.assertEqual(keys("--from", "b", "--reverse"), ["", "b"])
        self.does("put", *order, self.store, "bb", "4")
        self.does("delete", *order, self.store, "c")
        self.assertEqual(self.does("get", *order, self.store, "bb"), b"4\n")
        self.assertEqual(keys(), ["bb", "ba", "b", ""])
        self.assertIn(b"4 keys kept", self.does("repair", *order, self.store))
        self.assertEqual(keys(), ["bb", "ba", "b", ""])
        self.does("check", *order, self.store)

    def test_an_order_of_a_usual_name_needs_none(self):
        usual = str(self.folder / "usual")
        self.does("put", "--create", *ROOM, "--comparator", "reverse", usual, "a", "1")
        self.does("put", usual, "b", "2")
        self.assertEqual(self.does("scan", usual), b"b\t2\na\t1\n")
        self.assertEqual(json.loads(self.does("stats", "--json", usual))["comparator"],
                         "rocksdb.ReverseBytewiseComparator")
        self.refuses("get", "--comparator", "bytewise", usual, "a", says=["rocksdb.ReverseBytewiseComparator"])
        self.refuses("load", usual, stdin=self.dump.replace(b"mydata.backwards", b"leveldb.BytewiseComparator"),
                     says=["line 1", "leveldb.BytewiseComparator", "rocksdb.ReverseBytewiseComparator"])


class OtherOrdersOnADevice(OtherOrders):
    medium = "."


class OtherOrdersOfRecords(OtherOrders):
    """The records of such a store have no order before it is opened with one."""

    engine = "records"

    def test_what_needs_no_order_works_and_changes_nothing(self):
        before = self.files()
        stats = json.loads(self.does("stats", "--json", self.store))
        self.assertEqual((stats["keys"], stats["comparator"]), (4, "mydata.backwards"))
        self.does("check", self.store)
        target = str(self.folder / "backup")
        for command in (["dump", self.store], ["backup", self.store, target]):
            self.refuses(*command, says=[self.store, "'mydata.backwards'", "--comparator"])
        self.assertFalse(os.path.exists(target))
        order = ["--comparator", "reverse"]
        self.assertEqual(self.does("dump", *order, self.store), self.dump)
        self.assertEqual(self.does("backup", *order, self.store, target), b"4 keys\n")
        self.assertEqual(self.does("dump", *order, target), self.dump)
        self.assertEqual(self.files(), before)

    def test_the_rest_names_the_comparator_and_changes_nothing(self):
        before = self.files()
        for command in (["get", self.store, "b"], ["put", self.store, "b", "v"], ["delete", self.store, "b"],
                        ["scan", self.store], ["repair", self.store]):
            self.refuses(*command, says=[self.store, "'mydata.backwards'", "--comparator"])
        self.refuses("scan", "--comparator", "sideways", self.store, says=["--comparator"])
        self.assertEqual(self.files(), before)


class OtherOrdersOfRecordsOnADevice(OtherOrdersOfRecords):
    medium = "."


class Reading(StoreTest):
    def test_what_only_reads_changes_nothing(self):
        self.fill([(f"key{i}", "x" * 100) for i in range(100)])
        store = pathlib.Path(self.store)
        before = {each.name: (each.stat().st_mtime_ns, each.stat().st_blocks) for each in store.iterdir()}
        for command in (["get", self.store, "key7"], ["scan", self.store], ["dump", self.store],
                        ["stats", self.store], ["check", self.store],
                        ["backup", self.store, str(self.folder / "backup")]):
            self.does(*command)
        after = {each.name: (each.stat().st_mtime_ns, each.stat().st_blocks) for each in store.iterdir()}
        self.assertEqual(after, before)

    def test_a_dump_that_is_none_makes_no_store(self):
        self.refuses("load", *ROOM, self.store, stdin=b"nonsense\n", says=["line 1", "not a dump"])
        self.assertFalse(os.path.exists(self.store))


class ReadingOnADevice(Reading):
    medium = "."


class Backwards:
    """A comparator for LevelDB's interface for C."""

    def __init__(self, library, name):
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                   ctypes.c_void_p, ctypes.c_size_t)
        name_of = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        self.name = ctypes.create_string_buffer(name)
        self.calls = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None), compare(self.compare),
                      name_of(lambda _: ctypes.addressof(self.name)))
        library.leveldb_comparator_create.restype = ctypes.c_void_p
        self.made = ctypes.c_void_p(library.leveldb_comparator_create(None, *self.calls))

    @staticmethod
    def compare(_, a, a_size, b, b_size):
        first, second = ctypes.string_at(a, a_size), ctypes.string_at(b, b_size)
        return (second > first) - (second < first)


class LevelDB:
    """A database of LevelDB's, made by its library. `order`: the name of its comparator, by which keys run backwards."""

    def __init__(self, directory, order=None):
        self.library = ctypes.CDLL("libleveldb.so.1d")
        for name in ("options_create", "writeoptions_create", "open"):
            getattr(self.library, "leveldb_" + name).restype = ctypes.c_void_p
        options = ctypes.c_void_p(self.library.leveldb_options_create())
        if order:
            self.order = Backwards(self.library, order)
            self.library.leveldb_options_set_comparator(options, self.order.made)
        self.library.leveldb_options_set_create_if_missing(options, ctypes.c_ubyte(1))
        self.error = ctypes.c_char_p()
        opened = self.library.leveldb_open(options, str(directory).encode(), ctypes.byref(self.error))
        self.db = ctypes.c_void_p(opened)
        self.writing = ctypes.c_void_p(self.library.leveldb_writeoptions_create())

    def put(self, key, value):
        self.library.leveldb_put(self.db, self.writing, key, ctypes.c_size_t(len(key)), value,
                                 ctypes.c_size_t(len(value)), ctypes.byref(self.error))

    def close(self):
        self.library.leveldb_close(self.db)


class Imports(StoreTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "leveldb"
        try:
            ctypes.CDLL("libleveldb.so.1d")
        except OSError:
            self.skipTest("libleveldb1d is not installed")

    def test_all_keys_arrive_and_the_source_stays(self):
        made = LevelDB(self.source)
        entries = {bytes([i % 256, i // 256]) + b"k": bytes([i % 251]) * (i % 300) for i in range(3000)}
        entries[b""] = b"\0" * 100_000
        for key, value in entries.items():
            made.put(key, value)
        made.close()
        for _ in range(2):  # the source is as it was
            self.assertEqual(self.does("import", *ROOM, str(self.source), self.store), b"3001 keys\n")
            self.does("check", self.store)
            self.assertEqual(self.does("get", "--raw", self.store, ""), entries[b""])
            self.assertEqual(self.does("get", "--raw", self.store, "\\x07\\x01k"), entries[b"\7\1k"])
            self.does("destroy", self.store)
        self.assertFalse((self.folder / "store.importing").exists())

    def test_what_cannot_be_imported_is_named(self):
        nowhere = str(self.folder / "nowhere")
        self.refuses("import", nowhere, self.store, says=[nowhere, "CURRENT"])
        self.assertFalse(os.path.exists(nowhere))
        LevelDB(self.source).close()
        (self.source / "CURRENT").write_text("nonsense\n")
        self.refuses("import", str(self.source), self.store, says=[str(self.source), "LevelDB reports"])
        self.assertFalse(os.path.exists(self.store))
        self.fill([("a", "1")])
        self.refuses("import", str(self.source), self.store, says=[self.store, "already"])

    def test_a_damaged_database_leaves_no_store(self):
        made = LevelDB(self.source)
        for i in range(20_000):
            made.put(b"%08d" % i, b"x" * 100)
        made.close()
        LevelDB(self.source).close()  # from the log to a table
        for table in self.source.glob("*.ldb"):
            data = bytearray(table.read_bytes())
            data[len(data) // 2:len(data) // 2 + 64] = b"\xa5" * 64
            table.write_bytes(data)
        self.refuses("import", str(self.source), self.store, says=["LevelDB reports"])
        self.assertEqual([each.name for each in self.folder.iterdir()], ["leveldb"])

    def test_an_order_of_a_programs_own_is_kept(self):
        made = LevelDB(self.source, b"mydata.backwards")
        for key in (b"a", b"c", b"b"):
            made.put(key, key * 2)
        made.close()
        self.refuses("import", *ROOM, str(self.source), self.store,
                     says=[str(self.source), "'mydata.backwards'", "--comparator"])
        self.assertEqual([each.name for each in self.folder.iterdir()], ["leveldb"])
        order = ["--comparator", "reverse"]
        self.assertEqual(self.does("import", *ROOM, *order, str(self.source), self.store), b"3 keys\n")
        self.assertEqual(self.does("scan", *order, self.store), b"c\tcc\nb\tbb\na\taa\n")
        self.assertIn(b"comparator mydata.backwards\n", self.does("dump", *order, self.store))

    def test_a_missing_library_is_named_with_its_package(self):
        LevelDB(self.source).close()
        self.refuses("import", "--library", "libnone.so", str(self.source), self.store,
                     says=["libnone.so", "libleveldb1d"])


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
