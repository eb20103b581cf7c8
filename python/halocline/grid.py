"""Where voxels lie: size, spacing, origin and direction of a volume."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _check

GridTuple = Tuple[Tuple[int, int, int], Tuple[float, float, float], Tuple[float, float, float], Tuple[float, ...]]


def _three(values: Union[float, Sequence[float]], name: str) -> Tuple[float, float, float]:
    numbers = _check.numbers(values, name)
    if numbers.shape not in ((), (3,)):
        raise ValueError(f"{name}= has {numbers.size} numbers; expected one, or three in the order of the array's axes (k, j, i)")
    k, j, i = (float(value) for value in np.broadcast_to(numbers, (3,)))
    return k, j, i


def _sizes(shape: Any) -> Tuple[int, ...]:
    sizes = (shape,) * 3 if isinstance(shape, (int, np.integer)) else shape
    try:
        numbers = tuple(int(size) for size in sizes)
        whole = len(numbers) == 3 and all(number == size and number >= 1 for number, size in zip(numbers, sizes))
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"shape= is {shape!r}; expected three whole numbers (k, j, i) from 1 on")
    return numbers


@dataclasses.dataclass(frozen=True)
class Grid:
    """The voxels of a volume.

    shape: voxels along the array's axes (k, j, i). spacing: their pitch in mm, one number or three in the same order.
    origin: world position (x, y, z) of the centre of voxel [0, 0, 0] in mm; None: the volume is centred at the
    isocentre. direction: 3 x 3, whose columns are the world directions of the axes i, j, k (ITK's convention); None:
    for reconstructions k runs along the axis of rotation, for other volumes the identity.
    """

    shape: Tuple[int, int, int]
    spacing: Tuple[float, float, float] = (1.0, 1.0, 1.0)
    origin: Optional[Tuple[float, float, float]] = None
    direction: Optional[Tuple[float, ...]] = None

    def __init__(self, shape: Union[int, Sequence[int]], spacing: Union[float, Sequence[float]] = 1.0,
                 origin: Optional[Sequence[float]] = None, direction: Optional[npt.ArrayLike] = None) -> None:
        set_field = object.__setattr__
        set_field(self, "shape", _sizes(shape))
        set_field(self, "spacing", _three(spacing, "spacing"))
        if not all(0 < size < np.inf for size in self.spacing):
            raise ValueError(f"spacing= is {spacing}; expected positive numbers of mm")
        set_field(self, "origin", None if origin is None else _three(origin, "origin"))
        matrix = None if direction is None else _check.numbers(direction, "direction")
        if matrix is not None and matrix.size != 9:
            raise ValueError(f"direction= has {matrix.size} numbers; expected 3 x 3")
        set_field(self, "direction", None if matrix is None else tuple(float(value) for value in matrix.ravel()))

    @property
    def placed(self) -> bool:
        """True if origin and direction are given."""
        return self.origin is not None and self.direction is not None

    def as_tuple(self) -> GridTuple:
        """(size, spacing, origin, direction), i first; what is not given is centred, with the identity."""
        k, j, i = self.shape
        dk, dj, di = self.spacing
        direction = self.direction or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
        origin = self.origin
        if origin is None:
            middle = np.array([(i - 1) / 2 * di, (j - 1) / 2 * dj, (k - 1) / 2 * dk])
            x, y, z = -np.reshape(direction, (3, 3)) @ middle + 0.0
            origin = (float(x), float(y), float(z))
        return (i, j, k), (di, dj, dk), origin, direction

    def __getitem__(self, part: Any) -> "Grid":
        """The grid of a part of the volume, at its place: slices and whole numbers along k, j, i, as of an array;
        a whole number leaves an axis of one."""
        given = part if isinstance(part, tuple) else (part,)
        if len(given) > 3 or any(isinstance(each, slice) and each.step not in (None, 1) for each in given):
            raise IndexError(f"{part!r} is no part of a grid; expected up to three numbers or slices without steps (k, j, i)")
        first, shape = [], []
        for each, size in zip(given + (slice(None),) * (3 - len(given)), self.shape):
            begin, end = each.indices(size)[:2] if isinstance(each, slice) else (range(size)[each], range(size)[each] + 1)
            if end <= begin:
                raise IndexError(f"{part!r} has no voxels; the grid has {self.shape}")
            first.append(begin)
            shape.append(end - begin)
        _, spacing, origin, direction = self.as_tuple()
        place = np.asarray(origin) + np.reshape(direction, (3, 3)) @ (np.asarray(first[::-1]) * spacing)
        return Grid(shape, self.spacing, tuple(float(each) for each in place), direction)

    @classmethod
    def from_tuple(cls, values: GridTuple) -> "Grid":
        size, spacing, origin, direction = values
        return cls(size[::-1], spacing[::-1], origin, direction)

    @classmethod
    def like(cls, image: Any, spacing: Union[float, Sequence[float]] = 1.0) -> "Grid":
        """That of an Image or a Grid; for an array: of its shape, with `spacing`."""
        if isinstance(image, Grid):
            return image
        grid = getattr(image, "grid", None)
        if isinstance(grid, Grid):
            return grid
        if isinstance(image, (int, float, str, tuple, list, dict, set)) or np.ndim(image) not in (2, 3):
            raise TypeError(f"grid= is {image!r}; expected a halocline.Grid, an Image or an array: Grid((k, j, i), spacing)")
        shape = np.shape(image)
        return cls((1,) * (3 - len(shape)) + tuple(shape), spacing)
