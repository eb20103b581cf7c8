"""```{header} PATH shows a C++ header that is installed as halocline/PATH, ```{header} halocline.h PART a part of
that one. The option leave-out names what is not for callers."""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

import headers

ORDER = {"macro": 1, "function": 2}  # types come before


def descriptions(shown):
    """Each with the index entries and targets before it, as (name, kind, nodes)."""
    piece = []
    for node in shown:
        piece.append(node)
        if isinstance(node, addnodes.desc):
            *_, name = node[0].findall(addnodes.desc_name)  # after those of a template's parameters
            yield name.astext(), node["objtype"], piece
            piece = []


class Header(SphinxDirective):
    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"leave-out": str.split}

    def run(self):
        header = self.arguments[0]
        if header.endswith(".h"):
            project, group, before = "c", headers.c_group("".join(self.arguments[1:])), ""
        else:
            project, group = "cpp", Path(header).stem
            text = headers.in_tree(header).read_text(encoding="utf-8")
            namespace = re.search(r"^namespace ([\w:]+) \{$", text, re.MULTILINE)[1]
            before = f"```{{cpp:namespace}} {namespace}\n```\n```cpp\n#include <halocline/{header}>\n```\n"
        about = f"```{{doxygengroup}} {group}\n:project: {project}\n:desc-only:\n```"
        content = f"```{{doxygengroup}} {group}\n:project: {project}\n:content-only:\n```\n"
        opening = self.parse(before)  # before the rest, whose namespace it sets
        for found in self.parse(about):
            opening += [node for text in found.findall(addnodes.desc_content) for node in text]
        shown = sorted(descriptions(self.parse(content)), key=lambda each: ORDER.get(each[1], 0))
        left_out = set(self.options.get("leave-out", []))
        for name in left_out - {name for name, _, _ in shown}:
            raise self.error(f"{header} has no {name} to leave out")
        return opening + [node for name, _, piece in shown if name not in left_out for node in piece]

    def parse(self, text):
        holder = nodes.container()
        self.state.nested_parse(text.splitlines(), self.content_offset, holder)
        return holder.children


def setup(app):
    app.add_directive("header", Header)
    return {"parallel_read_safe": True}
