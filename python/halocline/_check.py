"""Arguments that are no numbers or texts: errors that name the keyword, what was found and what was expected."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .errors import FileError, InputError


def text(value: Any, keyword: str, example: str) -> str:
    """The value, if it is a text."""
    if not isinstance(value, str):
        raise TypeError(f"{keyword}= is {value!r}; expected a text, such as {example!r}")
    return value


def path(value: Any, keyword: str = "path") -> str:
    """The value as a file's path."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{keyword}= is {type(value).__name__}; expected a file's path")
    return os.fspath(value)


def _named(keyword: str) -> str:
    """As an option of the command, which InputError makes a keyword of; part of an argument, as "geo.DSO", is what it is."""
    return "--" + keyword.replace("_", "-") if keyword.isidentifier() else keyword


def shown(value: Any) -> str:
    """As messages show it: an array by its shape."""
    return f"an array of {value.shape}" if isinstance(value, np.ndarray) and value.size > 3 else repr(value)


def numbers(values: Any, keyword: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """One number or several, as float64."""
    if values is None:
        raise TypeError(f"{keyword}{'=' * keyword.isidentifier()} is None; expected a number, or several")
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{_named(keyword)} is {shown(values)}; expected a number, or several") from None


def number(value: Any, keyword: str) -> float:
    """One number."""
    found = numbers(value, keyword)
    if found.ndim != 0:
        raise InputError(f"{_named(keyword)} is {shown(value)}; expected one number")
    return float(found)


def write_text(name: str, content: str) -> None:
    """A file that appears whole or not at all. Raises InputError where something is that is no file, FileError for a disk
    that is full or a folder that cannot be written."""
    name = os.path.realpath(name)
    if os.path.exists(name) and not os.path.isfile(name):
        raise InputError(f"'{name}' is no file; give another path")
    temporary = name + ".tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(temporary, name)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise FileError(f"'{name}' cannot be written: {error.strerror}; choose another folder, or make room") from None
        raise


def counts(values: Any, keyword: str, how_many: int) -> "list[int]":
    """So many whole numbers from 1 on."""
    found = numbers(values, keyword)
    if found.shape != (how_many,) or not np.all((found >= 1) & (found == np.floor(found)) & (found < 2**31)):
        raise InputError(f"{_named(keyword)} is {shown(values)}; expected {how_many} whole numbers from 1 on")
    return [int(count) for count in found]


def parts(value: Any, keyword: str, expected: str, *names: str) -> Any:
    """The value, if it has all these attributes, "config.panel" being one within another."""
    for name in names:
        part = value
        for step in name.split("."):
            part = getattr(part, step, None)
            if part is None:
                raise TypeError(f"{keyword}= is {type(value).__name__} without {name}; expected {expected}")
    return value


def pair(values: Any, keyword: str) -> Any:
    """Two arrays."""
    if not isinstance(values, (list, tuple)) or len(values) != 2:
        found = f"{len(values)} of them" if isinstance(values, (list, tuple)) else type(values).__name__
        raise InputError(f"--{keyword} is {found}; expected two arrays, such as those of fdk_halves(): (a, b)")
    return values


def view_numbers(views: Any, count: int, what: str) -> "list[int]":
    """Numbers of views that are given as those of an array's axis. what: the call, with {} for what is given. Raises
    IndexError for others than there are, and for none."""
    try:
        numbers = np.atleast_1d(np.arange(count)[list(views) if isinstance(views, (tuple, range)) else views])
    except (IndexError, TypeError, ValueError):
        numbers = np.empty((0, 0), int)
    call = what.format(shown(views))
    if numbers.ndim != 1:
        raise IndexError(f"{call}: there are {count} views; expected numbers from {-count} to {count - 1}, a slice, or an array of them")
    if numbers.size == 0:
        raise IndexError(f"{call} has none of the {count} views; give at least one")
    return [int(each) for each in numbers]
