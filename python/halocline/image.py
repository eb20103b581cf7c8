"""Arrays with their grid, and image files."""

from __future__ import annotations

import html
import os
from typing import Any, List, Optional, Tuple, Union

import numpy as np

from . import _check, _core, _opencl
from ._logging import log
from .errors import InputError
from .grid import Grid

Path = Union[str, "os.PathLike[str]"]
_READABLE = {"f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"}


def as_values(array: Any, keyword: str, any_axes: bool = False) -> "np.ndarray[Any, Any]":
    """A C-contiguous NumPy array in the host's byte order, without a copy where it is one. torch and cupy arrays come
    from their device."""
    kind = "None" if array is None else type(array).__name__
    if isinstance(array, Image):
        array = array.array
    if not isinstance(array, np.ndarray):
        array = _to_host(array)
    elif type(array) is not np.ndarray:
        array = _Kept(array)
    values = np.asarray(array)
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    if values.dtype.kind == "O":
        raise TypeError(f"{keyword}= is {kind}; expected an array of numbers")
    if values.dtype.kind not in "fiu":
        raise TypeError(f"{keyword}= holds {values.dtype}; expected an array of numbers")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.dtype.str[1:] not in _READABLE:
        values = values.astype(np.float32)
    if not any_axes and values.ndim not in (2, 3):
        raise ValueError(f"{keyword}= has {values.ndim} axes; expected 3, or 2 for a single slice or detector row")
    if values.size == 0:
        raise ValueError(f"{keyword}= is empty")
    return np.ascontiguousarray(values)


class _Kept:
    """An array of a class of its own, which may hold what owns its memory (ITK's views do): NumPy's views of it keep
    this object, but of a class derived from theirs they keep the bare array alone."""

    def __init__(self, array: "np.ndarray[Any, Any]") -> None:
        self._array, self.__array_interface__ = array, array.__array_interface__


def _to_host(array: Any) -> Any:
    if hasattr(array, "detach"):  # torch
        array = array.detach()
    if hasattr(array, "cpu"):
        array = array.cpu()
    if _opencl.is_array(array):
        return _opencl.to_host(array)
    if _opencl.is_buffer(array):
        raise TypeError("a pyopencl.Buffer has no shape; give a pyopencl.array.Array")
    if type(array).__module__.split(".")[0] == "cupy":
        return array.get()
    if hasattr(array, "numpy"):
        return array.numpy()
    return np.asarray(array)


def like_input(result: Any, given: Any) -> Any:
    """The result as the kind of array that was given: torch to torch on its device, cupy to cupy, others as NumPy's."""
    if _opencl.is_array(result):
        return result.base_data if _opencl.is_buffer(given) else result
    kind = type(given).__module__.split(".")[0]
    if kind == "torch":
        import torch  # type: ignore[import-not-found, unused-ignore]

        return torch.from_numpy(result).to(given.device)
    if kind == "cupy":
        import cupy  # type: ignore[import-not-found, unused-ignore]

        return cupy.asarray(result)
    if _opencl.is_array(given):
        import pyopencl.array  # type: ignore[import-not-found, unused-ignore]

        return pyopencl.array.to_device(_opencl.queue_of(given), result)
    return result


class Image:
    """An array (k, j, i) with its grid."""

    def __init__(self, array: Any, grid: Optional[Grid] = None) -> None:
        self.array: "np.ndarray[Any, Any]" = as_values(array, "array")
        if self.array.ndim == 2:
            self.array = self.array[np.newaxis]
        if grid is not None and not isinstance(grid, Grid):
            raise TypeError(f"grid= is {grid!r}; expected a Grid, such as halocline.Grid({self.array.shape}, 0.5)")
        self.grid = grid or Grid(self.array.shape)
        if self.array.shape != self.grid.shape:
            raise ValueError(f"array= is {self.array.shape}, its grid {self.grid.shape}")

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "np.ndarray[Any, Any]":
        if copy:
            return np.array(self.array, dtype=dtype)
        return np.asarray(self.array, dtype=dtype)

    @property
    def shape(self) -> Tuple[int, int, int]:
        return self.grid.shape

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.grid.shape))
        return f"<Image {size} of {' x '.join(f'{value:g}' for value in self.grid.spacing)} mm, {self.array.dtype}>"

    def _repr_html_(self) -> str:
        return in_frame(_core.report_html("Image", [("image", self.array, self.grid.as_tuple())], "", 128))

    def to_xarray(self) -> Any:
        """An xarray.DataArray with the axes k, j, i and their distances from the first voxel in mm."""
        import xarray  # type: ignore[import-not-found, unused-ignore]

        axes = {name: spacing * np.arange(count)
                for name, spacing, count in zip("kji", self.grid.spacing, self.grid.shape)}
        return xarray.DataArray(self.array, dims=("k", "j", "i"), coords=axes, attrs={"units": "mm"})

    def to_itk(self) -> Any:
        """An itk.Image with the same place in the world, of the same memory."""
        import itk  # type: ignore[import-not-found, unused-ignore]

        image = itk.image_view_from_array(self.array)
        _, spacing, origin, direction = self.grid.as_tuple()
        image.SetSpacing(spacing)
        image.SetOrigin(origin)
        image.SetDirection(np.reshape(direction, (3, 3)))
        return image

    @classmethod
    def from_itk(cls, image: Any) -> "Image":
        """Makes an Image of an itk.Image, without a copy."""
        import itk

        array = itk.array_view_from_image(image)
        grid = Grid(array.shape, list(image.GetSpacing())[::-1], list(image.GetOrigin()),
                    itk.array_from_matrix(image.GetDirection()))
        return cls(array, grid)


def read(path: Path, allow_nonfinite: bool = False) -> Image:
    """Reads an image file as float32: MetaImage (.mha, .mhd, .raw), plain NRRD, NIfTI and TIFF; other forms where the
    package was built with ITK, else TIFF through tifffile and the rest through SimpleITK.

    Raises InputError for a file that cannot be read, or that holds NaN or infinite values unless allow_nonfinite.
    """
    name = _check.path(path)
    if not _is_read_here(name):
        return _read_elsewhere(name, allow_nonfinite)
    values, grid = _core.read_image(name, allow_nonfinite, log)
    return Image(values, Grid.from_tuple(grid))


class ImageFile(os.PathLike):  # type: ignore[type-arg, unused-ignore]
    """An image file that open() found. Verbs take it as they take its path, and read it piece by piece: it may be larger
    than memory. grid: where its voxels lie; dtype: the type of its values; read(): an Image of them."""

    def __init__(self, path: str, grid: Grid, dtype: str, format: str) -> None:
        self.path, self.grid, self.dtype, self.format = path, grid, np.dtype(dtype), format

    def __fspath__(self) -> str:
        return self.path

    @property
    def shape(self) -> Tuple[int, int, int]:
        return self.grid.shape

    def read(self, allow_nonfinite: bool = False) -> Image:
        return read(self.path, allow_nonfinite)

    def __repr__(self) -> str:
        return f"<{self.format} '{self.path}' of {' x '.join(map(str, self.shape))}, {self.dtype}>"


def open(path: Path) -> ImageFile:
    """An image file, of which the header alone is read. Raises InputError for one that cannot be read."""
    name = _check.path(path)
    if not _is_read_here(name):
        raise InputError(f"'{name}' cannot be read piece by piece; read() it, or store it as .mha")
    grid, component, format = _core.image_info(name)
    return ImageFile(name, Grid.from_tuple(grid), component, format)


def write(path: Path, image: Any, grid: Optional[Grid] = None) -> None:
    """Writes an Image, or an array with its grid, in the type that it has. The file appears whole or not at all.

    A grid without a direction is written with the identity; that of a reconstruction is geometry.grid_of(grid).

    Raises InputError for an unknown extension, FileError if the disk is full or the folder cannot be written.
    """
    name = _check.path(path)
    placed = image if isinstance(image, Image) and grid is None else Image(image, grid)
    if not _own_format(name):
        return _write_elsewhere(name, placed)
    _core.write_image(name, placed.array, placed.grid.as_tuple(), log)


def _own_format(name: str) -> bool:
    return name.lower().endswith((".mha", ".mhd", ".raw")) or _core.WITH_ITK


def _is_read_here(name: str) -> bool:
    if _own_format(name):
        return True
    try:
        _core.image_info(name)
    except InputError:
        return False
    return True


def _read_elsewhere(name: str, allow_nonfinite: bool) -> Image:
    array, grid = _read_tiff(name) if name.lower().endswith((".tif", ".tiff")) else _read_simple_itk(name)
    if not np.isfinite(array).all():
        if not allow_nonfinite:
            raise ValueError(f"'{name}' holds NaN or infinite values; mend it, or read it with allow_nonfinite=True")
        array = np.nan_to_num(array, nan=0.0, posinf=0.0, neginf=0.0)
    return Image(array, grid)


def _read_tiff(name: str) -> "Tuple[np.ndarray[Any, Any], Grid]":
    """SimpleITK reads 32-bit whole numbers and float16 of TIFF files as something else."""
    try:
        import tifffile  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError(f"'{name}': TIFF needs tifffile; install it (pip install halocline[images]), or use .mha") from None
    try:
        with tifffile.TiffFile(name) as file:
            page, array = file.pages.first, file.asarray()
            tags = {tag: page.tags.valueof(tag) for tag in (282, 283, 296)}  # resolution, and its unit
            samples, photometric = page.samplesperpixel, page.photometric
    except OSError:
        raise
    except Exception as error:
        raise InputError(f"'{name}' cannot be read: {error}") from None
    if samples != 1 or photometric not in (0, 1) or array.dtype.kind not in "uifb" or not 2 <= array.ndim <= 3:
        raise InputError(f"'{name}' holds {array.dtype} of shape {array.shape}, {samples} values a pixel; one grey value a "
                         "pixel of 2D or 3D images can be read: convert it")
    array = array.astype(np.float32).reshape((-1, *array.shape[-2:]))
    unit = {2: 25.4, 3: 10.0}.get(int(tags[296] or 0))
    spacing = [1.0, 1.0, 1.0]
    for axis, tag in ((2, 282), (1, 283)):
        if unit and tags[tag] and tags[tag][0]:
            spacing[axis] = unit * tags[tag][1] / tags[tag][0]
    return array, Grid(array.shape, spacing, [0.0, 0.0, 0.0], np.eye(3))


def _read_simple_itk(name: str) -> "Tuple[np.ndarray[Any, Any], Grid]":
    itk = _simple_itk(name)
    found = itk.ReadImage(name)
    array = itk.GetArrayFromImage(found).astype(np.float32)
    if array.ndim == 2:
        array = array[np.newaxis]
    fill: List[float] = [1.0] * (3 - len(found.GetSpacing()))
    direction = np.eye(3)
    count = len(found.GetSpacing())
    direction[:count, :count] = np.reshape(found.GetDirection(), (count, count))
    grid = Grid(array.shape, [*fill, *found.GetSpacing()[::-1]], [*found.GetOrigin(), *[0.0] * len(fill)], direction)
    return array, grid


def _write_elsewhere(name: str, image: Image) -> None:
    itk = _simple_itk(name)
    out = itk.GetImageFromArray(image.array)
    _, spacing, origin, direction = image.grid.as_tuple()
    out.SetSpacing(spacing)
    out.SetOrigin(origin)
    out.SetDirection(direction)
    itk.WriteImage(out, name)


def _simple_itk(name: str) -> Any:
    try:
        import SimpleITK  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError(f"'{name}': this format needs SimpleITK; install it (pip install halocline[images]), or use .mha") from None
    return SimpleITK


class DeviceImage:
    """An array of PyOpenCL with its grid, as Image is one in host memory."""

    def __init__(self, array: Any, grid: Grid) -> None:
        self.array, self.grid = array, grid

    @property
    def shape(self) -> Tuple[int, int, int]:
        return self.grid.shape

    @property
    def ndim(self) -> int:
        return 3

    def get(self) -> "np.ndarray[Any, Any]":
        """The values, as a NumPy array."""
        found: "np.ndarray[Any, Any]" = _opencl.to_host(self.array)
        return found

    def __repr__(self) -> str:
        return f"<DeviceImage {' x '.join(map(str, self.shape))} of {' x '.join(f'{value:g}' for value in self.grid.spacing)} mm>"

    def __reduce__(self) -> Any:
        return Image, (self.get(), self.grid)


def in_frame(text: str, height: int = 640) -> str:
    """The page as part of a notebook."""
    return (f'<iframe srcdoc="{html.escape(text, quote=True)}" style="width:100%;height:{height}px;border:0" '
            'sandbox="allow-scripts"></iframe>')
