"""The OpenCL devices of this computer."""

from __future__ import annotations

import contextlib
import os
from typing import Iterator, List, Optional

from . import _core, _drivers

_VARIABLE = "HALOCLINE_DEVICE"


class Device:
    """An OpenCL device."""

    def __init__(self, index: int, type: str, name: str, vendor: str, platform: str, driver: str, memory_bytes: int) -> None:
        self.index, self.type, self.name = index, type, name
        self.vendor, self.platform, self.driver, self.memory_bytes = vendor, platform, driver, memory_bytes

    def __repr__(self) -> str:
        return f"<Device {self.index} {self.type} '{self.name}' {self.memory_bytes / 2**30:.0f} GiB>"


def devices() -> List[Device]:
    """All of them, in the order of their numbers in device=. Empty where there is no driver; `pip install
    halocline[cpu]` brings one for processors."""
    found = [Device(index, **each) for index, each in enumerate(_core.devices())]
    if not found:
        _drivers.warn_of_none()
    return found


def set_device(selection: Optional[str]) -> None:
    """Sets the default of device=: a number, "cpu", "gpu", "all", a part of a name, or several with
    commas; None: the default."""
    if selection is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = str(selection)


@contextlib.contextmanager
def device(selection: str) -> Iterator[None]:
    """`with halocline.device("cpu"):` set_device() for a while."""
    before = os.environ.get(_VARIABLE)
    set_device(selection)
    try:
        yield
    finally:
        set_device(before)
