#!/usr/bin/env python3
"""Logs of writes to a disk, and what a disk may be after a power cut."""

import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import write_log  # noqa: E402

SECTOR = write_log.SECTOR


def sectors(letter, count=1):
    return letter.encode() * (SECTOR * count)


class WriteLog(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "base").write_bytes(sectors("-", 4))

    def log(self, *entries, counted=None):
        """Entries: (sector of the disk, data, flags). `counted`: what the header says."""
        parts = [struct.pack("<QQQI", write_log.MAGIC, 1, len(entries) if counted is None else counted, SECTOR)]
        for first, data, flags in entries:
            parts.append(struct.pack("<QQQQ", first, len(data) // SECTOR, flags, 0))
            if data and not flags & write_log.DISCARD:
                parts.append(data)
        padded = b"".join(part + bytes(-len(part) % SECTOR) for part in parts)
        (self.folder / "log").write_bytes(padded + bytes(8 * SECTOR))

    def disk(self, prefix=None, **how):
        entries = write_log.entries(self.folder / "log")
        write_log.make_image(self.folder / "log", self.folder / "base", self.folder / "image",
                             entries if prefix is None else entries[:prefix], **how)
        return (self.folder / "image").read_bytes()

    def test_all_entries_are_applied_in_order(self):
        self.log((0, sectors("a", 2), 0), (1, sectors("b"), 0), (0, b"", write_log.FLUSH), (3, sectors("c"), 0))
        self.assertEqual(self.disk(), sectors("a") + sectors("b") + sectors("-") + sectors("c"))
        self.assertEqual(self.disk(prefix=1), sectors("a", 2) + sectors("-", 2))

    def test_a_discard_leaves_zeros(self):
        self.log((0, sectors("a", 2), 0), (0, sectors("x"), write_log.DISCARD))
        self.assertEqual(self.disk()[:SECTOR], bytes(SECTOR))

    def test_entries_behind_a_header_that_lags_are_found(self):
        self.log((0, sectors("a"), 0), (1, sectors("b"), 0), counted=0)
        self.assertEqual(len(write_log.entries(self.folder / "log")), 2)

    def test_what_is_no_log_is_refused(self):
        (self.folder / "log").write_bytes(bytes(SECTOR))
        with self.assertRaises(ValueError):
            write_log.entries(self.folder / "log")

    def test_what_was_flushed_stays_and_the_rest_is_kept_lost_or_torn(self):
        self.log((0, sectors("a"), 0), (0, b"", write_log.FLUSH), (1, sectors("b", 2), 0), (3, sectors("f"), write_log.FUA))
        seen = set()
        for seed in range(60):
            disk = self.disk(seed=seed)
            self.assertEqual((disk[:SECTOR], disk[3 * SECTOR:]), (sectors("a"), sectors("f")))
            seen.add(disk[SECTOR:3 * SECTOR])
        self.assertEqual(seen, {sectors("-", 2), sectors("b") + sectors("-"), sectors("b", 2)})

    def test_a_disk_that_lies_loses_what_it_has_flushed(self):
        self.log((0, sectors("a"), 0), (0, b"", write_log.FLUSH))
        self.assertIn(sectors("-"), {self.disk(seed=seed, ignored_flushes=1)[:SECTOR] for seed in range(20)})


if __name__ == "__main__":
    unittest.main()
