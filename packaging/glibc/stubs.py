"""Writes libraries to link against instead of this system's glibc: they name the functions that an older glibc has, in
the versions that it gives them, and hold nothing. What is linked with them runs with that glibc and all later ones.

    stubs.py FOLDER 2.28

libc.so, a script of the linker, also names libcompat.a, what libstdc++ asks of newer ones (compat.c).
"""

import re
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

_PARTS = {  # of libc.so.6 since glibc 2.34, and libraries of their own before it
    "libpthread.so.0": re.compile(r"(__)?pthread_|sem_"),
    "libdl.so.2": re.compile(r"dl(open|close|sym|vsym|addr|addr1|error|info|mopen)$"),
    "librt.so.1": re.compile(r"(aio|lio|mq|shm|timer)_"),
}


def _number(version):
    return tuple(map(int, version.split(".")))


def _system(library):
    """Where the compiler finds a library."""
    found = subprocess.run(["gcc", f"-print-file-name={library}"], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def _symbols(library, newest):
    """{name: (version, type)} with the last version of each up to the newest."""
    with open(_system(library), "rb") as file:
        elf = ELFFile(file)
        nodes = {definition["vd_ndx"]: next(auxiliaries).name
                 for definition, auxiliaries in elf.get_section_by_name(".gnu.version_d").iter_versions()}
        versions = elf.get_section_by_name(".gnu.version")
        found = {}
        for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            node = versions.get_symbol(index)["ndx"]
            match = isinstance(node, int) and re.fullmatch(r"GLIBC_([0-9.]+)", nodes.get(node & 0x7FFF, ""))
            if not match or symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS") or _number(match[1]) > newest:
                continue
            if symbol.name not in found or _number(found[symbol.name][0]) < _number(match[1]):
                found[symbol.name] = match[1], symbol["st_info"]["type"]
        return found


def _write(folder, soname, symbols):
    source, nodes = [], {}
    for name, (version, kind) in sorted(symbols.items()):
        kind = "@object" if kind == "STT_OBJECT" else "@function"
        source.append(f".globl {name}\n.type {name}, {kind}\n{name}: .quad 0\n.size {name}, 8\n")
        nodes.setdefault(version, []).append(name)
    assembly, script = folder / f"{soname}.s", folder / f"{soname}.map"
    assembly.write_text("".join(source))
    script.write_text("".join(f"GLIBC_{version} {{ {'; '.join(names)}; }};\n" for version, names in nodes.items()))
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", assembly,
                    "-o", folder / soname], check=True)


def main():
    folder, newest = Path(sys.argv[1]), _number(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rest = _symbols("libc.so.6", newest)
    for soname, pattern in _PARTS.items():
        _write(folder, soname, {name: rest.pop(name) for name in list(rest) if pattern.match(name)})
    _write(folder, "libc.so.6", rest)
    _write(folder, "libm.so.6", _symbols("libm.so.6", newest))
    (folder / "libm.so").write_text("INPUT ( libm.so.6 )\n")
    others = [*_PARTS, _system("ld-linux-x86-64.so.2")]
    own = f"libcompat.a {_system('libc_nonshared.a')}"
    (folder / "libc.so").write_text(f"GROUP ( libc.so.6 {own} AS_NEEDED ( {' '.join(others)} ) )\n")


main()
