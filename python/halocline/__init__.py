"""Halocline: reconstruction and denoising of CT volumes on any OpenCL device.

    import halocline as hc

    geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=range(360), detector=(256, 256), pixel=0.8)
    volume = hc.fdk(projections, geometry)          # (view, row, column) in, (k, j, i) out
    clean = hc.denoise(volume)

Lengths are in mm, angles in degrees, attenuation in 1/mm.
"""

from __future__ import annotations

import atexit as _atexit

from . import _drivers

_drivers.find()

from . import _core, arrays, plan  # noqa: E402
from ._algebra import vstack  # noqa: E402
from ._call import ProgressState  # noqa: E402
from ._logging import HaloclineWarning  # noqa: E402
from .arrays import Context  # noqa: E402
from .devices import Device, device, devices, set_device  # noqa: E402
from .errors import DeviceError, Error, FileError, InputError, Interrupted, PlanError  # noqa: E402
from .geometry import Geometry  # noqa: E402
from .grid import Grid  # noqa: E402
from .image import Image, ImageFile, open, read, write  # noqa: E402
from .operator import Operator, adjoint_error, to_autograd  # noqa: E402
from .pages import report  # noqa: E402
from .patches import Patches  # noqa: E402
from .slices import Slices  # noqa: E402
from .solve import Bounds, Tikhonov, TotalVariation, solve  # noqa: E402
from .verbs import (Axis, Info, Metrics, backproject, counts, denoise, fdk, fdk_halves, find_axis, metrics,  # noqa: E402
                    noise, noise_map, phantom, project, reconstruct, run)

__version__: str = _core.VERSION
_atexit.register(_core.shut_down)

__all__ = [
    "Axis", "Bounds", "Context", "Device", "DeviceError", "Error", "FileError", "Geometry", "Grid", "HaloclineWarning", "Image", "ImageFile",
    "Info", "InputError", "Interrupted", "Metrics", "Operator", "Patches", "PlanError", "ProgressState", "Slices", "Tikhonov", "TotalVariation", "adjoint_error", "arrays",
    "backproject", "counts", "denoise", "device", "devices", "fdk", "fdk_halves", "find_axis", "metrics", "noise", "noise_map", "open", "phantom", "plan",
    "project", "read", "reconstruct", "report", "run", "set_device", "solve", "to_autograd", "vstack", "write",
]
