"""Reports for a browser: three planes of every image, before and after under a divider, and what was done."""

from __future__ import annotations

import json
import os
from typing import Any, Optional, Union

from . import _check, _core
from .errors import InputError
from .image import Image
from .verbs import Info

Path = Union[str, "os.PathLike[str]"]
_MOST = 4


def page(title: str = "Halocline", info: Optional[Info] = None, size: int = 256, **images: Any) -> str:
    """The page's HTML. images: up to four, by the names that the page shows. size: voxels along an axis at most."""
    if info is not None and not isinstance(info, Info):
        raise TypeError(f"info= is {type(info).__name__}; expected what a call with return_info=True gives")
    if not 1 <= _check.number(size, "size") <= 1024:
        raise InputError(f"--size is {size}; expected 1 to 1024 voxels")
    if not 1 <= len(images) <= _MOST:
        raise InputError(f"there are {len(images)} images; a page has 1 to {_MOST}")
    pictures = []
    for name, value in images.items():
        image = value if isinstance(value, Image) else Image(value)
        pictures.append((name, image.array, image.grid.as_tuple()))
    return _core.report_html(title, pictures, json.dumps(info.report) if info is not None and info.report else "", size)


def report(path: Path, info: Optional[Info] = None, size: int = 256, **images: Any) -> None:
    """Writes the page: ``hc.report("report.html", FDK=f, PDU=u, info=info)``. The file appears whole or not at all."""
    name = _check.path(path)
    _check.write_text(name, page(os.path.basename(name), info, size, **images))
