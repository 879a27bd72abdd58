"""Packs pool files, which are mostly holes, for the repository, and unpacks them.

usage: pack.py pack|unpack FROM TO

Packed are the pages that are not all zeros, each with its number, and the length of the file; all of it
compressed by lzma. FROM and TO are folders: NAME.pool becomes NAME.pool.xz, and the other way round."""

import lzma
import pathlib
import struct
import sys

PAGE = 4096
HEAD = struct.Struct("<Q")


def pack(source, target):
    data = source.read_bytes()
    parts = [HEAD.pack(len(data))]
    for number in range(0, (len(data) + PAGE - 1) // PAGE):
        page = data[number * PAGE:(number + 1) * PAGE]
        if page.strip(b"\0"):
            parts += [HEAD.pack(number), page.ljust(PAGE, b"\0")]
    (target / f"{source.name}.xz").write_bytes(lzma.compress(b"".join(parts), preset=9 | lzma.PRESET_EXTREME))


def unpack(source, target):
    data = lzma.decompress(source.read_bytes())
    with open(target / source.stem, "wb") as file:
        for at in range(HEAD.size, len(data), HEAD.size + PAGE):
            file.seek(HEAD.unpack_from(data, at)[0] * PAGE)
            file.write(data[at + HEAD.size:at + HEAD.size + PAGE])
        file.truncate(HEAD.unpack_from(data)[0])


def main(how, source, target):
    action, ending = {"pack": (pack, "*.pool"), "unpack": (unpack, "*.pool.xz")}[how]
    target.mkdir(parents=True, exist_ok=True)
    for each in sorted(source.glob(ending)):
        action(each, target)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
