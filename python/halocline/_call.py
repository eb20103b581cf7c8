"""One call of a verb of the command, with arrays in place of files."""

from __future__ import annotations

import functools
import json
import os
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _check, _core, _opencl
from ._logging import log
from .errors import Error, InputError, without_prefixes
from .grid import Grid
from .image import DeviceImage, Image, as_values

Progress = Union[bool, Callable[["ProgressState"], Any], None]
Array = Any


class ProgressState:
    """How far a call is: done of total steps of a stage, with a note such as the gap that was reached."""

    def __init__(self, stage: str, done: float, total: float, note: str) -> None:
        self.stage, self.done, self.total, self.note = stage, done, total, note

    def __repr__(self) -> str:
        return f"<{self.stage}: {self.done:g} of {self.total:g} {self.note}>"


class _Bar:
    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError:
            raise ImportError("progress=True needs the package tqdm; install it (pip install tqdm), or give a function of a "
                              "ProgressState") from None

        self._make, self._stage = tqdm, ""
        self._bar: Any = None

    def __call__(self, state: ProgressState) -> None:
        if self._bar is None or state.stage != self._stage:
            self.close()
            self._bar, self._stage = self._make(total=state.total, desc=state.stage), state.stage
        self._bar.total, self._bar.n = state.total, state.done
        self._bar.set_postfix_str(state.note)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def is_array(value: Any) -> bool:
    if isinstance(value, (np.generic, type)):  # a number; a class
        return False
    return isinstance(value, (Image, np.ndarray)) or hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__") or _opencl.is_array(value) or (
        isinstance(value, DeviceImage))


def _is_image(value: Any) -> bool:
    return is_array(value) and np.ndim(value) > 1


@functools.lru_cache(maxsize=None)
def rows(verb: str) -> Dict[str, Dict[str, Any]]:
    """The settings of a verb by name."""
    found: Dict[str, Dict[str, Any]] = _core.settings(verb)
    return found


def _expected(row: Dict[str, Any]) -> str:
    """Values of a setting: its words, or the unit that help prints for it."""
    known: str = row["expected"]
    return "a file's path" if known == "FILE" else known if known != known.upper() else f"a value ({known})"


def _shown(value: Any) -> str:
    return f"an array of {tuple(np.shape(value))}" if is_array(value) else repr(value)


def _word(name: str, value: Any) -> Any:
    """As a setting takes it: a text that is exact, or an array's name."""
    if isinstance(value, (_core.Named, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() and abs(float(value)) < 1e15 else repr(float(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    raise TypeError(f"{name}= is {type(value).__name__}; expected a number, a text, an array, or several of them")


def _flat(name: str, value: Any) -> List[Any]:
    if isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike)):
        return [each for part in value for each in _flat(name, part)]
    return [_word(name, value)]


def _require_shape(keyword: str, values: Any, grid: Grid) -> None:
    """Raises InputError for another shape than the grid's. An axis of one slice or detector row may be left out."""
    shape = tuple(values.shape)
    flat = [grid.shape[:axis] + grid.shape[axis + 1:] for axis in (0, 1) if grid.shape[axis] == 1]
    if shape != grid.shape and shape not in flat:
        raise InputError(f"--{keyword} is {shape}; its grid is {grid.shape}")


class Call:
    """A verb, its settings by value, and the arrays among them."""

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.settings: Dict[str, List[Any]] = {}
        self._inputs: Dict[str, Tuple[Optional["np.ndarray[Any, Any]"], Any]] = {}
        self._places: Dict[str, "np.ndarray[Any, Any]"] = {}
        self._out_shapes: Dict[str, Tuple[int, ...]] = {}
        self._geometries: Dict[str, Any] = {}
        self._projectors: Dict[str, Any] = {}
        self._home: Optional[_opencl.Home] = None
        self._results_stay = False
        self._keywords: Dict[str, str] = {}
        self.outputs: List[str] = []
        self.text = ""
        self.report: Dict[str, Any] = {}

    def set(self, name: str, *values: Any) -> None:
        """Numbers, texts and names of arrays."""
        if name in self.settings:
            raise TypeError(f"{name}= was given twice")
        self.settings[name] = [_word(name, value) for value in values]

    def spell(self, setting: str, keyword: str) -> None:
        """Lets messages name a setting as the parameter of a function."""
        self._keywords[setting] = keyword

    def input(self, name: str, value: Any, grid: Optional[Grid] = None, keyword: str = "") -> None:
        """An array, an Image or the path of a file. keyword: the name in Python, if another."""
        self.spell(name, keyword or name)
        self.set(name, self._name_of(keyword or name, value, grid))
        self._results_stay = self._results_stay or (name == "input" and self._is_resident(value))

    def inputs(self, name: str, values: Iterable[Any], grid: Optional[Grid] = None, keyword: str = "") -> None:
        """Several of them."""
        self.spell(name, keyword or name)
        self.set(name, *(self._name_of(keyword or name, each, None if isinstance(each, Image) else grid) for each in values))

    def frames(self, frames: Sequence[Tuple[Any, Optional[Grid]]]) -> None:
        """Volumes with their grids, in the order of time."""
        self.spell("input", "volume")
        self.set("input", *(self._name_of(f"frame_{number:04d}", frame, grid) for number, (frame, grid) in enumerate(frames)))

    def _is_resident(self, value: Any) -> bool:
        """True for an array of PyOpenCL in the context of this call."""
        if not _opencl.is_resident(value):
            return False
        self._home = self._home or _opencl.Home(value)
        return self._home.has(value)

    def _name_of(self, keyword: str, value: Any, grid: Optional[Grid]) -> Any:
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        name = keyword if keyword not in self._inputs else f"{keyword}_{len(self._inputs)}"
        if isinstance(value, Grid):
            self._inputs[name] = (None, value.as_tuple())
            return _core.Named(name)
        if isinstance(value, DeviceImage):
            value, grid = value.array, value.grid
        if self._is_resident(value) and self._home is not None:
            where = grid or Grid.like(value)
            _require_shape(keyword, value, where)
            self._home.add(name, value, where)
            return _core.Named(name)
        values = as_values(value, keyword)
        where = grid or Grid.like(value if isinstance(value, Image) else values)
        _require_shape(keyword, values, where)
        self._inputs[name] = (values.reshape(where.shape), where.as_tuple())
        return _core.Named(name)

    def method(self, name: Any, example: str) -> None:
        self.set("method", _check.text(name, "method", example))

    def geometry(self, core: _core.GeometryFile, setting: str = "geometry") -> None:
        self._geometries["geometry"] = core
        self.set(setting, _core.Named("geometry"))

    def grid(self, value: Any) -> None:
        """The grid of a reconstruction: a Grid, an Image or None for what the scan sees."""
        if value is None:
            return
        if isinstance(value, (str, os.PathLike)):
            return self.set("like", value)
        if not isinstance(value, Grid) and not hasattr(value, "shape"):
            raise TypeError(f"grid= is {value!r}; expected a Grid, such as halocline.Grid((100, 200, 200), 0.5), an Image or a file's path")
        grid = Grid.like(value)
        if grid.placed:
            return self.set("like", self._name_of("like", grid, None))
        size, spacing, origin, direction = grid.as_tuple()
        self.set("size", *size)
        self.set("spacing", *spacing)
        if grid.origin is not None:
            self.set("origin", *origin)
        if grid.direction is not None:
            self.set("direction", *direction)

    def output(self, setting: str, name: str, out: Any = None) -> None:
        """A result: an array, or what `out` is: a file's path, or a float32 array that takes the values."""
        self.spell(setting, name)
        self.set(setting, self._output(name, out))

    def _output(self, name: str, out: Any) -> Any:
        if isinstance(out, (str, os.PathLike)):
            return os.fspath(out)
        if _opencl.is_array(out):
            if not self._is_resident(out) or self._home is None:
                raise TypeError(f"{name}= has to be a C-contiguous pyopencl array of float32, in the context of the input")
            self._home.place(name, out)
            self._out_shapes[name] = tuple(out.shape)
        elif out is not None:
            if not isinstance(out, np.ndarray) or out.dtype != np.float32 or not out.flags.c_contiguous or not out.flags.writeable:
                raise TypeError(f"{name}= has to be a file's path or a writable, C-contiguous NumPy array of float32")
            self._places[name], self._out_shapes[name] = out, out.shape
        elif self._results_stay and self._home is not None:
            self._home.take_results(name)
        self.outputs.append(name)
        return _core.Named(name)

    def options(self, options: Mapping[str, Any], grid: Optional[Grid] = None) -> None:
        """Settings of the verb as keywords. grid: of arrays without one of their own."""
        for keyword, value in options.items():
            if value is not None and value is not False:
                self._option(keyword, value, grid)

    def _option(self, keyword: str, value: Any, grid: Optional[Grid]) -> None:
        name, row = keyword.rstrip("_"), rows(self.verb).get(keyword.rstrip("_"))
        several = isinstance(value, (tuple, list))
        if isinstance(value, np.bool_):
            value = bool(value)
        if row is None:  # the verb names those that it has
            self.set(name, "true")
        elif name == "projector" and isinstance(getattr(value, "core", None), _core.UserProjector):
            self._projectors["projector.cl"] = value.core
            self.set(name, _core.Named("projector.cl"))
        elif name == "projector_table" and isinstance(value, Mapping):
            self.tables(keyword, value)
        elif row["flag"]:
            if value is not True and value is not False:
                raise InputError(f"--{name.replace('_', '-')} is {_shown(value)}; expected True or False")
            if value:
                self.set(name, True)
        elif row["image_out"] and (value is True or _is_image(value)):
            self.output(name, keyword, None if value is True else value)
        elif row["image_out"] and several and any(each is True or _is_image(each) for each in value):
            self.set(name, *(self._output(f"{keyword}_{number}", None if each is True else each) for number, each in enumerate(value)))
        elif value is True:
            raise InputError(f"--{name.replace('_', '-')} is True; expected {_expected(row)}")
        elif isinstance(getattr(value, "core", None), _core.GeometryFile):
            if name != "geometry" and (name != "input" or row["image"]):
                raise TypeError(f"{keyword}= is a Geometry; expected {_expected(row)}")
            self.geometry(value.core, name)
        elif isinstance(value, (str, os.PathLike)):
            self.set(name, value)
        elif isinstance(value, Grid) or _is_image(value) or several and any(map(_is_image, value)):
            if not row["image"]:
                raise TypeError(f"{keyword}= is {_shown(value)}; expected {_expected(row)}")
            self.inputs(name, value if several else (value,), grid, keyword)
        else:
            self.set(name, *_flat(keyword, np.asarray(value).tolist() if is_array(value) else value))

    def tables(self, keyword: str, tables: Mapping[str, Any]) -> None:
        """Arrays of a projector, by the names in its text."""
        words: List[Any] = []
        for table, values in tables.items():
            if isinstance(values, (str, os.PathLike)):
                words.append(f"{table}={os.fspath(values)}")
            else:
                name = f"{keyword} {table}"
                self._name_of(name, np.atleast_3d(as_values(values, table)), None)
                words.append(_core.Named(name, f"{table}="))
        self.set("projector_table", *words)

    def _require_own_memory(self) -> None:
        """Raises InputError for results in the memory of inputs, which are read while these are written."""
        read = [values for values, _ in self._inputs.values() if values is not None]
        shared = any(np.may_share_memory(place, values) for place in self._places.values() for values in read)
        if shared or (self._home is not None and self._home.overlaps()):
            raise InputError("--out shares memory with an input, which is read while results are written; give it memory of its own")

    def _in_own_keywords(self, text: str) -> str:
        """The text with the parameters of the function where it names their settings."""
        if text.startswith("there is no option"):
            return text
        for setting, keyword in self._keywords.items():
            text = re.sub(rf"\b{setting}=", keyword + "=", text)
        return text

    @property
    def dry(self) -> bool:
        """True for a call that only plans."""
        return "dry_run" in self.settings

    def run(self, progress: Progress = None) -> Dict[str, Any]:
        """Runs it; the results by name, those in files left out."""
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise TypeError(f"progress= is {progress!r}; expected True, or a function of a ProgressState")
        self._require_own_memory()
        bar = _Bar() if progress is True else None
        show = bar or (progress if callable(progress) else None)
        on_state = None if show is None else (lambda *state: show(ProgressState(*state)))
        try:
            self.text, report, found = _core.run(self.verb, list(self.settings.items()), self._inputs, self._places, self._geometries,
                                                 self._projectors, self.outputs, on_state, log, self._home and self._home.as_dict())
        except Error as error:
            error.args = (self._in_own_keywords(str(error)),)
            raise
        finally:
            if bar is not None:
                bar.close()
        self.text, self.report = without_prefixes(self.text), json.loads(without_prefixes(report)) or {}
        results: Dict[str, Any] = {}
        for name, (values, grid) in found.items():
            placed = Grid.from_tuple(grid)
            if self._home is not None and isinstance(values, _core.DeviceMemory):
                results[name] = DeviceImage(self._home.array(values, placed.shape), placed)
                continue
            if values is None and name in self._out_shapes:  # it lies where out= says
                shape = self._out_shapes[name]
                if tuple(n for n in shape if n > 1) != tuple(n for n in placed.shape if n > 1):
                    raise InputError(f"--{name.replace('_', '-')} is {shape}; the result is {placed.shape}")
            if values is None and name not in self._places:
                continue
            if values is None:
                values = self._places[name].reshape(placed.shape)
            results[name] = Image(values, placed)
        return results
