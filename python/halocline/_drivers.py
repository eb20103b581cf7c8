"""Which OpenCL drivers the loader sees, decided before the first OpenCL call.

The first of these that has a driver: what the user's OCL_ICD_VENDORS or OCL_ICD_FILENAMES name; the system; the conda
environment; packages (entry points of the group halocline.opencl_drivers, as halocline-pocl), with NVIDIA's library where
no .icd names it, as in many containers. Never two of them: two copies of PoCL in a process end it.
"""

from __future__ import annotations

import atexit
import ctypes
import glob
import os
import shutil
import sys
import tempfile
import warnings
from importlib import metadata
from typing import List

_GROUP = "halocline.opencl_drivers"
_SYSTEM = "/etc/OpenCL/vendors"
_NVIDIA = ("/usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1", "/usr/lib64/libnvidia-opencl.so.1")


def _named_in(folder: str) -> List[str]:
    """The libraries that the .icd files of a folder name."""
    found = []
    for icd in sorted(glob.glob(os.path.join(folder, "*.icd"))):
        with open(icd, encoding="utf-8") as file:
            found.append(file.readline().strip())
    return found


def _loads(library: str) -> bool:
    """False for the .icd of a driver that was removed, or of a GPU that a container does not see."""
    if os.path.isabs(library):
        return os.path.exists(library)
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _announced() -> List[str]:
    """Drivers that packages bring."""
    found = []
    for entry in metadata.entry_points(group=_GROUP):
        try:
            path = str(entry.load()())
        except Exception as error:  # a broken package must not take the others with it
            warnings.warn(f"the OpenCL driver of {entry.value} cannot be used: {error}", stacklevel=2)
            continue
        if os.path.exists(path):
            found.append(path)
    return found


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # and not in a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _use(libraries: List[str]) -> None:
    """Names the libraries by OCL_ICD_VENDORS, the one variable that ocl-icd and Khronos' loader share: a folder of .icd
    files that takes the place of the system's. ocl-icd 2.3.1 takes no list, but a library."""
    try:
        folder = tempfile.mkdtemp(prefix="halocline-opencl-")
    except OSError:  # there is no folder to write to
        os.environ["OCL_ICD_VENDORS"] = libraries[0]
        return
    atexit.register(_remove, folder, os.getpid())
    for number, library in enumerate(libraries):
        with open(os.path.join(folder, f"{number}.icd"), "w", encoding="utf-8") as file:
            file.write(library + "\n")
    os.environ["OCL_ICD_VENDORS"] = folder


def find() -> None:
    """Points the loader at other drivers than the system's where the system has none."""
    if os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OCL_ICD_FILENAMES"):
        _announced()  # drivers of packages set the environment that they need, should the variables name one
        return
    conda = os.path.join(sys.prefix, "etc", "OpenCL", "vendors")
    if any(map(_loads, _named_in(_SYSTEM))):
        return
    libraries = list(filter(_loads, _named_in(conda)))
    if not libraries:
        libraries = _announced() + list(filter(os.path.exists, _NVIDIA))
    if libraries:
        _use(libraries)


def warn_of_none() -> None:
    warnings.warn("there is no OpenCL device: install the driver of your GPU, or one for processors with "
                  "'pip install halocline[cpu]'", stacklevel=3)
