"""Back-projection to patches, and its adjoint, at low latency: the geometry is kept, projections are new at every call."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import numpy as np

from . import _core, _opencl
from .geometry import Geometry, require_geometry
from .grid import Grid
from .image import as_values


class Patches:
    """Boxes of voxels of any place, direction and size: planes, points and parts of a volume, too.

    Voxels are those of unfiltered voxel-driven back-projection (`backproject(projector="voxel")`) at their places in the
    world; project() is its exact adjoint, so the two make a layer of a network. geometry: the scan, with its detector.
    grid: in whose coordinates boxes are computed; None: what the scan sees. boxes: Grids, such as
    patches.grid[3] and patches.grid[10:20, 5:9, 7], or of any other place and direction.
    device: as the command's option. like: a pyopencl.array.Array, in whose context arrays then stay: they are given as
    such arrays of float32, and results are.
    """

    def __init__(self, geometry: Geometry, grid: Optional[Grid] = None, boxes: Optional[Sequence[Grid]] = None, *,
                 device: str = "", like: Any = None) -> None:
        geometry = require_geometry(geometry)
        self.geometry, self.grid = geometry, geometry.grid_of(grid)
        self._like = like
        scan = (geometry.core, self.grid.as_tuple(), geometry.stack().as_tuple())
        if like is None:
            self._core = _core.Patches(device, *scan)
        else:
            self._core = _core.Patches(like.context.int_ptr, _opencl.Home(like).device.int_ptr, *scan)
        self.boxes: List[Grid] = []
        if boxes is not None:
            self.set_boxes(boxes)

    def set_boxes(self, boxes: Sequence[Grid]) -> None:
        """The boxes of the calls that follow."""
        boxes = [boxes] if isinstance(boxes, Grid) else list(boxes)
        for each in boxes:
            if not isinstance(each, Grid):
                raise TypeError(f"boxes= has {each!r}; expected Grids, such as grid[3], a slice of a Grid")
        self.boxes = [self.geometry.grid_of(each) for each in boxes]
        self._core.set_boxes([each.as_tuple() for each in self.boxes])

    def set_views(self, views: Optional[Sequence[int]] = None) -> None:
        """The views that the calls that follow use, by number; None: all. Projections have all of them all the same."""
        self._core.set_views([] if views is None else [int(view) for view in views])

    def replace_views(self, first: int, geometry: Geometry) -> None:
        """Gives views from `first` on the poses of another geometry: a ring, whose projections the caller replaces."""
        self._core.replace_views(int(first), require_geometry(geometry).core)

    def backproject(self, projections: Any, out: Any = None, *, add: bool = False) -> Any:
        """Voxels of the boxes: an array (k, j, i) each, views of one result. out: a float32 array of all voxels, one box
        after another, for them; add: adds to it (arrays of PyOpenCL)."""
        if not self.boxes:
            raise ValueError("there are no boxes; give boxes=, or call set_boxes() before")
        shape = self.geometry.shape
        if self._like is None:
            if add:
                raise ValueError("add=True goes with arrays of PyOpenCL (like=)")
            values = np.ascontiguousarray(_require(as_values(projections, "projections"), shape, "projections"), np.float32)
            out = np.empty(self._core.voxels, np.float32) if out is None else out
            self._core.backproject(values.ravel(), out)
        else:
            _resident(projections, int(np.prod(shape)), "projections")
            if out is None:
                out = _opencl.empty(self._like, (self._core.voxels,))
            _resident(out, self._core.voxels, "out")
            self._core.backproject_on_device(projections.base_data.int_ptr, out.base_data.int_ptr, add)
        return self._split(out)

    def project(self, voxels: Any, out: Any = None) -> Any:
        """Projections (view, row, column) of the boxes: the exact adjoint of backproject(). voxels: all, one box after
        another, or a list of arrays."""
        shape = self.geometry.shape
        if self._like is None:
            parts = voxels if isinstance(voxels, (list, tuple)) else [voxels]
            values = np.concatenate([np.asarray(each, np.float32).ravel() for each in parts])
            out = np.empty(shape, np.float32) if out is None else out
            self._core.project(values, out.reshape(-1))
            return out
        _resident(voxels, self._core.voxels, "voxels")
        out = _opencl.empty(self._like, shape) if out is None else out
        _resident(out, int(np.prod(shape)), "out")
        self._core.project_on_device(voxels.base_data.int_ptr, out.base_data.int_ptr)
        return out

    def _split(self, values: Any) -> List[Any]:
        result, first = [], 0
        for box in self.boxes:
            count = int(np.prod(box.shape))
            result.append(values[first:first + count].reshape(box.shape))
            first += count
        return result


def _require(values: Any, shape: Any, keyword: str) -> Any:
    if tuple(values.shape) != tuple(shape):
        raise ValueError(f"{keyword}= is {tuple(values.shape)}; expected {tuple(shape)}")
    return values


def _resident(array: Any, count: int, keyword: str) -> None:
    if not _opencl.is_array(array) or array.dtype != np.float32 or array.size != count or not array.flags.c_contiguous or array.offset:
        raise ValueError(f"{keyword}= has to be a C-contiguous pyopencl array of {count} numbers of float32 that begins its memory")
    if array.queue is not None:
        array.queue.finish()
