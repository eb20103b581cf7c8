"""PoCL 3.1 with LLVM 15: an OpenCL driver for the processor, from the packages of Debian 12.

Halocline uses it where the system has no OpenCL driver.
"""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def library() -> str:
    """The path of the driver. Adds the folder of its linker to the end of PATH, where the driver looks for it."""
    folder = os.path.join(_HERE, "bin")
    path = os.environ.get("PATH", os.defpath)
    if folder not in path.split(os.pathsep):
        os.environ["PATH"] = path + os.pathsep + folder
    return os.path.join(_HERE, "lib", "x86_64", "libpocl.so.2")
