"""Scan geometries: where source and detector stand in each view."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _check, _core
from ._call import Call
from .errors import InputError, in_keywords
from .grid import Grid

Path = Union[str, "os.PathLike[str]"]
Floats = "np.ndarray[Any, np.dtype[np.float64]]"
_COLUMNS = ("sid", "sdd", "gantry_angles", "out_of_plane_angles", "in_plane_angles", "source_offsets_x", "source_offsets_y",
            "projection_offsets_x", "projection_offsets_y")


def _pixels(detector: Optional[Sequence[int]], pixel: Union[float, Sequence[float], None],
            origin: Optional[Sequence[float]] = None) -> Any:
    if detector is not None and not _are_counts(detector):
        raise InputError(f"--detector is {detector}; expected (rows, columns), whole numbers from 1 on")
    pitch = None if pixel is None else _check.numbers(pixel, "pixel")
    if pitch is not None and (pitch.shape not in ((), (2,)) or not np.all(pitch > 0)):
        raise InputError(f"--pixel is {pixel}; expected one positive number of mm, or (rows, columns)")
    size = None if detector is None else (int(detector[1]), int(detector[0]))
    spacing = None
    if pitch is not None:
        rows, columns = (float(size) for size in np.broadcast_to(pitch, (2,)))
        spacing = (columns, rows)
    if origin is not None and _check.numbers(origin, "detector_origin").shape != (2,):
        raise InputError(f"--detector-origin is {origin}; expected (rows, columns), in mm")
    return _core.DetectorPixels(size, spacing, None if origin is None else (float(origin[1]), float(origin[0])))


def _are_counts(detector: Any) -> bool:
    try:
        return np.shape(detector) == (2,) and all(int(count) == count and count >= 1 for count in detector)
    except (TypeError, ValueError):
        return False


class Geometry:
    """A scan: its views, and the pixels of its detector.

    Lengths are in mm, angles in degrees, in RTK's convention (Rit et al. 2014): the rotation axis is y, and at the
    gantry angle 0 the source stands on +z.
    """

    def __init__(self, core: Any) -> None:
        self.core = core

    @classmethod
    def circular(cls, sid: float, sdd: float, angles: npt.ArrayLike, detector: Optional[Sequence[int]] = None,
                 pixel: Union[float, Sequence[float], None] = None, *, projection_offset_x: float = 0, projection_offset_y: float = 0,
                 source_offset_x: float = 0, source_offset_y: float = 0, out_of_plane: float = 0, in_plane: float = 0,
                 detector_origin: Optional[Sequence[float]] = None, cylindrical_radius: float = 0,
                 fan_stack: bool = False) -> "Geometry":
        """A source on a circle.

        sid, sdd: distances of the source from the isocentre and from the detector; sdd=0: a parallel beam. angles: one
        a view. detector: pixels (rows, columns). pixel: their pitch, one number or (rows, columns). Offsets move source
        and detector in the view's frame. fan_stack: each detector row is seen by a source of its own, at its height, so
        that rows stay in slices. Raises InputError for distances that do not fit.
        """
        beta = np.atleast_1d(_check.numbers(angles, "angles"))
        if beta.ndim != 1:
            raise InputError(f"--angles is {beta.shape}; expected one angle a view")
        if beta.size > 10 and np.all(np.abs(beta) <= 2 * np.pi + 1e-9):
            import warnings

            warnings.warn("all angles lie within 2 pi; they are degrees here (numpy.degrees converts radians)", stacklevel=2)
        rows = np.zeros((beta.size, 9))
        rows[:, 0], rows[:, 1], rows[:, 2] = _check.number(sid, "sid"), _check.number(sdd, "sdd"), beta
        for column, (name, value) in enumerate({
                "out_of_plane": out_of_plane, "in_plane": in_plane, "source_offset_x": source_offset_x, "source_offset_y": source_offset_y,
                "projection_offset_x": projection_offset_x, "projection_offset_y": projection_offset_y}.items(), 3):
            found = _check.numbers(value, name)
            if found.shape not in ((), beta.shape):
                raise InputError(f"--{name.replace('_', '-')} is {found.shape}; expected one number, or one a view ({beta.size})")
            rows[:, column] = found
        return cls.from_views(rows, detector, pixel, detector_origin, cylindrical_radius, fan_stack)

    @classmethod
    def from_views(cls, views: npt.ArrayLike, detector: Optional[Sequence[int]] = None,
                   pixel: Union[float, Sequence[float], None] = None, detector_origin: Optional[Sequence[float]] = None,
                   cylindrical_radius: float = 0, fan_stack: bool = False) -> "Geometry":
        """Nine numbers a view: SID, SDD, gantry, out-of-plane and in-plane angle, source offset x and y, projection
        offset x and y. fan_stack: as of circular()."""
        rows = np.ascontiguousarray(_check.numbers(views, "views"))
        if rows.ndim != 2 or rows.shape[1] != 9:
            raise InputError(f"--views is {rows.shape}; expected (views, 9)")
        return cls(_core.GeometryFile.from_views(rows, float(cylindrical_radius), _pixels(detector, pixel, detector_origin),
                                                 bool(fan_stack)))

    @classmethod
    def read(cls, path: Path, detector: Optional[Sequence[int]] = None, pixel: Union[float, Sequence[float], None] = None,
             detector_origin: Optional[Sequence[float]] = None) -> "Geometry":
        """RTK's XML, rows of ASTRA vectors or matrices, .xtekct, .pca, Data Exchange."""
        return cls(_core.GeometryFile.read(_check.path(path), _pixels(detector, pixel, detector_origin)))

    def write(self, path: Path) -> None:
        """As RTK's XML; .txt: as rows of ASTRA vectors."""
        name = _check.path(path)
        _check.write_text(name, self.core.text("astra") if name.endswith(".txt") else self.core.xml())

    def with_detector(self, detector: Optional[Sequence[int]] = None, pixel: Union[float, Sequence[float], None] = None,
                      detector_origin: Optional[Sequence[float]] = None) -> "Geometry":
        """The same scan with other pixels; what is None stays."""
        return Geometry(self.core.with_detector(_pixels(detector, pixel, detector_origin).or_else(self.core.detector)))

    # Other packages

    @classmethod
    def from_vectors(cls, vectors: npt.ArrayLike, detector: Optional[Sequence[int]] = None) -> "Geometry":
        """ASTRA's vectors, 12 a view: source (or, of parallel beams, the direction of the rays), centre of the detector,
        step to the next column, step to the next row; rotation axis z. A row whose rays are parallel is told by
        from_astra() alone."""
        return cls._from_rows(vectors, 12, "astra cone_vec", detector)

    @classmethod
    def _from_rows(cls, rows: npt.ArrayLike, columns: int, kind: str, detector: Optional[Sequence[int]]) -> "Geometry":
        values = np.atleast_2d(_check.numbers(rows, "vectors"))
        if values.ndim != 2 or values.shape[1] != columns:
            raise InputError(f"--vectors is {values.shape}; expected (views, {columns})")
        if kind == "astra parallel3d_vec":  # either way along a ray is the same line
            backward = np.einsum("ni,ni->n", values[:, :3], np.cross(values[:, 6:9], values[:, 9:12])) > 0
            values = np.where(backward[:, None] & (np.arange(12) < 3), -values, values)
        lines = [f"# format: {kind}"] + [" ".join(repr(float(value)) for value in row) for row in values]
        return cls(_core.GeometryFile.from_text("\n".join(lines) + "\n", "vectors=", "astra", _pixels(detector, None)))

    @classmethod
    def from_matrices(cls, matrices: npt.ArrayLike, detector: Sequence[int], pixel: Union[float, Sequence[float]],
                      detector_origin: Optional[Sequence[float]] = None) -> "Geometry":
        """Projection matrices (views, 3, 4) from world mm to pixels (column, row)."""
        values = _check.numbers(matrices, "matrices")
        if values.ndim != 3 or values.shape[1:] != (3, 4):
            raise InputError(f"--matrices is {values.shape}; expected (views, 3, 4)")
        values = values.reshape(-1, 12)
        lines = ["# format: matrices pixels"] + [" ".join(repr(float(value)) for value in row) for row in values]
        return cls(_core.GeometryFile.from_text("\n".join(lines) + "\n", "matrices=", "matrices",
                                                _pixels(detector, pixel, detector_origin)))

    @classmethod
    def from_astra(cls, proj_geom: Dict[str, Any]) -> "Geometry":
        """A dictionary of astra.create_proj_geom: parallel, parallel3d, fanflat, cone, or one of these with _vec.

        A volume (k, j, i) is ASTRA's (z, y, x) with y reversed: volume[:, ::-1]. A slice (j, i) is ASTRA's as it is.
        """
        if not isinstance(proj_geom, dict):
            raise TypeError(f"proj_geom= is {type(proj_geom).__name__}; expected a dictionary of astra.create_proj_geom()")
        kind = str(proj_geom.get("type"))
        circles = ("parallel", "parallel3d", "fanflat", "cone")
        known = circles + ("parallel_vec", "parallel3d_vec", "fanflat_vec", "cone_vec")
        if kind not in known:
            raise InputError(f"--proj-geom has the type {kind!r}; expected {', '.join(known)}")
        sizes = proj_geom.get("DetectorRowCount", 1), _entry(proj_geom, "DetectorCount", "DetectorColCount")  # of slices, volumes
        detector = _check.counts(sizes, "proj_geom", 2)
        vectors = _astra_vectors(proj_geom) if kind in circles else _numbers_of(proj_geom, "Vectors")
        if kind in ("parallel_vec", "fanflat_vec"):
            vectors = _vectors_of_slice(vectors)
        return cls._from_rows(vectors, 12, "astra parallel3d_vec" if kind.startswith("parallel") else "astra cone_vec", detector)

    def to_astra(self) -> Dict[str, Any]:
        """A dictionary as astra.create_proj_geom("cone_vec" or "parallel3d_vec") makes it."""
        rows, columns = self.detector_shape
        lines = [line for line in self.core.text("astra").splitlines() if line and not line.startswith("#")]
        vectors = np.array([[float(word) for word in line.replace(",", " ").split()] for line in lines])
        return {"type": "parallel3d_vec" if self.parallel else "cone_vec", "DetectorRowCount": rows, "DetectorColCount": columns,
                "Vectors": vectors}

    @classmethod
    def from_tigre(cls, geo: Any, angles: npt.ArrayLike) -> "Geometry":
        """TIGRE's geometry of a circular scan (lengths in mm), and its angles in radians.

        TIGRE turns about z, counter-clockwise from the source on +x; u is along +y at the angle 0. A volume (k, j, i) is
        TIGRE's (z, y, x) with y reversed: volume[:, ::-1]. offDetector is taken over; offOrigin, rotDetector and COR are
        refused.
        """
        _check.parts(geo, "geo", "a geometry of TIGRE with DSO, DSD, nDetector and dDetector", "DSO", "DSD", "nDetector", "dDetector")
        for name in ("offOrigin", "rotDetector", "COR"):
            value = getattr(geo, name, None)
            if value is not None and np.any(_check.numbers(value, f"geo.{name}") != 0):
                raise InputError(f"--geo has {name} that is not 0, which a circular scan has not; give Geometry.from_vectors()")
        beta = np.atleast_1d(_check.numbers(angles, "angles"))
        if beta.ndim != 1:
            raise InputError(f"--angles is {beta.shape}; expected one angle a view")
        cos, sin, zero, one = np.cos(beta), np.sin(beta), np.zeros_like(beta), np.ones_like(beta)
        outward, u, v = np.stack([cos, sin, zero], 1), np.stack([-sin, cos, zero], 1), np.stack([zero, zero, one], 1)
        pitch = _check.numbers(geo.dDetector, "geo.dDetector")
        if pitch.shape != (2,):
            raise InputError(f"geo.dDetector is {geo.dDetector!r}; expected two numbers of mm (rows, columns)")
        dv, du = (float(size) for size in pitch)
        off = getattr(geo, "offDetector", None)
        off = np.atleast_2d(_check.numbers(0 if off is None else off, "geo.offDetector"))
        if off.ndim != 2 or off.shape[1] not in (1, 2) or np.any(off != off[0]):
            raise InputError("geo.offDetector differs from view to view; give Geometry.from_vectors()")
        off = np.broadcast_to(off[0], (2,))
        detector = _check.counts(geo.nDetector, "geo.nDetector", 2)
        shift = off[1] * u + off[0] * v
        if getattr(geo, "mode", "cone") == "parallel":
            return cls._from_rows(np.hstack([-outward, shift, du * u, dv * v]), 12, "astra parallel3d_vec", detector)
        source = _check.number(geo.DSO, "geo.DSO")
        beyond = _check.number(geo.DSD, "geo.DSD") - source
        return cls._from_rows(np.hstack([source * outward, shift - beyond * outward, du * u, dv * v]), 12, "astra cone_vec", detector)

    @classmethod
    def from_rtk(cls, geometry: Any, detector: Optional[Sequence[int]] = None,
                 pixel: Union[float, Sequence[float], None] = None) -> "Geometry":
        """RTK's ThreeDCircularProjectionGeometry, by its accessors."""
        accessors = ("GetSourceToIsocenterDistances", "GetSourceToDetectorDistances", "GetGantryAngles", "GetOutOfPlaneAngles",
                     "GetInPlaneAngles", "GetSourceOffsetsX", "GetSourceOffsetsY", "GetProjectionOffsetsX", "GetProjectionOffsetsY")
        _check.parts(geometry, "geometry", "RTK's ThreeDCircularProjectionGeometry", *accessors, "GetRadiusCylindricalDetector")
        columns = [_check.numbers(getattr(geometry, name)(), f"geometry.{name}()") for name in accessors]
        for index in (2, 3, 4):
            columns[index] = np.degrees(columns[index])
        radius = float(geometry.GetRadiusCylindricalDetector())
        return cls.from_views(np.stack(columns, axis=1), detector, pixel, None, radius)

    @classmethod
    def from_cil(cls, geometry: Any) -> "Geometry":
        """CIL's AcquisitionGeometry of a circular cone or parallel beam.

        A volume (k, j, i) is CIL's (vertical, horizontal_y, horizontal_x) with y reversed: volume[:, ::-1]. An axis,
        source or detector that is not on the line of CIL's default is refused.
        """
        _check.parts(geometry, "geometry", "CIL's AcquisitionGeometry of a cone or parallel beam", "geom_type", "config.system",
                     "config.panel.num_pixels", "config.panel.pixel_size", "config.angles.angle_data", "config.angles.initial_angle",
                     "config.angles.angle_unit")
        if geometry.geom_type not in ("cone", "parallel"):
            raise InputError(f"--geometry is of the type {geometry.geom_type!r}; expected 'cone' or 'parallel'")
        if geometry.geom_type == "cone":
            _check.parts(geometry, "geometry", "CIL's AcquisitionGeometry of a cone beam", "config.system.source.position",
                         "config.system.detector.position")
        config = geometry.config
        panel, system = config.panel, config.system

        def place(part: Any) -> Any:
            return np.asarray(part.position, dtype=float)

        for name in ("rotation_axis", "source", "detector"):
            part = getattr(system, name, None)
            if part is not None and hasattr(part, "position"):
                beside = np.delete(place(part), 1) if name != "rotation_axis" else place(part)
                if np.any(np.abs(beside) > 1e-9):
                    raise InputError(f"--geometry has its {name} at {place(part)}, beside CIL's default line; give Geometry.from_vectors()")
        if getattr(panel, "origin", "bottom-left") != "bottom-left":
            raise InputError(f"--geometry has panel.origin '{panel.origin}'; expected 'bottom-left'")
        angles = _check.numbers(config.angles.angle_data, "geometry.config.angles.angle_data") + float(config.angles.initial_angle)
        if config.angles.angle_unit != "radian":
            angles = np.radians(angles)
        columns, rows = _check.counts(panel.num_pixels, "geometry.config.panel.num_pixels", 2)
        pitch = _check.numbers(panel.pixel_size, "geometry.config.panel.pixel_size")
        if pitch.shape != (2,):
            raise InputError(f"geometry.config.panel.pixel_size is {panel.pixel_size!r}; expected two numbers of mm (columns, rows)")
        du, dv = (float(size) for size in pitch)
        circle = {"type": "parallel3d", "ProjectionAngles": -angles, "DetectorRowCount": rows, "DetectorColCount": columns,
                  "DetectorSpacingX": du, "DetectorSpacingY": dv}
        if geometry.geom_type != "parallel":
            circle.update(type="cone", DistanceOriginSource=float(-place(system.source)[1]),
                          DistanceOriginDetector=float(place(system.detector)[1]))
        return cls.from_astra(circle)

    # Contents

    @property
    def views(self) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """(views, 9), as from_views() takes them."""
        return np.asarray(self.core.views)

    @property
    def angles(self) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """Gantry angles in degrees."""
        return self.views[:, 2]

    @property
    def matrices(self) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """(views, 3, 4): from world mm to detector mm (u, v)."""
        return np.asarray(self.core.matrices)

    @property
    def parallel(self) -> bool:
        return bool(self.core.parallel)

    @property
    def fan_stack(self) -> bool:
        """Each detector row is seen by a source of its own, at its height."""
        return bool(self.core.fan_stack)

    @property
    def detector_shape(self) -> Tuple[int, int]:
        """(rows, columns). Raises InputError where they are not known."""
        if self.core.detector.size is None:
            raise InputError("the geometry does not know its detector; give --detector (rows, columns)")
        columns, rows = self.core.detector.size
        return int(rows), int(columns)

    @property
    def shape(self) -> Tuple[int, int, int]:
        """(views, rows, columns) of its projections."""
        return (len(self), *self.detector_shape)

    def __reduce__(self) -> Any:
        detector = self.core.detector

        def swap(pair: Any) -> Any:
            return None if pair is None else (pair[1], pair[0])

        return _from_parts, (self.views, swap(detector.size), swap(detector.spacing), swap(detector.origin), float(self.core.radius),
                             self.fan_stack, self.core.numbers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Geometry):
            return NotImplemented
        mine, theirs = self.__reduce__()[1], other.__reduce__()[1]
        return np.array_equal(mine[0], theirs[0]) and mine[1:-1] == theirs[1:-1]

    def __hash__(self) -> int:
        return hash((len(self), self.parallel, self.fan_stack))

    def __len__(self) -> int:
        return int(self.core.count)

    def __getitem__(self, views: Any) -> "Geometry":
        """The scan of some of its views, with the same detector: geometry[3], geometry[::2], geometry[[7, 0, 3]]. Numbers as
        of an array's axis: in any order, repeated, negative ones from the end, or a mask. Raises IndexError."""
        return Geometry(self.core.take_views(_check.view_numbers(views, len(self), "geometry[{}]")))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "np.ndarray[Any, Any]":
        """For NumPy: one object, not a sequence of views."""
        found = np.empty((), object)
        found[()] = self
        return found

    def __repr__(self) -> str:
        beam = "parallel beam" if self.parallel else "stack of fans" if self.fan_stack else "divergent beam"
        return f"<Geometry of {len(self)} views, {beam}>"

    def stack(self) -> Grid:
        """The grid of its projections (view, row, column). Raises InputError where the detector or its pixels are not
        known."""
        if self.core.detector.spacing is None and self.detector_shape:
            raise InputError("the geometry does not know how large its pixels are; give --pixel, in mm")
        return Grid.from_tuple(self.core.detector.grid(len(self)))

    def default_grid(self, displaced: bool = True) -> Grid:
        """The volume that the detector sees, with the voxels of its pixels at the isocentre."""
        return Grid.from_tuple(self.core.default_grid(self.stack().as_tuple(), displaced))

    def grid_of(self, grid: Any = None) -> Grid:
        """A volume's grid as it lies in the scan: k along the rotation axis, unless it has a direction; None: default_grid()."""
        found = self.default_grid() if grid is None else grid if isinstance(grid, Grid) else getattr(grid, "grid", None)
        if not isinstance(found, Grid):
            raise TypeError(f"grid= is {grid!r}; expected a Grid, such as halocline.Grid((100, 200, 200), 0.5), or an Image")
        if found.direction is None:
            found = Grid(found.shape, found.spacing, found.origin, (1, 0, 0, 0, 0, 1, 0, 1, 0))
        return found

    def check(self, grid: Optional[Grid] = None) -> str:
        """The findings of `halocline geometry check`, also of a volume. Raises InputError where a right reconstruction is
        impossible."""
        call = Call("geometry check")
        call.geometry(self.core)
        call.grid(grid)
        try:
            call.run()
        except InputError as error:
            raise InputError(str(error).replace("mem:geometry: ", "")) from None
        return in_keywords(call.text.replace("mem:geometry: ", ""))

    def show(self, grid: Optional[Grid] = None, axes: Any = None) -> Any:
        """A drawing with matplotlib: sources, detector and volume from above."""
        import matplotlib.pyplot as plt  # type: ignore[import-not-found, unused-ignore]

        axes = axes or plt.gca()
        box = self.stack().as_tuple()
        first = (box[2][0], box[2][1])
        last = (first[0] + (box[0][0] - 1) * box[1][0], first[1] + (box[0][1] - 1) * box[1][1])
        points = np.asarray(self.core.positions(first, last))
        axes.plot(points[:, 0, 0], points[:, 0, 2], ".", label="sources")
        axes.plot(points[0, 1:3, 0], points[0, 1:3, 2], "-", label="detector, first view")
        corners: List[Tuple[float, float]] = []
        size, spacing, origin, direction = self.grid_of(grid).as_tuple()
        matrix = np.reshape(direction, (3, 3))
        for i, j in ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0)):
            point = np.asarray(origin) + matrix @ (np.array([i * (size[0] - 1), j * (size[1] - 1), 0]) * spacing)
            corners.append((float(point[0]), float(point[2])))
        axes.plot(*zip(*corners), "-", label="volume")
        axes.set(aspect="equal", xlabel="x, mm", ylabel="z, mm")
        axes.legend()
        return axes


def require_geometry(value: Any) -> Geometry:
    """The value, if it is a Geometry; a file's geometry, if it is a path."""
    if isinstance(value, (str, os.PathLike)):
        return Geometry.read(value)
    if not isinstance(value, Geometry):
        raise TypeError(f"geometry= is {type(value).__name__}; expected a halocline.Geometry, or a file's path")
    return value


def _from_parts(views: Any, detector: Any, pixel: Any, origin: Any, radius: float, fan_stack: bool, numbers: Sequence[int]) -> Geometry:
    return Geometry(Geometry.from_views(views, detector, pixel, origin, radius, fan_stack).core.with_numbers(numbers))


def _vectors_of_slice(vectors: "np.ndarray[Any, Any]") -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Six numbers a view as twelve: source or ray, centre of the detector and step in z = 0; rows as high as columns are wide."""
    if vectors.ndim != 2 or vectors.shape[1] != 6:
        raise InputError(f"--vectors is {vectors.shape}; expected (views, 6)")
    found = np.zeros((len(vectors), 12))
    for first, to in ((0, 0), (2, 3), (4, 6)):
        found[:, to:to + 2] = vectors[:, first:first + 2]
    found[:, 11] = np.linalg.norm(vectors[:, 4:6], axis=1)
    return found


def _entry(proj_geom: Dict[str, Any], *names: str) -> Any:
    """That of the first of these names that is there."""
    for name in names:
        if proj_geom.get(name) is not None:
            return proj_geom[name]
    raise InputError(f"--proj-geom of the type {proj_geom['type']!r} has no {' or '.join(names)}; expected a dictionary of "
                     "astra.create_proj_geom()")


def _numbers_of(proj_geom: Dict[str, Any], *names: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return _check.numbers(_entry(proj_geom, *names), f"proj_geom[{names[0]!r}]")


def _number_of(proj_geom: Dict[str, Any], *names: str) -> float:
    return _check.number(_entry(proj_geom, *names), f"proj_geom[{names[0]!r}]")


def _astra_vectors(geometry: Dict[str, Any]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    angles = np.atleast_1d(_numbers_of(geometry, "ProjectionAngles"))
    kind = geometry["type"]
    columns = _number_of({"DetectorWidth": 1, **geometry}, "DetectorSpacingX", "DetectorWidth")
    rows = _number_of({"DetectorSpacingY": columns, **geometry}, "DetectorSpacingY")
    cos, sin, zero, one = np.cos(angles), np.sin(angles), np.zeros_like(angles), np.ones_like(angles)
    u, v = np.stack([columns * cos, columns * sin, zero], 1), np.stack([zero, zero, rows * one], 1)
    if kind in ("parallel", "parallel3d"):
        return np.hstack([np.stack([sin, -cos, zero], 1), np.zeros((angles.size, 3)), u, v])
    if kind in ("fanflat", "cone"):
        source, detector = _number_of(geometry, "DistanceOriginSource"), _number_of(geometry, "DistanceOriginDetector")
        return np.hstack([np.stack([sin * source, -cos * source, zero], 1), np.stack([-sin * detector, cos * detector, zero], 1), u, v])
    raise InputError(f"--proj-geom has the type '{kind}'; expected parallel, parallel3d, fanflat, cone, cone_vec or parallel3d_vec")
