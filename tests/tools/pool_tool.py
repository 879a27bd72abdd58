"""Goal: `outlast inspect`, `stats`, `check`, `backup` and `upgrade` say what a pool is, and change nothing that they
should not. Method: pools of stores, closed and open, killed and spoilt, in memory and behind a log."""

import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = ""


def outlast(*arguments, stdin=b""):
    """Exit status, output, and what it said on standard error."""
    ended = subprocess.run([TOOL, *map(str, arguments)], input=stdin, capture_output=True, timeout=120)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def dump_of(keys):
    lines = ["# outlast dump 1, comparator leveldb.BytewiseComparator"]
    return "\n".join(lines + [f"{key}\t{100 * 'v'}" for key in keys]) + "\n"


class PoolTest(unittest.TestCase):
    medium = "/dev/shm"

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.medium, prefix="outlast-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = self.folder / "store"
        self.pool = self.store / "store.pool"
        self.copy = self.folder / "copy.pool"
        self.does("db", "put", "--create", "--engine", "replicas", "--capacity", "16MB", self.store, "a", "1")

    def does(self, *arguments):
        status, out, said = outlast(*arguments)
        self.assertEqual((status, said), (0, ""), arguments)
        return out

    def says(self, *arguments):
        return json.loads(self.does(*arguments, "--json"))

    def refuses(self, *arguments, says, status=2):
        ended, out, said = outlast(*arguments)
        self.assertEqual(ended, status, said + out)
        for part in says:
            self.assertIn(part, said + out)

    def opened(self):
        """A process that has the store open and is writing keys."""
        child = subprocess.Popen([TOOL, "db", "load", self.store], stdin=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        child.stdin.write(dump_of(f"k{i:05}" for i in range(20000)).encode())
        child.stdin.flush()
        until = time.monotonic() + 60
        while json.loads(outlast("inspect", "--json", self.pool)[1])["open_in_process"] != child.pid:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        return child

    def kill(self, child):
        time.sleep(0.5)  # it writes meanwhile
        child.send_signal(signal.SIGKILL)
        child.wait()

    def spoil(self, offset, data):
        with open(self.pool, "r+b") as file:
            file.seek(offset)
            file.write(data)


class Inspect(PoolTest):
    def test_it_shows_roots_types_sizes_and_what_survives(self):
        shown = self.says("inspect", self.pool)
        self.assertEqual((shown["mark"], shown["format_version"]), ("clean", 2))
        self.assertEqual([root["name"] for root in shown["roots"]], ["store"])
        self.assertEqual(shown["roots"][0]["type"], "transactions")
        self.assertIn("survives", shown["guarantee"])
        used = shown["usage"]
        self.assertEqual(used["used_bytes"] + used["free_bytes"], used["data_bytes"])
        self.assertLessEqual(used["largest_free_bytes"], used["free_bytes"])
        self.assertTrue(0 <= used["fragmentation"] < 1)
        self.assertGreater(shown["roots"][0]["small_blocks_in_use_bytes"], 0)
        self.assertTrue(0 < shown["roots"][0]["small_blocks_filled"] <= 1)
        self.assertIn("fragmentation: ", self.does("inspect", self.pool))

    def test_it_shows_the_version_that_created_the_pool(self):
        version = self.says("version")["version"]
        self.assertEqual(self.says("inspect", self.pool)["creator"], f"outlast {version}")

    def test_it_shows_in_which_file_a_pool_was_open(self):
        self.assertIsNone(self.says("inspect", self.pool)["opened_in_file"])
        self.kill(self.opened())
        shown = self.says("inspect", self.pool)["opened_in_file"]
        self.assertEqual((shown["inode"], shown["this_file"]), (os.stat(self.pool).st_ino, True))
        self.assertIn("opened_in_file: ", self.does("inspect", self.pool))
        shutil.copy(self.pool, self.copy)
        self.assertEqual(self.says("inspect", self.copy)["opened_in_file"], shown | {"this_file": False})

    def test_what_is_not_there_is_status_2(self):
        self.refuses("inspect", self.folder / "none", says=["none", "No such file"])
        self.refuses("inspect", self.folder, says=["no regular file"])

    def test_a_damaged_header_is_status_1(self):
        self.spoil(64, b"spoilt")
        self.refuses("inspect", self.pool, status=1, says=["problem"])


class Stats(PoolTest):
    KEYS = ["file", "format_version", "mark", "open_in_process", "space", "tail", "tables", "roots", "regions"]
    OF_OWNERS = ["index", "name", "state", "held_bytes", "live_bytes", "retained_bytes", "small_block_bytes", "runs",
                 "end_offset"]

    def adds_up(self, shown):
        space = shown["space"]
        parts = ("table_bytes", "root_bytes", "region_bytes", "unowned_bytes", "free_bytes")
        self.assertEqual(space["pool_bytes"], sum(space[part] for part in parts))
        self.assertEqual(space["root_bytes"] + space["region_bytes"],
                         space["live_bytes"] + space["retained_bytes"] + space["unknown_bytes"])
        self.assertEqual(space["root_bytes"], sum(root["held_bytes"] for root in shown["roots"]))
        self.assertEqual(space["region_bytes"], sum(region["held_bytes"] for region in shown["regions"]))
        self.assertEqual(space["file_bytes"], os.stat(self.pool).st_size)

    def test_it_shows_live_free_and_retained_bytes(self):
        before = self.pool.read_bytes()
        shown = self.says("stats", self.pool)
        self.assertEqual(self.pool.read_bytes(), before)
        self.assertEqual(list(shown), self.KEYS)
        self.adds_up(shown)
        self.assertEqual(shown["mark"], "clean")
        self.assertEqual(shown["space"]["unknown_bytes"], 0)
        self.assertEqual([table["name"] for table in shown["tables"]], ["page descriptors", "roots", "regions"])
        root = shown["roots"][0]
        self.assertEqual(list(root), self.OF_OWNERS)
        self.assertEqual(root["held_bytes"], root["live_bytes"] + root["retained_bytes"])
        self.assertEqual([region["name"] for region in shown["regions"]], ["tx:store"])
        last = max(shown["roots"] + shown["regions"], key=lambda owner: owner["end_offset"])
        self.assertEqual((shown["tail"]["name"], shown["tail"]["end_offset"]), (last["name"], last["end_offset"]))
        text = self.does("stats", self.pool)
        self.assertIn("cut_bytes: ", text)
        self.assertIn("  store: index 0, state live, held_bytes ", text)

    def test_it_states_what_is_unknown_until_a_recovery(self):
        self.kill(self.opened())
        shown = self.says("stats", self.pool)
        self.adds_up(shown)
        self.assertEqual(shown["mark"], "dirty")
        self.assertIsNone(shown["roots"][0]["live_bytes"])
        self.assertEqual(shown["space"]["unknown_bytes"], shown["roots"][0]["held_bytes"])
        self.assertIn("live_bytes unknown until recovered", self.does("stats", self.pool))

    def test_it_shows_a_pool_that_a_process_has_open(self):
        child = self.opened()
        self.assertEqual(self.says("stats", self.pool)["open_in_process"], child.pid)

    def test_what_is_not_there_is_status_2(self):
        self.refuses("stats", self.folder / "none", says=["none", "No such file"])
        self.refuses("stats", self.folder, says=["no regular file"])
        status, out, _ = outlast("stats", "--json", self.folder / "none")
        self.assertEqual((status, list(json.loads(out))), (2, ["error"]))

    def test_a_damaged_header_is_status_1(self):
        self.spoil(64, b"spoilt")
        self.refuses("stats", self.pool, status=1, says=["problem"])
        self.assertEqual(json.loads(outlast("stats", "--json", self.pool)[1])["problem"],
                         json.loads(outlast("inspect", "--json", self.pool)[1])["problem"])

    def test_a_truncated_file_is_status_1(self):
        os.truncate(self.pool, os.stat(self.pool).st_size - 4096)
        self.refuses("stats", self.pool, status=1, says=["problem", "shorter"])


class Check(PoolTest):
    def test_a_sound_pool_is_status_0(self):
        self.assertEqual(self.does("check", self.pool), f"{self.pool}: sound\n")
        self.assertEqual(self.says("check", self.pool), {"file": str(self.pool), "sound": True, "findings": []})

    def test_damage_is_status_1(self):
        self.spoil(64, b"spoilt")
        self.refuses("check", self.pool, status=1, says=["error"])
        status, out, _ = outlast("check", "--json", self.pool)
        self.assertEqual((status, json.loads(out)["sound"]), (1, False))

    def test_what_cannot_be_looked_at_is_status_2(self):
        self.refuses("check", self.folder / "none", says=["none", "No such file"])
        self.refuses("check", self.folder, says=["no regular file"])
        status, out, _ = outlast("check", "--json", self.folder / "none")
        self.assertEqual(status, 2)
        self.assertIn("No such file", json.loads(out)["error"])
        self.refuses("check", says=["file is required"])

    def test_an_open_pool_is_a_warning_and_stays_as_it_is(self):
        self.opened()
        found = self.says("check", self.pool)
        self.assertIn("warning", [each["level"] for each in found["findings"]])


    def test_a_copy_of_an_open_pool_is_status_1_and_its_store_is_not_opened(self):
        self.opened()
        other = self.folder / "other"
        other.mkdir()
        shutil.copy(self.pool, other / "store.pool")
        self.refuses("check", other / "store.pool", status=1, says=["copy", "outlast backup", "open_torn"])
        self.refuses("db", "get", other, "a", says=["copy of a pool that was not closed"])
        self.does("db", "repair", other)
        self.assertEqual(self.does("db", "get", other, "a"), "1\n")

    def test_it_takes_no_space(self):
        store = self.folder / "wide"  # as long as stores are unless said otherwise
        pool = store / "store.pool"
        self.does("db", "put", "--create", store, "a", "1")
        before = os.stat(pool).st_blocks
        self.does("check", pool)
        self.does("inspect", pool)
        self.does("stats", pool)
        self.assertEqual(os.stat(pool).st_blocks, before)
        self.does("db", "check", store)
        self.assertLess(os.stat(pool).st_blocks - before, 1024)  # what opening the store takes


class Limits(PoolTest):
    medium = "."

    def fails_under(self, which, limit, says):
        lowered = lambda: resource.setrlimit(which, (limit, resource.getrlimit(which)[1]))
        if subprocess.run([TOOL, "--help"], capture_output=True, preexec_fn=lowered).returncode != 0:
            self.skipTest("a sanitizer takes more for itself")
        ended = subprocess.run([TOOL, "db", "put", "--create", "--engine", "replicas", self.folder / "other", "a", "1"], capture_output=True,
                               timeout=120, preexec_fn=lowered)
        self.assertEqual(ended.returncode, 2)
        for part in says:
            self.assertIn(part, ended.stderr.decode())
        self.assertEqual([], [each.name for each in (self.folder / "other").glob("store*")])

    def test_of_a_process_are_named_where_a_store_of_the_usual_size_does_not_fit(self):
        self.fails_under(resource.RLIMIT_FSIZE, 3 << 30, says=["RLIMIT_FSIZE", str(3 << 30), "ulimit -f"])
        self.fails_under(resource.RLIMIT_AS, 20 << 30, says=["RLIMIT_AS", str(20 << 30), "ulimit -v"])

    def test_of_address_space_are_named_for_the_replicas_of_a_store(self):
        if shutil.disk_usage(self.folder).free < 64 << 30:
            self.skipTest("the usual capacity of a store is less where the file system has less room")
        self.fails_under(resource.RLIMIT_AS, 400 << 30, says=["RLIMIT_AS", "ulimit -v"])


class Backup(PoolTest):
    def keys_of(self, pool):
        """What a store says whose pool this is."""
        other = self.folder / "other"
        other.mkdir()
        for ending in ("", ".redo"):
            if os.path.exists(f"{pool}{ending}"):
                shutil.move(f"{pool}{ending}", other / f"store.pool{ending}")
        return self.does("db", "scan", "--keys", other).split()

    def test_a_copy_holds_what_the_pool_holds(self):
        before = self.pool.read_bytes()
        done = self.says("backup", self.pool, self.copy)
        self.assertEqual((done["mark"], done["log_batches"], done["copy"]), ("clean", 0, str(self.copy)))
        self.assertEqual(self.copy.read_bytes(), before)
        self.assertEqual(self.pool.read_bytes(), before)
        self.assertEqual(self.copy.stat().st_mode, self.pool.stat().st_mode)
        self.assertLess(self.copy.stat().st_blocks, self.copy.stat().st_size / 512)
        self.assertEqual(self.keys_of(self.copy), ["a"])

    def test_a_folder_gets_a_file_of_the_same_name(self):
        self.does("backup", self.pool, self.folder)
        self.assertTrue((self.folder / "store.pool").is_file())

    def test_nothing_is_replaced(self):
        self.copy.write_text("precious")
        self.refuses("backup", self.pool, self.copy, says=[str(self.copy), "already"])
        self.assertEqual(self.copy.read_text(), "precious")

    def test_an_open_pool_is_refused_with_its_process(self):
        child = self.opened()
        self.refuses("backup", self.pool, self.copy, says=[str(self.pool), str(child.pid)])
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["store"])

    def test_an_unsound_pool_is_status_1_and_leaves_no_copy(self):
        shown = self.says("inspect", self.pool)
        # A run of pages that reaches beyond the pool.
        self.spoil(self.line_of(shown["regions"][0]["offset"]) + 4, struct.pack("<I", 0x7fffffff))
        self.refuses("backup", self.pool, self.copy, status=1, says=["error"])
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["store"])

    def line_of(self, offset):
        """Where the descriptor of the page at `offset` is: docs/formats/pool-2.md."""
        image = self.pool.read_bytes()
        table, table_bytes = struct.unpack_from("<QQ", image, 120)
        page, first_chunk = offset // 4096, table_bytes // 64
        if page < first_chunk:
            return table + page * 64
        chunk = (page // first_chunk).bit_length()
        at = struct.unpack_from("<I", image, table - 4096 + 8 * chunk)[0]
        return at * 4096 + (page - first_chunk * 2 ** (chunk - 1)) * 64

    def test_a_store_is_for_another_command(self):
        self.refuses("backup", self.store, self.copy, says=["outlast db backup"])

    def test_where_no_file_can_be_made_nothing_is(self):
        self.refuses("backup", self.pool, "/dev/full", says=["already"])
        self.refuses("backup", self.pool, "/proc/copy.pool", says=["/proc/copy.pool"])

    def test_a_killed_pool_is_copied_when_that_is_asked_for(self):
        self.kill(self.opened())
        self.refuses("backup", self.pool, self.copy, says=["was not closed", "--unclosed"])
        self.assertEqual(self.says("backup", "--unclosed", self.pool, self.copy)["mark"], "dirty")
        self.assertEqual(self.keys_of(self.copy), self.does("db", "scan", "--keys", self.store).split())


class BackupBehindALog(PoolTest):
    medium = "."

    def test_what_the_log_holds_is_in_the_copy(self):
        self.kill(self.opened())
        done = self.says("backup", self.pool, self.copy)
        self.assertGreater(done["log_batches"], 0)
        keys = Backup.keys_of(self, self.copy)
        self.assertGreater(len(keys), 1000)
        self.assertEqual(keys, self.does("db", "scan", "--keys", self.store).split())

    def test_a_pool_without_its_log_is_not_sound(self):
        self.kill(self.opened())
        os.unlink(f"{self.pool}.redo")
        self.refuses("check", self.pool, status=1, says=["redo log"])
        self.refuses("backup", self.pool, self.copy, says=["redo log", "missing"])


class Upgrade(PoolTest):
    VERSION = 16  # where the header has it: docs/formats/pool.md

    def test_a_store_of_version_1_holds_what_it_held(self):
        golden = pathlib.Path(__file__).parent.parent / "layout"
        subprocess.run([sys.executable, golden / "pack.py", "unpack", golden / "golden", self.folder / "golden"], check=True)
        shutil.copy(self.folder / "golden" / "store-closed.pool", self.pool)
        before = self.does("db", "scan", self.store)
        self.assertIn("\n", before)
        self.assertEqual(self.says("upgrade", self.pool),
                         {"file": str(self.pool), "format_version": 2, "before": 1, "newest": 2, "changed": True})
        self.assertEqual(self.says("inspect", self.pool)["format_version"], 2)
        self.assertEqual(self.does("db", "scan", self.store), before)
        self.does("check", self.pool)

    def test_the_newest_format_needs_nothing(self):
        before = self.pool.read_bytes()
        self.assertIn("nothing to do", self.does("upgrade", self.pool))
        self.assertEqual(self.says("upgrade", self.pool),
                         {"file": str(self.pool), "format_version": 2, "before": 2, "newest": 2, "changed": False})
        self.assertEqual(self.pool.read_bytes(), before)

    def test_a_version_in_a_damaged_header_is_not_believed(self):
        self.spoil(self.VERSION, struct.pack("<I", 7))
        self.refuses("upgrade", self.pool, says=[str(self.pool), "damaged", "checksum"])

    def test_other_files_are_refused(self):
        self.copy.write_bytes(b"x" * 8192)
        self.refuses("upgrade", self.copy, says=["not a pool"])
        self.refuses("upgrade", self.folder / "none", says=["none"])

    def test_an_open_pool_is_refused(self):
        child = self.opened()
        self.refuses("upgrade", self.pool, says=[str(child.pid)])


class Version(unittest.TestCase):
    def test_it_is_for_programs_too(self):
        status, out, _ = outlast("version", "--json")
        self.assertEqual((status, json.loads(out)["newest_format_version"]), (0, 2))


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
