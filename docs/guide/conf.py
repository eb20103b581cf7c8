"""The guide. scripts/guide lays out the sources and runs Sphinx; HALOCLINE_GUIDE_EXAMPLES=0 leaves the examples unrun."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
project = "Halocline"
author = "The Halocline developers"
copyright = author
version = release = re.search(r"project\(halocline VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

sys.path.insert(0, str(ROOT / "docs/guide"))
extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe", "header_directive",
              "sphinx_gallery.gen_gallery"]
root_doc = "docs/guide/index"
exclude_patterns = ["docs/gallery", "docs/requirements.txt"]
html_theme = "pydata_sphinx_theme"
html_title = f"Halocline {release}"
smartquotes = False  # texts of headers have quotes of code
highlight_language = "none"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["headers.css"]
html_theme_options = {"show_prev_next": False, "header_links_before_dropdown": 7, "secondary_sidebar_items": ["page-toc"]}

breathe_domain_by_extension = {"h": "c"}
breathe_default_members = ("members", "undoc-members")
breathe_show_include = False
breathe_show_define_initializer = True

# Links of the Markdown pages name headings as code hosts do.
myst_heading_anchors = 4

try:
    import halocline._core  # noqa: F401
except ImportError:
    autodoc_mock_imports = ["halocline._core"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True

sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/examples",
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": os.environ.get("HALOCLINE_GUIDE_EXAMPLES", "1") != "0",
    "abort_on_example_error": True,
    "capture_repr": (),
    "image_scrapers": ("matplotlib",),
    "min_reported_time": 0,
    "show_memory": False,
}
