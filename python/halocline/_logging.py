"""Log lines and warnings of the library, through Python's own."""

from __future__ import annotations

import logging
import sys
import warnings

from .errors import in_keywords

logger = logging.getLogger("halocline")
_LEVELS = {0: logging.DEBUG, 1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR, 5: logging.CRITICAL}
_WARNING = 3


class HaloclineWarning(UserWarning):
    """Something that the library doubts, and goes on with."""


def _callers_level() -> int:
    """The stacklevel, for log(), of the line that called the package."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
        frame, level = frame.f_back, level + 1
    return level


def log(level: int, text: str) -> None:
    """A line of the library's log: warnings become HaloclineWarning, all others records of the logger "halocline"."""
    text = in_keywords(text)
    if level == _WARNING:
        warnings.warn(text, HaloclineWarning, stacklevel=_callers_level())
    else:
        logger.log(_LEVELS.get(level, logging.INFO), "%s", text)
