"""The verbs of the command as functions: arrays in, arrays out.

Every function takes the settings of its verb as keywords: ``device_memory="2G"``, ``nonnegative=True``, ``weights=array``,
``lambda_=3``. help(halocline.fdk) lists their names, `halocline help fdk` says what they do. A keyword for an output
(``variance_out=True``) puts that image into Info.outputs.
"""

from __future__ import annotations

import inspect
import json
import os
from keyword import iskeyword
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _check, _opencl
from ._core import Named
from ._call import Call, Progress, is_array, rows
from .errors import InputError
from .geometry import Geometry, require_geometry
from .grid import Grid
from .image import Image, like_input

Path = Union[str, "os.PathLike[str]"]


class Info:
    """Findings of a call: the results of the command's report by name (relative_gap, alpha, iterations, ...)."""

    def __init__(self, call: Call, outputs: Dict[str, Image]) -> None:
        self.report: Dict[str, Any] = call.report
        self.results: Dict[str, Any] = call.report.get("results", {}) or {}
        self.text: str = call.text
        self.outputs: Dict[str, Image] = outputs

    def __getattr__(self, name: str) -> Any:
        results = self.__dict__.get("results", {})
        if name in results:
            return results[name]
        raise AttributeError(f"there is no result '{name}'; there are {', '.join(sorted(results)) or 'none'}")

    @property
    def history(self) -> "np.ndarray[Any, Any]":
        """The records of an iterative method, as a structured array."""
        rows = self.results.get("history", [])
        names = list(dict.fromkeys(name for row in rows for name in row))
        kinds = [(name, "f8") for name in names]
        return np.array([tuple(_number(row.get(name)) for name in names) for row in rows], dtype=kinds)

    def plot(self, axes: Any = None, *, x: Optional[str] = None, y: Optional[str] = None) -> Any:
        """One quantity of the history over another, with matplotlib; several runs go into the same axes.

        x: "seconds", "passes" or "iteration"; None: the last two. y: a name of Info.history, such as "truth_psnr"; None: the
        error to the truth, else the relative gap or the residual. Raises ValueError for a quantity that it has not.
        """
        history = self.history
        names = [name for name in history.dtype.names or () if np.isfinite(history[name]).any()]
        x = x or next((name for name in ("passes", "iteration") if name in names), None)
        y = y or next((name for name in ("truth_relative", "relative_gap", "residual", "fidelity") if name in names), None)
        if x is None or y is None:
            raise ValueError("this method keeps no history")
        for keyword, name in {"x": x, "y": y}.items():
            if name not in names:
                raise ValueError(f"{keyword}= is {name!r}; the history has {', '.join(names)}")
        if axes is None:
            import matplotlib.pyplot as plt  # type: ignore[import-not-found, unused-ignore]

            axes = plt.gca()
        axes.plot(history[x], history[y], marker=".", label=self.results.get("method"))
        axes.set(xlabel=x, ylabel=y.replace("_", " "), yscale="linear" if y == "truth_psnr" else "log")
        return axes

    def __repr__(self) -> str:
        plain = {name: value for name, value in self.results.items() if isinstance(value, (int, float, str, bool))}
        return "<Info " + ", ".join(f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
                                    for name, value in plain.items()) + ">"


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _planned(call: Call, options: Dict[str, Any]) -> str:
    call.options({**options, "dry_run": True})
    call.run()
    return call.text


def _finish(call: Call, given: Any, out: Any, return_info: bool, progress: Progress, as_image: bool = False, single: int = 0) -> Any:
    """The result of the call, as `given` is: of two axes, it has no axis `single` either. dry_run=True: the plan's text."""
    found = call.run(progress)
    if call.dry:
        return (call.text, Info(call, {})) if return_info else call.text
    info = Info(call, {name: image for name, image in found.items() if name != "out"})
    if isinstance(out, (str, os.PathLike)):
        result: Any = None
    elif out is not None:
        result = out
    elif as_image or isinstance(given, Image):
        result = found.get("out")
    else:
        result = like_input(found["out"].array, given) if "out" in found else None
    if result is not None and out is None:
        result = _flattened(result, given, single)
    return (result, info) if return_info else result


def _flattened(result: Any, given: Any, single: int = 0) -> Any:
    if isinstance(result, Image) or isinstance(given, (str, os.PathLike)) or np.ndim(given) != 2 or result.shape[single] != 1:
        return result
    return result.reshape([size for axis, size in enumerate(result.shape) if axis != single])


def _rows(values: Any) -> Any:
    """A fan beam's (view, column) as (view, row, column)."""
    if not is_array(values) or isinstance(values, Image) or np.ndim(values) != 2:
        return values
    views, columns = np.shape(values)
    return values.reshape((views, 1, columns))


def _stack(projections: Any, geometry: Any) -> Optional[Grid]:
    """Where projections lie, if they are an array without a grid."""
    if isinstance(projections, (Image, str, os.PathLike)):
        return None
    if projections is None or isinstance(projections, (bool, int, float, dict)):
        raise TypeError(f"projections= is {'None' if projections is None else repr(projections)}; expected an array (view, row, column), "
                        "or (view, column) of a fan beam, an Image or a file's path")
    shape = np.shape(projections)
    if len(shape) != 3:
        raise TypeError(f"projections= is {type(projections).__name__} of {len(shape)} axes; expected an array "
                        "(view, row, column), or (view, column) of a fan beam, an Image or a file's path")
    known = geometry if geometry.core.detector.size is not None else geometry.with_detector(shape[1:])
    grid: Grid = known.stack()
    if grid.shape != shape:
        raise InputError(f"--projections is {tuple(shape)}; the geometry has {grid.shape} (views, rows, columns)")
    return grid


def _agree_on_pixels(projections: Image, geometry: Any) -> None:
    """The pixels of an Image are those of the geometry, if that knows its own."""
    known = geometry.core.detector.spacing if isinstance(geometry, Geometry) else None
    if known is None:
        return
    _, rows, columns = projections.grid.spacing
    if not np.allclose((columns, rows), known, rtol=1e-3):
        raise InputError(f"--projections has pixels of {rows:g} x {columns:g} mm (rows, columns); the geometry has {known[1]:g} x {known[0]:g}; "
                         "give projections.array to take the geometry's, or a geometry without pixels to take the image's")


def _projections(call: Call, projections: Any, geometry: Any) -> None:
    if isinstance(projections, Image) and not (projections.grid.origin is None and projections.grid.spacing == (1, 1, 1)):
        _agree_on_pixels(projections, geometry)
    if isinstance(projections, Image) and not projections.grid.placed and isinstance(geometry, Geometry):
        projections = projections.array  # it lies where the geometry's detector is
    if isinstance(projections, (Image, str, os.PathLike)):
        call.input("input", projections, None, "projections")
    else:  # its pixels are the geometry's, also of one in a file
        geometry = require_geometry(geometry)
        known = geometry.core.detector.size is not None
        projections = _rows(_opencl.shaped(projections, geometry.shape if known else None, "projections"))
        call.input("input", projections, _stack(projections, geometry), "projections")
    _geometry(call, geometry)


def _geometry(call: Call, geometry: Any) -> None:
    if isinstance(geometry, (str, os.PathLike)):
        call.set("geometry", geometry)
    else:
        call.geometry(require_geometry(geometry).core)


def _unplaced(volume: Any) -> Any:
    """The voxels of an Image that does not say where they lie."""
    if isinstance(volume, Image) and volume.grid.origin is None and volume.grid.direction is None and volume.grid.spacing == (1, 1, 1):
        return volume.array
    return volume


def _options_in_scan(call: Call, options: Dict[str, Any], projections: Any, geometry: Any, grid: Any) -> None:
    """Arrays among the options where they belong: volumes on the grid of the result, weights on the detector."""
    volumes = {name: _unplaced(options.pop(name)) for name in ("init", "reference", "truth") if is_array(options.get(name))}
    if volumes:
        scan = require_geometry(geometry)
        if scan.core.detector.size is None and not isinstance(projections, (str, os.PathLike)):
            scan = scan.with_detector(np.shape(_rows(projections))[1:])
        call.options(volumes, scan.grid_of(None if grid is None else Grid.like(grid)))
    if np.ndim(projections) == 2 and "weights" in options:
        options["weights"] = _rows(options["weights"])
    call.options(options)


def fdk(projections: Any, geometry: Union[Geometry, Path], grid: Any = None, *, out: Any = None, return_info: bool = False,
        progress: Progress = None, **options: Any) -> Any:
    """Filtered back-projection (Feldkamp, Davis & Kress 1984) of line integrals (view, row, column), in 1/mm.

    grid: a Grid, an Image or None for what the detector sees. out: a file's path or an array that takes the result.
    Raises InputError for arrays and keywords that do not fit, PlanError, DeviceError, FileError.
    """
    call = Call("fdk")
    _projections(call, projections, geometry)
    call.grid(grid)
    call.output("output", "out", out)
    _options_in_scan(call, dict(options), projections, geometry, grid)
    return _finish(call, projections, out, return_info, progress)


def fdk_halves(projections: Any, geometry: Union[Geometry, Path], grid: Any = None, *, progress: Progress = None,
               **options: Any) -> Tuple[Any, Any]:
    """Reconstructions of the odd and of the even views, for denoise(halves=...)."""
    call = Call("fdk")
    _projections(call, projections, geometry)
    call.grid(grid)
    call.output("output", "out")
    call.outputs += ["half_a", "half_b"]
    call.set("halves_out", Named("half_a"), Named("half_b"))
    call.options(options)
    found = call.run(progress)
    if call.dry:
        return call.text, call.text
    if isinstance(projections, Image):
        return found["half_a"], found["half_b"]
    a, b = (_flattened(like_input(found[name].array, projections), projections) for name in ("half_a", "half_b"))
    return a, b


def reconstruct(projections: Any, geometry: Union[Geometry, Path], grid: Any = None, *, method: str = "spdhg", out: Any = None,
                return_info: bool = False, progress: Progress = None, **options: Any) -> Any:
    """Iterative reconstruction of line integrals (view, row, column), in 1/mm.

    method: spdhg (PWLS with total variation, with a certificate), fista, os-fista, cgls, lsqr, sirt, sart,
    os-sart, nesterov, mlem, osem, ba-gmres, asd-pocs, fdk. Raises as fdk() does.
    """
    call = Call("reconstruct")
    call.method(method, "spdhg")
    _projections(call, projections, geometry)
    call.grid(grid)
    call.output("output", "out", out)
    _options_in_scan(call, dict(options), projections, geometry, grid)
    return _finish(call, projections, out, return_info, progress)


def _volume_place(volume: Any, grid: Any) -> Optional[Grid]:
    """Where a volume lies: a Grid, that of an Image, or the volume's voxels with a spacing; None: its own."""
    if grid is None or isinstance(grid, Grid):
        found = grid
    elif isinstance(grid, Image):
        found = grid.grid
    elif isinstance(grid, (str, os.PathLike, dict, set)):
        raise TypeError(f"grid= is {grid!r}; expected a halocline.Grid, an Image, or a spacing in mm")
    else:
        spacing = _check.numbers(grid, "grid")
        if isinstance(volume, (str, os.PathLike)) or np.ndim(volume) not in (2, 3) and not isinstance(volume, Image):
            raise TypeError("grid= is a spacing, which goes with an array of 2 or 3 axes; give a halocline.Grid")
        shape = volume.grid.shape if isinstance(volume, Image) else np.shape(volume)
        found = Grid((1,) * (3 - len(shape)) + tuple(shape), spacing.tolist(), None, volume.grid.direction if isinstance(volume, Image) else None)
    if found is not None and isinstance(volume, (str, os.PathLike)):
        raise InputError(f"--grid goes with arrays; the file '{os.fspath(volume)}' has its own")
    return found


def denoise(volume: Any, grid: Any = None, *, method: str = "pdu", out: Any = None, return_info: bool = False,
            progress: Progress = None, **options: Any) -> Any:
    """Denoises a volume (k, j, i); without alpha= the strength is found by itself.

    grid: a Grid or a spacing in mm. method: pdu, spdu, tvgd, pdu4d, gaussian, median, nlm. halves=(a, b): two
    reconstructions that share no noise. pdu4d takes a list of frames, or an array (frame, k, j, i), and returns the same.
    Raises as fdk() does.
    """
    if method == "pdu4d" and not isinstance(volume, (Image, str, os.PathLike)):
        return _denoise_frames(volume, grid, out, return_info, progress, dict(options))
    given, volume = volume, _opencl.shaped(volume, grid.shape if isinstance(grid, Grid) else None, "volume")
    call = Call("denoise")
    call.method(method, "pdu")
    if options.get("halves") is not None and not isinstance(options["halves"], str):
        _check.pair(options["halves"], "halves")
    where = _volume_place(volume, grid)
    call.input("input", volume, where, "volume")
    call.output("output", "out", out)
    call.options(options, where)  # arrays lie where the volume does
    return _finish(call, given, out, return_info, progress)


def _denoise_frames(frames: Any, grid: Any, out: Any, return_info: bool, progress: Progress, options: Dict[str, Any]) -> Any:
    """Volumes of one grid, in the order of time. out: a file's path with a place for the number, as u_%02d.mha."""
    if not hasattr(frames, "__len__"):
        raise TypeError(f"volume= is {type(frames).__name__}; pdu4d takes a list of volumes, or an array (frame, k, j, i)")
    call = Call("denoise")
    call.set("method", "pdu4d")
    call.frames([(frame, _volume_place(frame, grid)) for frame in frames])
    if out is not None and not isinstance(out, (str, os.PathLike)):
        raise TypeError("out= of pdu4d has to be a file's path with a place for the number, such as u_%02d.mha")
    if out is not None:
        call.output("output", "out", out)
    else:
        names = [f"out_{number:04d}" for number in range(len(frames))]
        call.outputs = names
        call.set("output", Named("out_%04d"))
    call.options(options)
    found = call.run(progress)
    results: Any = call.text if call.dry else None
    if out is None and not call.dry:
        images = [found.pop(name) for name in names]
        results = [image if isinstance(frame, Image) else like_input(image.array, frame) for image, frame in zip(images, frames)]
        if isinstance(frames, np.ndarray):
            results = np.stack(results)
    return (results, Info(call, found)) if return_info else results


def project(volume: Any, geometry: Geometry, grid: Any = None, *, out: Any = None, progress: Progress = None, **options: Any) -> Any:
    """Line integrals (view, row, column) of a volume (k, j, i) on the geometry's detector. Raises as fdk() does."""
    seen = grid if grid is not None or not isinstance(geometry, Geometry) else geometry.default_grid()
    given, volume = volume, _opencl.shaped(volume, seen.shape if isinstance(seen, Grid) else None, "volume")
    call = Call("project")
    call.input("input", volume, _volume_grid(volume, geometry, grid), "volume")
    _geometry(call, geometry)
    if isinstance(geometry, Geometry):
        _detector(call, geometry)
    call.output("output", "out", out)
    call.options(options)
    return _finish(call, given, out, False, progress, single=1)


def backproject(projections: Any, geometry: Union[Geometry, Path], grid: Any = None, *, out: Any = None, progress: Progress = None,
                **options: Any) -> Any:
    """The exact adjoint of project(). Raises as fdk() does."""
    call = Call("backproject")
    _projections(call, projections, geometry)
    call.grid(grid if grid is not None or not isinstance(geometry, Geometry) else geometry.default_grid())
    call.output("output", "out", out)
    call.options(options)
    return _finish(call, projections, out, False, progress)


# That of volumes in the scanner: k along the axis of rotation.
_SCANNER = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0)


def _volume_grid(volume: Any, geometry: Any, grid: Any) -> Optional[Grid]:
    if grid is None and (volume is None or isinstance(volume, (Image, str, os.PathLike))):
        return None
    found = Grid.like(volume) if grid is None else Grid.like(grid)
    if grid is None and isinstance(geometry, Geometry):
        seen = geometry.default_grid()
        if seen.shape == found.shape:
            return seen
    if found.direction is None:
        found = Grid(found.shape, found.spacing, found.origin, _SCANNER)
    return found


def noise(projections: Any, *, photons: float, progress: Progress = None, **options: Any) -> Any:
    """Line integrals with the noise of a beam of so many photons a pixel; electronic=, seed=. Raises as fdk() does."""
    call = Call("noise")
    call.input("input", projections, None, "projections")
    call.output("output", "out")
    call.options({"photons": photons, **options})
    return _finish(call, projections, None, False, progress)


def counts(raw: Any, flats: Any = None, darks: Any = None, *, progress: Progress = None, **options: Any) -> Any:
    """Line integrals of detector counts (view, row, column). flats, darks: images without object and without beam, one
    (row, column) or several; a pair of flats is from before and after the scan. Of a fan beam all three may be (view,
    column)."""
    call = Call("counts")
    fan = is_array(raw) and not isinstance(raw, Image) and np.ndim(raw) == 2
    pair = isinstance(flats, (tuple, list)) and len(flats) == 2
    for setting, keyword, images in (("input", "raw", (raw,)), ("flat", "flats", flats if pair else (flats,)), ("dark", "darks", (darks,))):
        if setting == "input" or images[0] is not None:
            call.inputs(setting, [_rows(each) if fan else each for each in images], None, keyword)
        else:
            call.spell(setting, keyword)
    call.output("output", "out")
    call.options(options)
    return _finish(call, raw, None, False, progress, single=1)


class Axis:
    """Result of find_axis(). shift: of the axis along u from the geometry's, mm. geometry: corrected for it."""

    def __init__(self, shift: float, geometry: Geometry, info: Info) -> None:
        self.shift, self.geometry, self.info = shift, geometry, info

    def __repr__(self) -> str:
        return f"<Axis: shift {self.shift:.6g} mm>"


def find_axis(projections: Any, geometry: Geometry, *, progress: Progress = None, **options: Any) -> Axis:
    """Where the axis of rotation falls on the detector, from the projections themselves. Raises as fdk() does."""
    call = Call("geometry find-axis")
    _projections(call, projections, geometry)
    call.options(options)
    found = call.run(progress)
    if call.dry:
        raise InputError("--dry-run has no plan to show: find_axis() computes on the host")
    info = Info(call, found)
    shift = float(info.results[info.results["method"]]["shift_mm"])
    rows = geometry.views.copy()
    rows[:, 7] -= shift
    detector = geometry.core.detector
    moved = Geometry(type(geometry.core).from_views(rows, geometry.core.radius, detector, geometry.fan_stack))
    return Axis(shift, moved, info)


class Metrics:
    """Quality measures by name: rmse, psnr, ssim, ..."""

    def __init__(self, values: Dict[str, Any]) -> None:
        self.values = values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"there is no measure '{name}'; there are {', '.join(sorted(values))}")

    def __repr__(self) -> str:
        plain = {name: value for name, value in self.values.items() if isinstance(value, (int, float))}
        return "<Metrics " + ", ".join(f"{name}={value:.6g}" for name, value in plain.items()) + ">"


def metrics(volume: Any, truth: Any = None, grid: Any = None, **options: Any) -> Metrics:
    """Quality of a volume, against the truth where there is one."""
    call = Call("metrics")
    where = None if grid is None else Grid.like(grid)
    call.input("input", volume, where, "volume")
    if truth is not None:
        call.input("reference", truth, where, "truth")
    call.set("json", True)
    call.options(options)
    call.run()
    if call.dry:
        raise InputError("--dry-run has no plan to show: metrics() computes on the host")
    found = json.loads(call.text)
    return Metrics({**found["whole"], **found.get("reference", {}), "boxes": found.get("boxes", [])})


def noise_map(volume: Any = None, grid: Any = None, *, halves: Any = None, progress: Progress = None, **options: Any) -> Any:
    """The variance of the noise at every voxel, for denoise(method="spdu", weights=...): from two reconstructions that share
    no noise (halves=, as of fdk_halves()), else from the volume alone. grid: a Grid or a spacing in mm."""
    call = Call("noise-map")
    given = volume if halves is None else _check.pair(halves, "halves")[0]
    where = _volume_place(given, grid)
    if halves is None:
        call.input("input", volume, where, "volume")
    else:
        call.options({"halves": halves}, where)
    call.output("output", "out")
    call.options(options)
    return _finish(call, given, None, False, progress)


def phantom(name: str, grid: Grid, **options: Any) -> Any:
    """The voxels of a known object as an Image: shepp-logan, shepp-logan-hc, blade, two-balls, gravel (random grains, by seed=)."""
    call = Call("phantom")
    call.set("type", _check.text(name, "name", "shepp-logan"))
    call.spell("type", "name")
    call.grid(Grid.like(grid))
    call.output("output", "out")
    call.options(options)
    return _finish(call, None, None, False, None, True)


def run(verb: str, *, progress: Progress = None, **settings: Any) -> Info:
    """Any verb of the command by name: ``hc.run("slices", input=projections, geometry=geometry, size=(64, 64, 64),
    spacing=(1, 1, 1), plane="axial", output="axial.mha")``.

    settings: as `halocline help VERB` lists them, "geometry find-axis" being a verb, too. Arrays, Images and Geometries stand
    for files; output=True puts that image into Info.outputs, and several have a value each: output=(True, True, True).
    """
    call = Call(_check.text(verb, "verb", "denoise"))
    _place(call, settings)
    call.options(settings)
    return Info(call, call.run(progress))


def _place(call: Call, settings: Dict[str, Any]) -> None:
    """Sets what a Geometry and a Grid without origin say of arrays, and takes it out of the settings."""
    geometry, like = settings.get("geometry"), settings.get("like")
    values: Any = settings.get("input")
    if isinstance(like, Grid) and not like.placed:
        call.grid(settings.pop("like"))
    if not isinstance(geometry, Geometry):
        return
    plain = is_array(values) and not isinstance(values, Image) and np.ndim(values) == 3
    if call.verb == "project":
        if "detector" not in settings and geometry.core.detector.size is not None:
            _detector(call, geometry)
        if plain:
            call.input("input", settings.pop("input"), _volume_grid(values, geometry, None))
    elif plain and "input" in rows(call.verb):
        known = geometry.core.detector.size is not None
        call.input("input", settings.pop("input"), (geometry if known else geometry.with_detector(np.shape(values)[1:])).stack())


def _detector(call: Call, geometry: Geometry) -> None:
    (columns, rows_, _), (du, dv, _), (u, v, _), _ = geometry.stack().as_tuple()
    call.set("detector", columns, rows_)
    call.set("pixel", du, dv)
    call.set("detector_origin", u, v)


def _keywords(function: Any, verb: str, *own: str) -> None:
    """Puts the settings that are keywords of a function into its signature, for help() and completion."""
    signature = inspect.signature(function)
    known = [name for name in signature.parameters if name != "options"]
    settings = [inspect.Parameter(name + "_" * iskeyword(name), inspect.Parameter.KEYWORD_ONLY, default=None) for name in rows(verb)
                if name not in known and name not in own and name not in _NOT_KEYWORDS]
    kept = [signature.parameters[name] for name in known]
    function.__signature__ = signature.replace(parameters=kept + settings)


# Functions have parameters for these, or a program has no use for them.
_NOT_KEYWORDS = {"input", "output", "geometry", "size", "spacing", "origin", "direction", "like", "quiet", "log_level"}
_keywords(fdk, "fdk")
_keywords(fdk_halves, "fdk", "halves_out")
_keywords(reconstruct, "reconstruct")
_keywords(denoise, "denoise")
_keywords(project, "project", "detector")
_keywords(backproject, "backproject")
_keywords(noise, "noise")
_keywords(phantom, "phantom", "type")
_keywords(counts, "counts", "flat", "dark")
_keywords(find_axis, "geometry find-axis")
_keywords(metrics, "metrics", "reference", "json")
_keywords(noise_map, "noise-map")
