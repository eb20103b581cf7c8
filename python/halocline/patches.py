"""Back-projection to patches, and its adjoint, at low latency: the geometry is kept, projections are new at every call."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

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
    voxels: the number of voxels of all boxes. device: as the command's option. like: a pyopencl.array.Array, in whose
    context arrays then stay: they are given as such arrays of float32, and results are. Several threads may use one object;
    a call while another thread sets boxes of another size may be refused.
    """

    def __init__(self, geometry: Geometry, grid: Optional[Grid] = None, boxes: Optional[Sequence[Grid]] = None, *,
                 device: str = "", like: Any = None) -> None:
        geometry = require_geometry(geometry)
        self.geometry, self.grid = geometry, geometry.grid_of(grid)
        self._resident = None if like is None else _opencl.Resident(like, device)
        scan = (geometry.core, self.grid.as_tuple(), geometry.stack().as_tuple())
        self._core = _core.Patches(device if self._resident is None else self._resident.place, *scan)
        self.boxes: List[Grid] = []
        self.voxels = 0
        self.changes = 0  # of boxes and views
        self._shapes: List[Tuple[int, Tuple[int, int, int]]] = []
        if boxes is not None:
            self.set_boxes(boxes)

    @property
    def is_resident(self) -> bool:
        """True with like=: arrays are those of PyOpenCL."""
        return self._resident is not None

    def set_boxes(self, boxes: Sequence[Grid]) -> None:
        """The boxes of the calls that follow."""
        boxes = [boxes] if isinstance(boxes, Grid) else list(boxes)
        for each in boxes:
            if not isinstance(each, Grid):
                raise TypeError(f"boxes= has {each!r}; expected Grids, such as grid[3], a slice of a Grid")
        placed = [self.geometry.grid_of(each) for each in boxes]
        self.changes += 1
        self._core.set_boxes([each.as_tuple() for each in placed])
        self.boxes, self._shapes, self.voxels = placed, [], 0
        for box in placed:
            self._shapes.append((self.voxels, box.shape))
            self.voxels += box.shape[0] * box.shape[1] * box.shape[2]

    def set_views(self, views: Optional[Sequence[int]] = None) -> None:
        """The views that the calls that follow use, by number; None: all. Projections have all of them all the same."""
        self.changes += 1
        if views is None:
            self._core.set_views([])
            return
        numbers: List[Any] = list(views) if isinstance(views, (list, tuple, range, np.ndarray)) else [views]
        if not numbers or any(isinstance(each, (bool, np.bool_)) or not isinstance(each, (int, np.integer)) for each in numbers):
            raise ValueError(f"views= is {views!r}; expected at least one whole number, or None for all views")
        count = self.geometry.shape[0]
        wrong = [int(each) for each in numbers if not 0 <= each < count]
        if wrong:
            raise ValueError(f"views= has {wrong[0]}; expected numbers from 0 to {count - 1}")
        self._core.set_views([int(each) for each in numbers])

    def replace_views(self, first: int, geometry: Geometry) -> None:
        """Gives views from `first` on the poses of another geometry with the same detector: a ring, whose projections the
        caller replaces. `geometry` of the Patches remains that of the beginning."""
        own, new = self.geometry.stack().as_tuple(), require_geometry(geometry).stack().as_tuple()
        if (own[0][:2], own[1][:2], own[2][:2]) != (new[0][:2], new[1][:2], new[2][:2]):
            raise ValueError("geometry= has another detector; views are replaced by those of the same one")
        if isinstance(first, bool) or not isinstance(first, (int, np.integer)) or first < 0:
            raise ValueError(f"first= is {first!r}; expected the number of a view, from 0 on")
        self.changes += 1
        self._core.replace_views(int(first), geometry.core)

    def backproject(self, projections: Any, out: Any = None, *, add: bool = False) -> Sequence[Any]:
        """Voxels of the boxes: an array (k, j, i) each, views of one result. out: a float32 array of all voxels, one box
        after another, for them; add: adds to it (arrays of PyOpenCL)."""
        if not self.boxes:
            raise ValueError("there are no boxes; give boxes=, or call set_boxes() before")
        shape = self.geometry.shape
        if add and (out is None or self._resident is None):
            raise ValueError("add=True adds to out=, an array of PyOpenCL (like=)")
        if self._resident is None:
            values = np.ascontiguousarray(_require(as_values(projections, "projections"), shape, "projections"), np.float32)
            out = np.empty(self.voxels, np.float32) if out is None else _place(out, self.voxels)
            self._core.backproject(values.ravel(), out)
        else:
            if out is None:
                out = self._resident.empty((self.voxels,))
            memory = self._memory(projections, shape, "projections"), self._memory(out, (self.voxels,), "out")
            self._resident.finish(projections, out)
            self._core.backproject_on_device(*memory, add)
        return _Parts(out, self._shapes)

    def project(self, voxels: Any, out: Any = None) -> Any:
        """Projections (view, row, column) of the boxes: the exact adjoint of backproject(). voxels: an array of each box,
        or one of all voxels, box after box (arrays of PyOpenCL: the latter)."""
        if not self.boxes:
            raise ValueError("there are no boxes; give boxes=, or call set_boxes() before")
        shape = self.geometry.shape
        if self._resident is None:
            values = self._joined(voxels)
            out = np.empty(shape, np.float32) if out is None else _place(out, int(np.prod(shape)))
            self._core.project(values, out.reshape(-1))
            return out
        out = self._resident.empty(shape) if out is None else out
        memory = self._memory(voxels, (self.voxels,), "voxels"), self._memory(out, shape, "out")
        self._resident.finish(voxels, out)
        self._core.project_on_device(*memory)
        return out

    def _memory(self, array: Any, shape: Sequence[int], keyword: str) -> int:
        assert self._resident is not None
        memory, offset = self._resident.memory(array, shape, keyword)
        if offset:
            raise ValueError(f"{keyword}= begins within its memory; give one that begins it, such as a copy")
        return memory

    def _joined(self, voxels: Any) -> Any:
        if not isinstance(voxels, (list, tuple)):
            values = as_values(voxels, "voxels", any_axes=True)
            if values.size != self.voxels:
                raise ValueError(f"voxels= has {values.size} numbers; the boxes have {self.voxels}")
            return np.ascontiguousarray(values, np.float32).ravel()
        if len(voxels) != len(self.boxes):
            raise ValueError(f"voxels= has {len(voxels)} arrays; there are {len(self.boxes)} boxes")
        parts = [_require(as_values(each, "voxels", any_axes=True), box.shape, "voxels") for each, box in zip(voxels, self.boxes)]
        return np.concatenate([np.asarray(each, np.float32).ravel() for each in parts])


class _Parts(Sequence[Any]):
    """Parts of one array with these shapes, one after another: views, which are made when they are asked for."""

    def __init__(self, values: Any, shapes: Sequence[Tuple[int, Tuple[int, int, int]]]) -> None:
        self._values, self._shapes = values, shapes

    def __len__(self) -> int:
        return len(self._shapes)

    def __getitem__(self, n: Any) -> Any:
        if isinstance(n, slice):
            return [self[each] for each in range(*n.indices(len(self)))]
        first, shape = self._shapes[n]
        return self._values[first:first + shape[0] * shape[1] * shape[2]].reshape(shape)


def _require(values: Any, shape: Any, keyword: str) -> Any:
    if tuple(values.shape) != tuple(shape):
        raise ValueError(f"{keyword}= is {tuple(values.shape)}; expected {tuple(shape)}")
    return values


def _place(out: Any, count: int) -> Any:
    if (not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.size != count or not out.flags.c_contiguous
            or not out.flags.writeable):
        raise ValueError(f"out= has to be a writable, C-contiguous NumPy array of {count} numbers of float32")
    return out
