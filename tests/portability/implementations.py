"""OpenCL implementations that run without a GPU, each in build/portability, apart from the system."""
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "portability"
BUILD = Path(os.environ.get("HALOCLINE_BUILD", ROOT / "build" / "release"))
# Libraries that come from the system where a program runs, not from the one where it was built.
OF_SYSTEM = ("libc.so", "libm.so", "libpthread", "libdl.so", "librt.so", "libresolv", "ld-linux", "libOpenCL",
             "libstdc++", "libgcc_s", "linux-vdso", "libutil")


class Unavailable(Exception):
    """Why an implementation cannot be had here."""


@dataclass
class Implementation:
    """prepare(): makes it, or throws Unavailable. command(words, folder): the words that run those on it in that
    folder, and the environment."""

    name: str
    source: str

    def prepare(self):
        pass

    def command(self, words, folder):
        return list(map(str, words)), dict(os.environ)


def answer(words, **options):
    done = subprocess.run(list(map(str, words)), text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Unavailable(f"'{' '.join(map(str, words))}' failed: {done.stdout.strip()[-300:]}")
    return done.stdout


@dataclass
class IntelCpu(Implementation):
    """Intel's runtime for CPUs. Its wheels name a folder of the packager in their .icd files, and hold another loader
    in their folder of libraries: links to all but that loader, and an .icd file of our own, mend both."""

    version: str = ""

    @property
    def folder(self):
        return FOLDER / self.name

    def prepare(self):
        if (self.folder / "complete").exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "lib").mkdir(parents=True)
        wanted = [f"intel-opencl-rt=={self.version}", f"intel-cmplr-lib-rt=={self.version}", "tbb"]
        answer(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "-d", self.folder / "wheels", *wanted])
        for wheel in (self.folder / "wheels").glob("*.whl"):
            shutil.unpack_archive(wheel, self.folder / "unpacked" / wheel.stem, "zip")
        for library in (self.folder / "unpacked").glob("*/*.data/data/lib/**/*"):
            if library.is_file() and not library.name.startswith("libOpenCL"):
                link = self.folder / "lib" / library.name
                if not link.exists():
                    link.symlink_to(library)
        (self.folder / "intel.icd").write_text(str(self.folder / "lib" / "libintelocl.so") + "\n")
        shutil.rmtree(self.folder / "wheels")
        (self.folder / "complete").touch()

    def command(self, words, folder):
        return list(map(str, words)), dict(os.environ, OCL_ICD_VENDORS=str(self.folder / "intel.icd"),
                                           LD_LIBRARY_PATH=str(self.folder / "lib"))


@dataclass
class Debian13(Implementation):
    """A driver of Debian 13 in a root of its own, which runs the programs that were built here with the libraries that
    were here."""

    driver: str = ""

    root = FOLDER / "debian-13"

    def prepare(self):
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            raise Unavailable("needs root, and Debian's debootstrap")
        if not (self.root / "complete").exists():
            shutil.rmtree(self.root, ignore_errors=True)
            answer(["debootstrap", "--variant=minbase",
                    "--include=ca-certificates,ocl-icd-libopencl1,pocl-opencl-icd,mesa-opencl-icd", "trixie",
                    self.root])
            (self.root / "complete").touch()
        self.copy_libraries()

    def copy_libraries(self):
        libraries = FOLDER / "libraries"
        libraries.mkdir(exist_ok=True)
        for program in (*(BUILD / "tests").glob("*_tests"), BUILD / "bin" / "halocline"):
            for line in answer(["ldd", program]).splitlines():
                words = line.split()
                if len(words) > 2 and words[2].startswith("/") and not words[0].startswith(OF_SYSTEM):
                    target = libraries / words[0]
                    if not target.exists():
                        shutil.copy(words[2], target)

    def command(self, words, folder):
        """In mounts of its own, with this folder and the temporary ones where they are here."""
        script = ('for each in /proc /sys /dev /tmp "$2"; do mkdir -p "$1$each"; mount --rbind "$each" "$1$each"; done; '
                  'root=$1; folder=$3; shift 3; exec chroot "$root" sh -c \'cd "$0"; exec "$@"\' "$folder" "$@"')
        return (["unshare", "-m", "sh", "-c", script, "sh", str(self.root), str(ROOT), str(folder), *map(str, words)],
                dict(os.environ, LD_LIBRARY_PATH=str(FOLDER / "libraries"), RUSTICL_ENABLE="llvmpipe",
                     OCL_ICD_VENDORS=f"/etc/OpenCL/vendors/{self.driver}.icd"))


ALL = [
    Implementation("pocl-3.1", "the system's, Debian 12: pocl-opencl-icd"),
    Debian13("pocl-6.0", "Debian 13: pocl-opencl-icd", "pocl"),
    Debian13("rusticl-25", "Debian 13: mesa-opencl-icd, on llvmpipe", "rusticl"),
    IntelCpu("intel-2025", "PyPI: intel-opencl-rt 2025.3.3", "2025.3.3"),
    IntelCpu("intel-2026", "PyPI: intel-opencl-rt 2026.2.0", "2026.2.0"),
]
