"""Forecasts of calls: the plan over the devices, its memory and time. As --dry-run prints it."""

from __future__ import annotations

from typing import Any

from .geometry import Geometry, require_geometry
from .grid import Grid
from .verbs import _planned
from ._call import Call


def _scan(verb: str, geometry: Geometry, grid: Any) -> Call:
    call = Call(verb)
    call.input("input", require_geometry(geometry).stack(), None, "projections")
    call.geometry(require_geometry(geometry).core)
    call.grid(grid)
    call.output("output", "out")
    return call


def fdk(geometry: Geometry, grid: Any = None, **options: Any) -> str:
    """The plan of halocline.fdk(). Raises PlanError where it does not fit."""
    return _planned(_scan("fdk", geometry, grid), options)


def reconstruct(geometry: Geometry, grid: Any = None, *, method: str = "spdhg", **options: Any) -> str:
    """The plan of halocline.reconstruct()."""
    call = _scan("reconstruct", geometry, grid)
    call.method(method, "spdhg")
    return _planned(call, options)


def denoise(grid: Grid, *, method: str = "pdu", **options: Any) -> str:
    """The plan of halocline.denoise() of a volume with this grid."""
    call = Call("denoise")
    call.method(method, "pdu")
    if not isinstance(grid, Grid):
        raise TypeError(f"grid= is {grid!r}; expected a halocline.Grid")
    call.input("input", grid, None, "volume")
    call.output("output", "out")
    return _planned(call, options)
