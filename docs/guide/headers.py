"""Public headers as Doxygen reads them: their plain comments become its own, each header a group of its stem's name.

A C++ header is documented if a page of docs/guide/cpp has ```{header} PATH. A part of halocline.h, which begins with
/* ---- name ---- */, is a group (c_group())."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
C_HEADER = ROOT / "capi/include/halocline.h"
C_DECLARED = r"^HALOCLINE_API [^;]*?(halocline_\w+)\(|^typedef struct (halocline_\w+)|^#define (HALOCLINE_\w+) [^_n]"
SPECIAL = re.compile(r'---?|[\\@<>&#%"]')


def in_tree(header):
    """Where a header lies that is installed as halocline/HEADER."""
    return ROOT / re.sub("^(images|report)/", r"apps/\1/", header)


def cpp_headers():
    """Paths of the tree, by the stem."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs/guide/cpp").glob("*.md")))
    for header in re.findall(r"^```\{header\} (\S+\.hpp)$", pages, re.MULTILINE):
        yield Path(header).stem, in_tree(header)


def escaped(text):
    """Plain text, with code between backticks, for Doxygen without Markdown."""
    parts = text.split("`")
    for n, part in enumerate(parts):
        part = SPECIAL.sub(lambda special: "\\" + special[0], part)
        parts[n] = f"<tt>{part}</tt>" if n % 2 else part
    return "".join(parts)


def described(lines):
    """A comment as Doxygen's. Indented lines, which are formulas and tables, stay as they are."""
    out, formula = [], False
    for line in [*lines, ""]:
        indented = line.startswith("  ") and line.strip() != ""
        if indented != formula:
            out.append("@verbatim" if indented else "@endverbatim")
            formula = indented
        out.append(line[2:] if indented else escaped(line))
    return ["/**", *out, "*/"] if lines else []


def as_group(name, title, comment, body):
    about = described(comment)[1:] or ["*/"]
    return [f"/** @defgroup {name} {title}", *about, "/** @{ */", *body, "/** @} */"]


def cpp_for_doxygen(stem, text):
    """The opening comment describes the group; what stands behind a member is about it. Without its namespace."""
    head, declared = re.fullmatch(r"(.*?)#pragma once.*?^namespace [\w:]+ \{$(.*)^\}  // namespace.*", text,
                                  re.MULTILINE | re.DOTALL).groups()
    body, comment, column = [], [], None
    for line in declared.splitlines():
        alone = re.fullmatch(r"( *)(///?) ?(.*)", line)
        if alone and alone[2] == "///":
            comment.append(alone[3])
            continue
        body += described(comment)
        comment = []
        behind = re.fullmatch(r"(.*[;,{}\w)] *)///?<? (.*)", line) if not alone else None
        if behind:
            body.append(f"{behind[1]}///< {escaped(behind[2])}")
            column = len(behind[1])
        elif alone and column == len(alone[1]):
            body.append(f"{alone[1]}///< {escaped(alone[3])}")
        else:
            body.append(line)
            column = None
    about = re.findall(r"^// ?(.*)$", head, re.MULTILINE)
    return "\n".join(as_group(stem, stem, about, body)) + "\n"


def c_for_doxygen(text):
    """A comment behind a member is about it, one before an empty line about its part, others about the next line."""
    head, *parts = re.split(r"^/\* ---- (.*?) ---- \*/\n", text, flags=re.MULTILINE)
    comment = re.compile(r"^(?P<code>.*?)/\*(?P<text>(?:.|\n)*?)\*/(?P<end>\n\n?)", re.MULTILINE)
    words = lambda found: [line.strip(" *").strip() for line in found["text"].strip().splitlines()]
    out = as_group("c", "c", words(comment.match(head)), []) + comment.sub("", head, count=1).splitlines()
    for title, part in zip(parts[::2], parts[1::2]):
        about = []

        def converted(found):
            if found["code"].strip():
                return found["code"] + "/**< " + escaped(" ".join(words(found))) + " */" + found["end"]
            if found["end"] == "\n":
                return "\n".join(described(words(found))) + "\n"
            about.extend(words(found))
            return ""

        body = comment.sub(converted, re.sub(r"/\* clang-format \w+ \*/\n", "", part)).splitlines()
        out += as_group(c_group(title), title, about, body)
    return "\n".join(out) + "\n"


def c_group(part):
    """The group of a part; that of "context: devices that are open" is c_context."""
    return "_".join(["c", *part.partition(":")[0].split()])


def run_doxygen(folder):
    """Writes XML of the C header into folder/c/xml, of those of C++ into folder/cpp/xml."""
    texts = {"c": {"halocline.h": c_for_doxygen(C_HEADER.read_text(encoding="utf-8"))}, "cpp": {}}
    for stem, path in cpp_headers():
        texts["cpp"][f"{stem}.hpp"] = cpp_for_doxygen(stem, path.read_text(encoding="utf-8"))
    for language, headers in texts.items():
        source = folder / language / "source"
        source.mkdir(parents=True, exist_ok=True)
        for old in source.iterdir():
            old.unlink()
        for name, text in headers.items():
            (source / name).write_text(text, encoding="utf-8")
        settings = (ROOT / "docs/guide/doxygen").read_text(encoding="utf-8")
        settings += f"\nINPUT = {source}\nOUTPUT_DIRECTORY = {folder / language}\n"
        subprocess.run(["doxygen", "-"], input=settings, text=True, check=True)


def missing_from(page):
    """Functions, structs and macros of halocline.h that the built page of C does not have."""
    html = page.read_text(encoding="utf-8")
    declared = re.findall(C_DECLARED, C_HEADER.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for name in map("".join, declared) if f'id="c.{name}"' not in html]
