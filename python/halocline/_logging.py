"""Log lines and warnings of the library, through Python's own."""

from __future__ import annotations

import logging
import warnings

from .errors import in_keywords

logger = logging.getLogger("halocline")
_LEVELS = {0: logging.DEBUG, 1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR, 5: logging.CRITICAL}
_WARNING = 3


class HaloclineWarning(UserWarning):
    """Something that the library doubts, and goes on with."""


def log(level: int, text: str) -> None:
    """A line of the library's log: warnings become HaloclineWarning, all others records of the logger "halocline"."""
    text = in_keywords(text)
    if level == _WARNING:
        warnings.warn(text, HaloclineWarning, stacklevel=5)
    else:
        logger.log(_LEVELS.get(level, logging.INFO), "%s", text)
