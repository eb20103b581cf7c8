"""Slices of any place, direction and size from filtered projections that stay on the device."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import numpy as np

from . import _core
from ._call import _flat
from ._logging import log
from .errors import InputError
from .geometry import Geometry, require_geometry
from .grid import Grid, GridTuple
from .image import as_values

_LARGEST = 1e30


class Slices:
    """Quasi-3D reconstruction (Buurlage, Kohr, Palenstijn & Batenburg 2018): projections are filtered once, and stay on
    one device for slices of any place, direction and size at each call. Pixels that are voxels of `grid` have the bits
    that fdk() gives them.

    projections: line integrals (view, row, column). geometry: the scan, with its detector. grid: in whose coordinates
    slices are computed; None: what the scan sees. device: as the command's option. most_pixels: of all slices of a call;
    None: as many as four slices across each axis of the grid have. settings: those of the command `slices`: window,
    cutoff, filter, interpolation, pad, displaced, nodisplaced, allow_incomplete_arc; variance=True, with photons and electronic,
    for the variance in place of the values. Raises InputError, and PlanError for projections that the device cannot
    hold together.
    """

    def __init__(self, projections: Any, geometry: Geometry, grid: Optional[Grid] = None, *, device: str = "",
                 most_pixels: Optional[int] = None, **settings: Any) -> None:
        geometry = require_geometry(geometry)
        self.grid = geometry.grid_of(grid)
        k, j, i = self.grid.shape
        room = 4 * (k * j + k * i + j * i) if most_pixels is None else int(most_pixels)
        if room < 1:
            raise InputError(f"--most-pixels is {most_pixels}; expected a number from 1 on, the pixels of all slices of a call")
        words = [(name, [",".join(map(str, _flat(name, value)))]) for name, value in settings.items()
                 if value is not None and value is not False]
        self._core = _core.Slices(device, _numbers(projections, geometry), geometry.core, self.grid.as_tuple(),
                                  geometry.stack().as_tuple(), room, words)
        for note in self._core.notes:
            log(3, note)

    @property
    def geometry(self) -> Geometry:
        """The views that are there, from the oldest on."""
        return Geometry(self._core.window)

    def reconstruct(self, slices: Any) -> List[Any]:
        """Attenuations in 1/mm of each slice, an array (k, j, i) of its grid's shape. slices: Grids of one layer, such as
        slices.grid[40] and slices.grid[:, 64], or of any other place and direction; at most 64."""
        given: Sequence[Any] = [slices] if isinstance(slices, Grid) else list(slices)
        for each in given:
            if not isinstance(each, Grid):
                raise TypeError(f"slices= has {each!r}; expected Grids of one layer, such as grid[40], a slice of a Grid")
        scan = self.geometry
        grids = [scan.grid_of(each) for each in given]
        layers = [_layer(each) for each in grids]
        results = [np.empty(each.shape, np.float32) for each in grids]
        self._core.reconstruct(layers, results)
        return results

    def add(self, projections: Any, geometry: Geometry) -> None:
        """Views that the scan goes on with, in place of as many of the oldest. All views together have to be a full circle
        (of parallel beams: half of one) before and after."""
        geometry = require_geometry(geometry)
        self._core.add(_numbers(projections, geometry), geometry.core, geometry.stack().as_tuple())


def _numbers(projections: Any, geometry: Geometry) -> Any:
    values, shape = as_values(projections, "projections"), geometry.shape
    if values.ndim == 2 and 1 in shape[:2]:  # one view, or one row
        values = values.reshape(shape) if values.size == np.prod(shape) else values
    if values.shape != shape:
        raise InputError(f"--projections is {values.shape}; expected {shape}, as the geometry has views, rows and columns")
    if not (-_LARGEST <= values.min() and values.max() <= _LARGEST):
        raise InputError(f"--projections has values that are NaN, infinite or beyond {_LARGEST:g}; mend them, as a filter spreads them "
                         "over their rows")
    return np.ascontiguousarray(values, np.float32).ravel()


def _layer(grid: Grid) -> GridTuple:
    """The same pixels in the same order with their one layer along k."""
    size, spacing, origin, direction = grid.as_tuple()
    across = next((axis for axis in (2, 1, 0) if size[axis] == 1), None)
    if across is None:
        raise InputError(f"--slices has a grid of {grid.shape}; expected one layer along one axis, such as grid[40]")
    axes = [axis for axis in (0, 1, 2) if axis != across] + [across]
    turned = np.reshape(direction, (3, 3))[:, axes].ravel()
    i, j, k = axes
    return (size[i], size[j], size[k]), (spacing[i], spacing[j], spacing[k]), origin, tuple(float(each) for each in turned)
