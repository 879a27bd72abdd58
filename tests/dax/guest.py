"""A machine for one command: a Debian kernel and an initial file system under QEMU, with emulated persistent memory or a
disk, whose power can be cut. Needs no root and no KVM, but the packages of `tools/install-dependencies dax`.

A power cut is a kill of the emulator: registers, memory and caches of the file system are gone; what was stored to the
device stays, flushed or not. So it tests recovery, mappings and the file system's metadata, not single flushes: those
are the verifier's affair.
"""

import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
APPLETS = "sh mount umount insmod cat sleep poweroff sync mkdir echo grep dd tr ls head tail rm".split()
DRIVERS = "virtio_pci virtio_console virtio_blk nfit nd_pmem virtio_pmem device_dax dax_pmem xfs".split()
CUT, TIMED_OUT, NO_STATUS, NOT_MOUNTED = 252, 251, 250, 249
MEBIBYTE = 1 << 20


def tool(name):
    found = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if found is None:
        raise SystemExit(f"{name} is missing: tools/install-dependencies dax installs it")
    return found


def with_libraries(program):
    """A program and the libraries that it is linked with."""
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    return [str(program), *re.findall(r"(/[^ :()]+)", said)]


class Kernel:
    """Debian's kernel for virtual machines, unpacked and never installed, and what every guest has."""

    def __init__(self, cache):
        self.cache = pathlib.Path(cache)
        if not (self.cache / "ready").exists():
            self.fetch()
        self.modules = next((self.cache / "lib/modules").iterdir())
        self.image = self.cache / "boot" / f"vmlinuz-{self.modules.name}"
        self.base = self.cache / "base.cpio"
        if not self.base.exists() or self.base.stat().st_mtime < (HERE / "init").stat().st_mtime:
            self.make_base()

    def fetch(self):
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir(parents=True)
        said = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True,
                              check=True).stdout
        package = re.search(r"Depends: (linux-image-\S+)", said)
        if package is None:
            raise SystemExit("no linux-image-cloud-amd64 in the lists of packages: apt-get update")
        subprocess.run(["apt-get", "-qq", "download", package[1]], cwd=self.cache, check=True)
        for archive in self.cache.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", archive.name, "."], cwd=self.cache, check=True)
            archive.unlink()
        version = next((self.cache / "lib/modules").iterdir()).name
        subprocess.run([tool("depmod"), "-b", str(self.cache), version], check=True)
        (self.cache / "ready").touch()

    def drivers(self):
        """The modules' files in the order in which they can be loaded."""
        needs = {}
        for line in (self.modules / "modules.dep").read_text().splitlines():
            path, others = line.split(":")
            name = pathlib.Path(path).name.split(".")[0].replace("-", "_")
            needs[name] = [*reversed(others.split()), path]
        return dict.fromkeys(path for driver in DRIVERS for path in needs.get(driver, []))

    def make_base(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("bin", "proc", "sys", "dev", "tmp", "etc", "modules", "mnt/pool"):
                (root / name).mkdir(parents=True)
            for name, place in (("busybox", "busybox"), ("ndctl", "ndctl"), ("mkfs.xfs", "mkfs.xfs"), ("mke2fs", "mkfs.ext4")):
                put(root, tool(name), "/bin/" + place)
            for applet in APPLETS:
                (root / "bin" / applet).symlink_to("busybox")
            if pathlib.Path("/etc/mke2fs.conf").exists():
                shutil.copy("/etc/mke2fs.conf", root / "etc")
            for path in self.drivers():
                shutil.copy(self.modules / path, root / "modules")
            order = "".join(pathlib.Path(path).name + "\n" for path in self.drivers())
            (root / "modules/order").write_text(order)
            shutil.copy(HERE / "init", root / "init")
            (root / "init").chmod(0o755)
            pack(root, self.base)


def put(root, file, place=None):
    """Copies a file with its libraries into the guest's root."""
    for source in with_libraries(file):
        target = root / (place if place and source == str(file) else source).lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def pack(root, archive):
    names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    with open(archive, "wb") as out:
        subprocess.run([tool("cpio"), "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=root, input=names, stdout=out,
                       check=True)


@dataclasses.dataclass
class Outcome:
    status: int  # of the command, or one of the constants above
    said: str
    console: str


@dataclasses.dataclass
class Guest:
    """What the guest has. `image` is the device, kept between runs: the next one finds what the last has left."""

    kernel: Kernel
    image: pathlib.Path
    kind: str = "nvdimm"  # or virtio-pmem, disk
    fs: str = "ext4"  # or xfs, none: the NVDIMM as /dev/dax0.0
    persistence: str = "mem-ctrl"  # ADR; cpu: eADR
    write_log: pathlib.Path | None = None
    memory_mib: int = 768

    def device(self):
        size = self.image.stat().st_size
        if self.kind == "disk":
            return self.disk()
        backing = f"memory-backend-file,id=media,share=on,mem-path={self.image},size={size}"
        most = self.memory_mib + size // MEBIBYTE + 1024
        memory = ["-m", f"{self.memory_mib},slots=2,maxmem={most}M", "-object", backing]
        if self.kind == "virtio-pmem":
            return ["-machine", "pc", *memory, "-device", "virtio-pmem-pci,memdev=media,id=nv0"]
        machine = f"pc,nvdimm=on,nvdimm-persistence={self.persistence}"
        return ["-machine", machine, *memory, "-device", "nvdimm,memdev=media,id=nv0"]

    def disk(self):
        plain = ["-machine", "pc", "-m", str(self.memory_mib)]
        file = ["-blockdev", f"driver=file,filename={self.image},node-name=file",
                "-blockdev", "driver=raw,file=file,node-name=disk"]
        if self.write_log is None:
            return [*plain, *file, "-device", "virtio-blk-pci,drive=disk,write-cache=on"]
        return [*plain, *file, "-blockdev", f"driver=file,filename={self.write_log},node-name=log-file",
                "-blockdev", "driver=raw,file=log-file,node-name=log",
                "-blockdev", "driver=blklogwrites,node-name=logged,file=disk,log=log,log-sector-size=512",
                "-device", "virtio-blk-pci,drive=logged,write-cache=on"]

    def run(self, command, files=(), cut_when=None, timeout_s=300):
        """Runs a shell line with `files` at their places; cuts the power once cut_when(what it has said)."""
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            initrd = self.initial_files(home, command, files)
            said, console = home / "said", home / "console"
            for each in (said, console):
                each.touch()
            append = "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check nokaslr rdinit=/init"
            accelerator = "kvm" if can_virtualize() else "tcg,thread=multi"
            arguments = [tool("qemu-system-x86_64"), *self.device(), "-accel", accelerator, "-cpu", "max", "-smp", "2",
                         "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                         "-kernel", str(self.kernel.image), "-initrd", str(initrd), "-append", append,
                         "-serial", f"file:{console}", "-device", "virtio-serial-pci",
                         "-chardev", f"file,id=out,path={said}", "-device", "virtconsole,chardev=out"]
            with open(home / "qemu", "wb") as errors:
                process = subprocess.Popen(arguments, stdout=errors, stderr=errors)
                status = self.watch(process, said, cut_when, time.monotonic() + timeout_s)
            text = console.read_text(errors="replace")
            told = re.findall(r"GUEST-STATUS (\d+)", text)
            if status is None:
                status = int(told[-1]) if told else NO_STATUS
            return Outcome(status, said.read_text(errors="replace").replace("\r", ""),
                           text + (home / "qemu").read_text(errors="replace"))

    def initial_files(self, home, command, files):
        root = home / "root"
        (root / "job").mkdir(parents=True)
        (root / "job/command").write_text(command + "\n")
        (root / "job/settings").write_text(f"KIND={shlex.quote(self.kind)} FS={shlex.quote(self.fs)}\n")
        for file in files:
            put(root, file)
        pack(root, home / "job.cpio")
        initrd = home / "initrd"
        initrd.write_bytes(self.kernel.base.read_bytes() + (home / "job.cpio").read_bytes())
        return initrd

    @staticmethod
    def watch(process, said, cut_when, deadline):
        """None if the guest ended by itself."""
        while process.poll() is None:
            status = None
            if cut_when is not None and cut_when(said.read_text(errors="replace")):
                status = CUT
            elif time.monotonic() > deadline:
                status = TIMED_OUT
            if status is not None:
                process.kill()
                process.wait()
                return status
            time.sleep(0.05)
        return None


def can_virtualize():
    """Whether KVM is there, and not only its device: without these flags it emulates, and not all instructions."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return os.access("/dev/kvm", os.R_OK | os.W_OK) and re.search(r"\b(vmx|svm)\b", flags) is not None


def blank(path, mebibytes):
    """A device without data."""
    with open(path, "wb") as file:
        file.truncate(mebibytes * MEBIBYTE)
    return path
