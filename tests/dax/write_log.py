"""Images of a disk that lost power, from a log of all that was written to it.

The log is that of QEMU's blklogwrites (the format of Linux's dm-log-writes): writes, discards and flushes in order. A
disk may lose what was written after the last flush, or tear it between two sectors; what was flushed stays.
"""

import dataclasses
import random
import shutil
import struct

MAGIC = 0x6A736677736872
SECTOR = 512
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8


@dataclasses.dataclass
class Entry:
    first: int  # byte of the disk
    size: int
    flags: int
    at: int  # where the log has its data

    @property
    def is_flush(self):
        return bool(self.flags & FLUSH)


def entries(path):
    """All entries. The number in the header lags behind after a kill: what looks like an entry behind it is one."""
    with open(path, "rb") as log:
        magic, version, count, sector = struct.unpack("<QQQI", log.read(28))
        if (magic, version) != (MAGIC, 1):
            raise ValueError(f"{path} is no log of writes")
        log.seek(0, 2)
        end, position, found = log.tell(), sector, []
        while position + 32 <= end:
            log.seek(position)
            first, size, flags, _ = struct.unpack("<QQQQ", log.read(32))
            if len(found) >= count and (flags > 15 or (flags == 0 and size == 0)):
                break
            data = 0 if flags & DISCARD else size * sector
            if flags & MARK or position + sector + data > end:
                break
            found.append(Entry(first * sector, size * sector, flags, position + sector))
            position += sector + data
        return found


def make_image(log, base, image, prefix, seed=None, ignored_flushes=0):
    """The disk after these entries. With a seed it had a volatile cache: of what was written after the last flush
    each write is kept, lost or torn. `ignored_flushes` last flushes were no flushes: a disk that lies."""
    flushes = [place for place, entry in enumerate(prefix) if entry.is_flush]
    if ignored_flushes:
        flushes = flushes[:-ignored_flushes]
    safe = flushes[-1] if flushes else -1
    draw = random.Random(f"{seed}/{len(prefix)}")
    shutil.copyfile(base, image)
    with open(log, "rb") as source, open(image, "r+b") as disk:
        for place, entry in enumerate(prefix):
            if not entry.size:
                continue
            keep = entry.size
            if seed is not None and place > safe and not entry.flags & FUA:
                keep = draw.choice([0, entry.size, draw.randrange(entry.size // SECTOR + 1) * SECTOR])
            source.seek(entry.at)
            data = bytes(entry.size) if entry.flags & DISCARD else source.read(entry.size)
            disk.seek(entry.first)
            disk.write(data[:keep])
