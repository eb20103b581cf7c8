"""Exceptions of Halocline. Their texts say what was found, what was expected and what to do."""

from __future__ import annotations

import keyword
import re

_FLAG = re.compile(r"(?<![\w'/-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
_ARRAY = re.compile(r"(?:--[a-z-]+ )?'mem:(\w+)'")
_SHORT = {"i": "input=", "o": "output=", "g": "geometry="}
_SHORT_FLAG = re.compile(r"(?<![\w'/-])-([iog])(?![\w-])")
_NAMED_ARRAY = re.compile(r"the array (?:for )?'(\w+)'")
_PREFIX = re.compile(r"\bmem:(?=\w)")
_ARGUMENT = re.compile(r"`([a-z_]+)`")
_MISSING = re.compile(r"^(\w+=) has no value; expected (.*)$")
_NO_DEVICE = "there is no OpenCL device"


def in_keywords(text: str) -> str:
    """The text with the command's flags as Python's keywords: ``--device-memory`` becomes ``device_memory=``."""
    text = _ARRAY.sub(lambda match: match[1] + "=", text.replace("mend the file", "mend it"))
    text = _FLAG.sub(lambda match: _keyword(match[1]) + "=", text)
    text = _SHORT_FLAG.sub(lambda match: _SHORT[match[1]], text)
    text = _NAMED_ARRAY.sub(r"\1=", text)
    text = _ARGUMENT.sub(r"\1=", text)
    text = _MISSING.sub(r"\1 is True; expected \2", text)
    if _NO_DEVICE in text:
        text += ". 'pip install halocline[cpu]' brings a driver for processors"
    return without_prefixes(text)


def without_prefixes(text: str) -> str:
    """The text with arrays by their names alone, where the command would print a file's path."""
    return _PREFIX.sub("", text)


def _keyword(flag: str) -> str:
    return flag.replace("-", "_") + ("_" if keyword.iskeyword(flag) else "")


class Error(Exception):
    """Base of all errors of Halocline."""

    def __init__(self, text: str) -> None:
        super().__init__(in_keywords(text))


class InputError(Error, ValueError):
    """An array, a file or a keyword is wrong."""


class PlanError(Error, MemoryError):
    """The work does not fit the devices or the computer."""


class DeviceError(Error, RuntimeError):
    """A device failed, or there is none."""


class FileError(Error, OSError):
    """A file cannot be written, or vanished."""


class Interrupted(Error):
    """The work was cancelled."""
