"""Which OpenCL drivers the loader sees, decided before the first OpenCL call.

In this order: what the user's OCL_ICD_VENDORS or OCL_ICD_FILENAMES say; the system's; those of a conda environment; those
that packages announce (entry points of the group halocline.opencl_drivers, as halocline-pocl); NVIDIA's library where no
.icd names it, as in many containers.
"""

from __future__ import annotations

import glob
import os
import sys
import warnings
from importlib import metadata
from typing import List

_GROUP = "halocline.opencl_drivers"
_SYSTEM = "/etc/OpenCL/vendors"


def _announced() -> List[str]:
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


def find() -> None:
    """Names further drivers in OCL_ICD_FILENAMES, which Khronos' loader and ocl-icd read beside the system's."""
    if os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OCL_ICD_FILENAMES"):
        return
    files = []
    if not glob.glob(_SYSTEM + "/*.icd"):
        for icd in sorted(glob.glob(os.path.join(sys.prefix, "etc", "OpenCL", "vendors", "*.icd"))):
            with open(icd, encoding="utf-8") as file:
                files.append(file.readline().strip())
        files += _announced()
        for library in ("/usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1", "/usr/lib64/libnvidia-opencl.so.1"):
            if os.path.exists(library):
                files.append(library)
    if files:
        os.environ["OCL_ICD_FILENAMES"] = ":".join(files)


def tell_of_none() -> None:
    warnings.warn("there is no OpenCL device: install the driver of your GPU, or one for processors with "
                  "'pip install halocline[cpu]'", stacklevel=3)
