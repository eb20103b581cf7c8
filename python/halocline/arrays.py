"""Arrays that stay on devices, and mathematics over them: formulas become OpenCL kernels, one pass over memory each."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _check, _core
from ._algebra import Algebra
from .errors import InputError
from .geometry import Geometry, require_geometry
from .grid import Grid
from .image import as_values

Space = _core.Space
Scalar = _core.Scalar
DeviceArray = _core.DeviceArray

zeros = _core.zeros
uniform = _core.uniform
where = _core.where
minimum = _core.minimum
maximum = _core.maximum
sqrt = _core.sqrt
exp = _core.exp
log = _core.log
gradient = _core.gradient
adjoint_gradient = _core.adjoint_gradient
shift = _core.shift
sum = _core.sum
dot = _core.dot
max = _core.max
min = _core.min


def norm(a: Any, order: float = 2) -> Any:
    """The norm, a Scalar: Euclidean, of order 1 or, of order inf, the largest absolute value. Raises ValueError for
    another order."""
    if order == 2:
        return sqrt(dot(a, a))
    if order == 1:
        return sum(abs(a))
    if order == np.inf:
        return _core.norm_inf(a)
    raise ValueError(f"order= is {order!r}; expected 1, 2 or inf")


class DeviceOperator(Algebra):
    """A projector over device arrays: A(x), A.T(y), A.views(some)(x). 2 * A, A + B, A - B and A @ B are operators like it,
    whose formulas are computed on the devices."""

    def __init__(self, core: Any, transposed: "Optional[DeviceOperator]" = None, view_count: int = 0,
                 moves: Optional[List[List[int]]] = None) -> None:
        self._core = core
        self._moves = [[0]] if moves is None else moves  # how often move_to() was called, of all that it is made of
        self._transposed = transposed
        self._view_count = view_count

    def __call__(self, x: Any) -> Any:
        return self._core(x)

    @property
    def T(self) -> "DeviceOperator":
        """The exact adjoint; A.T.T is A."""
        if self._transposed is None:
            self._transposed = DeviceOperator(self._core.adjoint(), self, self._view_count, self._moves)
        return self._transposed

    @property
    def moves(self) -> int:
        """How often move_to() was called."""
        return int(np.sum(self._moves))

    def _scaled(self, factor: Any) -> "DeviceOperator":
        return DeviceOperator(self._core.times(_scalar(factor)), moves=self._moves)

    def _plus(self, other: Any, sign: int) -> "DeviceOperator":
        _require(other, DeviceOperator, "B", "an operator of the same Context")
        return DeviceOperator(self._core.plus(other._core) if sign > 0 else self._core.minus(other._core), moves=self._moves + other._moves)

    def _after(self, other: Any) -> "DeviceOperator":
        _require(other, DeviceOperator, "B", "an operator of the same Context")
        return DeviceOperator(self._core.after(other._core), moves=self._moves + other._moves)

    def _is_number(self, value: Any) -> bool:
        return isinstance(value, Scalar) or super()._is_number(value)

    def move_to(self, geometry: Geometry) -> None:
        """Replaces the geometry of a projector, of as many views and the same detector: for A(x), A.T(y) and replays of
        prepared jobs from now on. The kind of projector remains. At the first move to a tilted scan, GPUs compile kernels
        for any scan and take memory for them. Raises InputError for an operator that is no projector, for a detector of
        another kind (flat, curved, curved otherwise from view to view), for a stack of fans in place of other views or the
        other way round, and for rays that end in the volume, unless some of the first geometry do."""
        geometry = require_geometry(geometry)
        self._core.move_to(geometry.core, geometry.stack().as_tuple() if geometry.detector_shape else None)
        self._moves[0][0] += 1

    def views(self, views: Any) -> "DeviceOperator":
        """The projector on some of its views, such as random ones at each step of a stochastic method: y = A.views(some)(x)
        is A x in these views and 0 in the others, A.views(some).T(y) reads these views alone.

        views: their numbers as of an array's axis, each once: a list, a slice, a mask. The bits are those of a Context of
        geometry[sorted(views)]. Arrays stay where they are, and no kernel is compiled. Raises IndexError for others than
        there are, and for none; InputError for a view that is given twice, and for an operator that is no projector.
        """
        if self._view_count == 0:
            raise InputError("views() takes the views of a projector, such as Context.operator; combine operators afterwards")
        return DeviceOperator(self._core.views(_check.view_numbers(views, self._view_count, "views({})")),
                              moves=self._moves)

    @property
    def domain(self) -> Any:
        return self._core.domain

    @property
    def range(self) -> Any:
        return self._core.range

    def norm(self) -> float:
        """The largest singular value, times 1.05, by the power method."""
        return float(self._core.norm())


class Kernel:
    """OpenCL C of your own over arrays of one space, on all devices and slabs.

    source: its text, or the path of a .cl file. name: of the kernel in it. arguments: the kernel's arrays (__global
    float*, const where it only reads) by their names, in its order, of which it writes those in writes; with the old
    values there, if they are in reads, too. After these come the tables in their order (__global const float*), as many
    float numbers as a call gives, and `Extent extent`.
    Work-items are elements: x = get_global_id(0), y = get_global_id(1), z = extent.begin + get_global_id(2); return
    where x >= extent.nx, y >= extent.ny or z >= extent.end. AT(x, y, z) is the element's place in an array. halo: how
    many slices it reads below and above its own. Of projections, x, y, z are column, row and view.

    macros: defines before its text. tables: arrays of numbers that it reads, by their names, whole on each device. group:
    the work-items of a work-group along x, y and z, fewer where a device takes no such groups; by itself the device's
    choice.
    """

    def __init__(self, source: Union[str, "os.PathLike[str]"], name: str, arguments: Sequence[str] = ("x", "y"), *,
                 writes: Sequence[str] = ("y",), reads: Sequence[str] = (), halo: int = 0,
                 macros: Optional[Mapping[str, Any]] = None, tables: Optional[Mapping[str, Any]] = None,
                 group: Optional[Sequence[int]] = None) -> None:
        if isinstance(source, os.PathLike):
            with open(source, encoding="utf-8") as file:
                source = file.read()
        _check.text(source, "source", '__kernel void copy(__global const float* x, __global float* y, Extent extent) { ... }')
        _check.text(name, "name", "copy")
        for keyword, names in {"arguments": arguments, "writes": writes, "reads": reads}.items():
            if not isinstance(names, (list, tuple)) or not all(isinstance(each, str) for each in names):
                raise TypeError(f"{keyword}= is {names!r}; expected several names, such as ('x', 'y')")
        if isinstance(halo, bool) or not isinstance(halo, (int, np.integer)):
            raise TypeError(f"halo= is {halo!r}; expected a whole number of slices")
        if group is not None and not (isinstance(group, (list, tuple)) and len(group) == 3 and all(_is_positive(each) for each in group)):
            raise TypeError(f"group= is {group!r}; expected three numbers of work-items, such as (16, 8, 1)")
        unknown = sorted({*writes, *reads} - set(arguments))
        if unknown:
            raise ValueError(f"arguments= has no {unknown[0]}; it has {', '.join(arguments)}")
        self.arguments, self.writes = list(arguments), list(writes)
        self._given = [each for each in arguments if each not in writes or each in reads]
        self._core = _core.Kernel(source, name, self.arguments, self.writes, [each for each in reads if each in writes], int(halo),
                                  _macros(macros), list(_tables(tables).items()), [int(each) for each in group or (0, 0, 0)])

    def __call__(self, *numbers: Any, **arrays: Any) -> Any:
        """Returns its outputs: a new DeviceArray, or several in the order of writes=. Raises InputError for arrays of several
        spaces, and with the compiler's log for a source that does not compile."""
        if sorted(arrays) != sorted(self._given):
            raise TypeError(f"the kernel got {', '.join(sorted(arrays)) or 'no arrays'}; expected {', '.join(self._given)}")
        for each, array in arrays.items():
            _require(array, DeviceArray, each, "a DeviceArray, as Context.array() makes it")
        found = self._core(arrays, self.writes, [_scalar(each) for each in numbers])
        results = tuple(found[name] for name in self.writes)
        return results[0] if len(results) == 1 else results


class Projector:
    """A projector of your own in OpenCL C: a ray model, whose exact adjoint the toolkit makes, or a pair of kernels.

    source: its text, or the path of a .cl file (cl/user_projector.clh says how it is written, docs/projectors has
    examples). tables: arrays of numbers that it reads as `__global const float* name`, by their names. macros: defines
    before its text. It is taken by Context, and as projector= by reconstruct(), project(), backproject() and Operator.
    Raises InputError for a text that is no projector.
    """

    def __init__(self, source: Union[str, "os.PathLike[str]"], *, tables: Optional[Mapping[str, Any]] = None,
                 macros: Optional[Mapping[str, Any]] = None) -> None:
        name = "the projector"
        if isinstance(source, os.PathLike):
            name = f"the projector '{os.fspath(source)}'"
            with open(source, encoding="utf-8") as file:
                source = file.read()
        if isinstance(source, str) and source.endswith(".cl") and "\n" not in source:
            raise ValueError(f"source= is {source!r}, which is no text of a projector; a file is pathlib.Path({source!r})")
        _check.text(source, "source", "the text of a projector, or a pathlib.Path of its file")
        self.core = _core.UserProjector(name, source, _tables(tables), _macros(macros))

    @property
    def is_ray_model(self) -> bool:
        """True if the toolkit makes its adjoint."""
        return bool(self.core.is_ray_model)

    def check(self, geometry: Geometry, reference: Callable[[Geometry, Grid, Any], Any], grid: Optional[Grid] = None, *,
              tolerance: float = 1e-3, device: str = "", seed: int = 1) -> float:
        """The largest difference of A x from reference(geometry, grid, x), a function in NumPy, relative to its largest
        value, for random x from 0 to 1.

        reference gets the volume's grid and values (z, y, x) and returns the projections (view, v, u). Raises ValueError
        if the difference is larger than `tolerance`, or a value is not finite. `halocline kernel check` checks what needs
        no reference.
        """
        grid = require_geometry(geometry).grid_of(grid)
        on = Context(geometry, grid, device=device, projector=self)
        x = np.random.default_rng(seed).random(tuple(on.volume.grid[0][::-1]), dtype=np.float32)
        found = on.operator(on.array(x, on.volume)).get().astype(np.float64)
        expected = np.asarray(reference(geometry, grid, x.copy()), np.float64)
        if expected.shape != found.shape:
            raise ValueError(f"reference= returned an array of {expected.shape}; expected the projections' {found.shape}")
        largest = float(np.abs(found - expected).max() / np.abs(expected).max())
        if not largest <= tolerance:
            raise ValueError(f"A x differs from the reference by {largest:.3g} of its largest value; expected {tolerance:g} at most")
        return largest


def _named(given: Optional[Mapping[str, Any]], keyword: str, example: str) -> Mapping[str, Any]:
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(each, str) for each in given)):
        raise TypeError(f"{keyword}= is {given!r}; expected names and values, such as {example}")
    return given or {}


def _macros(given: Optional[Mapping[str, Any]]) -> Dict[str, str]:
    return {name: str(value) for name, value in _named(given, "macros", "{'RADIUS': 3}").items()}


def _tables(given: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {name: np.ascontiguousarray(as_values(values, name, any_axes=True), np.float32).ravel()
            for name, values in _named(given, "tables", "{'weights': [0.25, 0.5, 0.25]}").items()}


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) > 0


def _scalar(value: Any) -> Any:
    if isinstance(value, Scalar):
        return value
    if isinstance(value, DeviceArray):
        raise TypeError("a number of the kernel is a DeviceArray; arrays are given by their names, such as x=array")
    try:
        return Scalar(float(value))
    except (TypeError, ValueError):
        raise TypeError(f"a number of the kernel is {value!r}; expected a number or a Scalar") from None


def _require(value: Any, kind: type, keyword: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{keyword}= is {type(value).__name__}; expected {expected}")
    return value


def kernel_operator(space: Any, forward: Kernel, adjoint: Kernel, *numbers: Any) -> DeviceOperator:
    """An operator within a space of two kernels: forward reads x and writes y, adjoint reads y and writes x. They need be
    adjoint to each other."""
    _require(space, Space, "space", "a Space, such as Context.volume")
    for keyword, kernel in {"forward": forward, "adjoint": adjoint}.items():
        _require(kernel, Kernel, keyword, "a Kernel")
    return DeviceOperator(_core.kernel_operator(space, forward._core, adjoint._core, [_scalar(each) for each in numbers]))


def _bytes(size: Union[int, str]) -> int:
    """2048, "64M" or "1.5G"."""
    text = str(size).strip().upper()
    unit = "KMGT".find(text[-1:]) + 1 if text else 0
    try:
        found = int(float(text[:-1] if unit else text) * 1024**unit)
    except ValueError:
        found = -1
    if found < 0:
        raise ValueError(f"device_memory= is {size!r}; expected bytes, such as 64000000, '64M' or '1.5G'")
    return found


class Prepared:
    """A job that Context.record() prepared: its kernels are launched again and again.

    result: what the function returned. replay() overwrites the values of its DeviceArrays.
    """

    def __init__(self, core: Any, result: Any) -> None:
        self._core = core
        self.result = result

    def replay(self) -> None:
        """Launches the kernels with the present values of the arrays that the job reads; get() of a result waits for
        them. Raises InputError where arrays have been placed again since, to make room for others."""
        self._core.replay()

    def write(self, array: Any, values: Any) -> None:
        """Replaces the values of an array that the job reads: by an array of NumPy or another package of its shape, or
        by a DeviceArray. Raises InputError for an array that the job does not read."""
        _require(array, DeviceArray, "array", "a DeviceArray that the job reads")
        if not isinstance(values, DeviceArray):
            values = as_values(values, "values")
            shape = tuple(array.space.grid[0][::-1])
            if values.shape != shape:
                raise ValueError(f"values= is {values.shape}; expected the shape of the array, {shape}")
            values = np.ascontiguousarray(values, np.float32)
        self._core.write(array, values)

    def value(self, number: Scalar) -> float:
        """A sum, dot or norm of the function, or a number that follows from them, as of the last replay. Raises
        InputError for another one."""
        _require(number, Scalar, "number", "a Scalar that the function of the job made")
        return float(self._core.value(number))

    @property
    def commands(self) -> int:
        """Kernels, fills and copies of a replay."""
        return int(self._core.commands)


class Context:
    """Devices, one volume grid and one stack of projections.

    Arrays lie on the devices where they fit, in slabs; else in host memory, and slabs take turns. device,
    device_memory: as the command's options. projector: a name, the path of a .cl file, or a
    Projector of your own. operator: "rays"; "matrix", which stores the system matrix of scans whose rays run within
    slices, as of `reconstruct`; "matrix-half", which rounds vectors to half precision on matrix units; "symmetric",
    which stores an eighth of the matrix where the scan has the symmetry of a square; "auto", which stores it where
    `reconstruct` would for 100 passes. A stored matrix is of one geometry: without move_to() and views().
    """

    def __init__(self, geometry: Geometry, grid: Optional[Grid] = None, *, device: str = "", device_memory: Union[int, str] = 0,
                 projector: "Union[str, os.PathLike[str], Projector]" = "automatic", operator: str = "rays") -> None:
        _check.text(operator, "operator", "matrix")
        grid = require_geometry(geometry).grid_of(grid)
        self._core = _core.Context(device, _bytes(device_memory))
        self.operator = DeviceOperator(
            self._core.projector(geometry.core, grid.as_tuple(), geometry.stack().as_tuple(),
                                 projector.core if isinstance(projector, Projector) else os.fspath(projector), operator),
            view_count=len(geometry))
        self.volume = self.operator.domain
        self.projections = self.operator.range

    def array(self, values: Any, space: Any = None) -> Any:
        """A DeviceArray with these values, over the space; None: that of the volume or the projections, by their
        shape, of which the volume's counts if both are the same."""
        found = as_values(values, "values")
        for space in (self.volume, self.projections) if space is None else (space,):
            if tuple(space.grid[0][::-1]) == found.shape:
                return _core.load(space, found.astype(np.float32, copy=False))
        raise ValueError(f"values= is {found.shape}; expected the shape of the volume or of the projections, "
                         f"{tuple(self.volume.grid[0][::-1])} or {tuple(self.projections.grid[0][::-1])}")

    def record(self, function: Callable[[], Any]) -> Prepared:
        """Prepares a job: calls the function once, computes what it returns, and keeps the kernels with all their
        arguments, so that Prepared.replay() costs the host microseconds.

            x = on.array(volume)
            job = on.record(lambda: A.T(A(x) - b))
            job.write(x, other)
            job.replay()
            job.result.get()

        Sums, dots, norms and what follows from them are computed on the device, and may be numbers of formulas.
        An iteration changes its arrays in place:

            def iterate():
                q = A(p)
                alpha = gamma / arrays.dot(q, q)
                x.assign(x + alpha * p)
                ...
                return alpha

            job = on.record(iterate)
            job.replay()
            job.value(job.result)

        Raises InputError for get() and float() in the function, for kernels and ray models with a number that follows
        from a sum of it, and where one device does not hold all arrays.
        """
        if not callable(function):
            raise TypeError(f"function= is {type(function).__name__}; expected a function without arguments")
        self._core.begin_job()
        try:
            result = function()
        except BaseException:
            self._core.cancel_job()
            raise
        return Prepared(self._core.end_job(), result)

    def wait(self) -> None:
        """Until all kernels have ended."""
        self._core.wait()

    @property
    def passes(self) -> int:
        """Passes over arrays that formulas took so far."""
        return int(self._core.passes)

    @property
    def last_kernel(self) -> str:
        """OpenCL C of the kernel that was written last."""
        return str(self._core.last_kernel)
