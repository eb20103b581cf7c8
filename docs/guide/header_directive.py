"""```{header} PATH shows a C++ header that is installed as halocline/PATH, ```{header} halocline.h PART a part of that one."""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

import headers

ORDER = {"macro": 1, "function": 2}  # types come before


def in_order(shown):
    """Each description with the index entries and targets before it, types first."""
    pieces, piece = [], []
    for node in shown:
        piece.append(node)
        if isinstance(node, addnodes.desc):
            pieces.append((ORDER.get(node["objtype"], 0), piece))
            piece = []
    return [node for _, each in sorted(pieces, key=lambda pair: pair[0]) for node in each] + piece


class Header(SphinxDirective):
    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        header = self.arguments[0]
        if header.endswith(".h"):
            project, group, before = "c", headers.c_group("".join(self.arguments[1:])), ""
        else:
            project, group = "cpp", Path(header).stem
            namespace = re.search(r"^namespace ([\w:]+) \{$", headers.in_tree(header).read_text(encoding="utf-8"), re.MULTILINE)[1]
            before = f"```{{cpp:namespace}} {namespace}\n```\n```cpp\n#include <halocline/{header}>\n```\n"
        about = f"```{{doxygengroup}} {group}\n:project: {project}\n:desc-only:\n```"
        content = f"```{{doxygengroup}} {group}\n:project: {project}\n:content-only:\n```\n"
        opening = [node for found in self.parse(about) for text in found.findall(addnodes.desc_content) for node in text]
        return self.parse(before) + opening + in_order(self.parse(content))

    def parse(self, text):
        holder = nodes.container()
        self.state.nested_parse(text.splitlines(), self.content_offset, holder)
        return holder.children


def setup(app):
    app.add_directive("header", Header)
    return {"parallel_read_safe": True}
