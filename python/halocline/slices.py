"""Slices of any place, direction and size from filtered projections that stay on the device."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from . import _core, _opencl
from ._call import _flat
from ._logging import log
from .errors import InputError
from .geometry import Geometry, require_geometry
from .grid import Grid
from .image import as_values


class Slices:
    """Quasi-3D reconstruction (Buurlage, Kohr, Palenstijn & Batenburg 2018): projections are filtered once, and stay on
    one device for slices of any place, direction and size at each call. Pixels that are voxels of `grid` have the bits
    that fdk() gives them.

    projections: line integrals (view, row, column). geometry: the scan, with its detector. grid: in whose coordinates
    slices are computed; None: what the scan sees. device: as the command's option. like: a pyopencl.array.Array, in whose
    context slices then stay: results are such arrays of float32, and projections that are such arrays are read where they
    are; by itself projections, if it is one. most_pixels: of all slices of a call; None: as many as four slices across
    each axis of the grid have. settings: those of the command `slices`: window, cutoff, filter, interpolation, pad,
    displaced, nodisplaced, allow_incomplete_arc; variance=True, with photons and electronic, for the variance in place of
    the values. Raises InputError, and PlanError for projections that the device cannot
    hold together.
    """

    def __init__(self, projections: Any, geometry: Geometry, grid: Optional[Grid] = None, *, device: str = "", like: Any = None,
                 most_pixels: Optional[int] = None, **settings: Any) -> None:
        geometry = require_geometry(geometry)
        self.grid = geometry.grid_of(grid)
        k, j, i = self.grid.shape
        room = 4 * (k * j + k * i + j * i) if most_pixels is None else int(most_pixels)
        if room < 1:
            raise InputError(f"--most-pixels is {most_pixels}; expected a number from 1 on, the pixels of all slices of a call")
        words = [(name, [",".join(map(str, _flat(name, value)))]) for name, value in settings.items()
                 if value is not None and value is not False]
        if like is None and not device and _opencl.is_resident(projections):
            like = projections
        self._resident = None if like is None else _opencl.Resident(like, device)
        place = device if self._resident is None else self._resident.place
        self._core = _core.Slices(place, self._given(projections, geometry), geometry.core, self.grid.as_tuple(),
                                  geometry.stack().as_tuple(), room, words)
        for note in self._core.notes:
            log(3, note)

    @property
    def geometry(self) -> Geometry:
        """The views that are there, from the oldest on."""
        return Geometry(self._core.window)

    def reconstruct(self, slices: Any, out: Optional[Sequence[Any]] = None) -> List[Any]:
        """Attenuations in 1/mm of each slice, an array (k, j, i) of its grid's shape. slices: Grids of one layer, such as
        slices.grid[40] and slices.grid[:, 64], or of any other place and direction; at most 64. out: arrays of these
        shapes, one a slice, for the results."""
        given: Sequence[Any] = [slices] if isinstance(slices, Grid) else list(slices)
        for each in given:
            if not isinstance(each, Grid):
                raise TypeError(f"slices= has {each!r}; expected Grids of one layer, such as grid[40], a slice of a Grid")
        scan = self.geometry
        grids = [scan.grid_of(each) for each in given]
        results = [self._empty(each.shape) for each in grids] if out is None else list(out)
        if len(results) != len(grids):
            raise ValueError(f"out= has {len(results)} arrays; expected {len(grids)}, one a slice")
        self._core.reconstruct([each.as_tuple() for each in grids],
                               [self._place(result, each.shape) for result, each in zip(results, grids)])
        return results

    def add(self, projections: Any, geometry: Geometry) -> None:
        """Views that the scan goes on with, in place of as many of the oldest. All views together have to be a full circle
        (of parallel beams: half of one) before and after."""
        geometry = require_geometry(geometry)
        self._core.add(self._given(projections, geometry), geometry.core, geometry.stack().as_tuple())

    def _given(self, projections: Any, geometry: Geometry) -> Any:
        if self._resident is not None and _opencl.is_array(projections):
            memory = self._resident.memory(projections, geometry.shape, "projections")
            self._resident.finish(projections)
            return memory
        return _numbers(projections, geometry)

    def _empty(self, shape: Tuple[int, ...]) -> Any:
        return np.empty(shape, np.float32) if self._resident is None else self._resident.empty(shape)

    def _place(self, out: Any, shape: Tuple[int, ...]) -> Any:
        if self._resident is not None:
            memory = self._resident.memory(out, shape, "out")
            self._resident.finish(out)
            return memory
        if (not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.shape != shape or not out.flags.c_contiguous
                or not out.flags.writeable):
            raise ValueError(f"out= has to have writable, C-contiguous NumPy arrays of float32, here of {shape}")
        return out


def _numbers(projections: Any, geometry: Geometry) -> Any:
    values, shape = as_values(projections, "projections"), geometry.shape
    if values.ndim == 2 and 1 in shape[:2]:  # one view, or one row
        values = values.reshape(shape) if values.size == np.prod(shape) else values
    if values.shape != shape:
        raise InputError(f"--projections is {values.shape}; expected {shape}, as the geometry has views, rows and columns")
    return np.ascontiguousarray(values, np.float32).ravel()
