"""Least squares with regularising terms, for projectors and operators of your own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _check, _core, arrays
from ._algebra import Algebra, Stacked
from .arrays import Context, DeviceArray, DeviceOperator
from .errors import InputError
from .image import as_values
from .operator import Operator
from .verbs import _flattened, reconstruct


@dataclass(frozen=True)
class TotalVariation:
    """strength times the sum of |grad x|. spacing: of NumPy's elements, one for all axes or one each; None: that of the
    operator's grid, in mm, else 1. Device arrays have that of their space."""

    strength: float
    spacing: Union[None, float, Sequence[float]] = None


@dataclass(frozen=True)
class Tikhonov:
    """strength / 2 times the sum of x^2."""

    strength: float


@dataclass(frozen=True)
class Bounds:
    """lower <= x <= upper; Bounds(0) is non-negativity."""

    lower: float = -np.inf
    upper: float = np.inf


@dataclass
class _Problem:
    """1/2 sum w (A x - y)^2 + tikhonov / 2 sum x^2 + tv TV(x), within bounds. y: an array, or a tuple of a stack."""

    A: Any
    y: Any
    w: Any
    on: Any
    tv: float = 0.0
    tikhonov: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf

    def weighted(self, r: Any) -> Any:
        return r if self.w is None else _map(lambda a, b: a * b, self.w, r)

    def slope(self, x: Any, affine: bool = True) -> Any:
        """The gradient of the smooth part; not affine: the matrix of its second derivatives times x."""
        g = self.A.T(self.weighted(_map(lambda a, b: a - b, self.A(x), self.y) if affine else self.A(x)))
        return g + self.tikhonov * x if self.tikhonov else g

    def within(self, x: Any) -> Any:
        return self.on.minimum(self.on.maximum(x, self.lower), self.upper)


class _Numpy:
    """Arrays of NumPy."""

    maximum, minimum, sqrt = staticmethod(np.maximum), staticmethod(np.minimum), staticmethod(np.sqrt)
    dot = staticmethod(lambda a, b: float(np.sum(a * b, dtype=np.float64)))
    random = staticmethod(lambda x: np.random.default_rng(1).random(x.shape).astype(x.dtype))

    def __init__(self, spacing: Any) -> None:
        self._spacing = spacing

    def spacing(self, x: Any) -> Any:
        given = np.asarray(self._spacing, x.dtype)
        if given.ndim and given.shape != (x.ndim,):
            raise ValueError(f"terms= has TotalVariation(spacing={self._spacing}); expected one number, or {x.ndim}, one for each axis")
        return np.broadcast_to(given, (x.ndim,))

    def gradient(self, x: Any) -> List[Any]:
        return [np.diff(x, axis=axis, append=np.take(x, [-1], axis=axis)) / h for axis, h in enumerate(self.spacing(x))]

    def adjoint_gradient(self, q: List[Any]) -> Any:
        def of_axis(part: Any, axis: int) -> Any:  # its last elements count as 0
            inner = np.take(part, range(part.shape[axis] - 1), axis=axis)
            end = np.zeros_like(np.take(part, [0], axis=axis))
            return -np.diff(inner, axis=axis, prepend=end, append=end)

        return sum(of_axis(part, axis) / h for axis, (part, h) in enumerate(zip(q, self.spacing(q[0]))))


class _OnDevices:
    """DeviceArrays."""

    maximum, minimum, sqrt = staticmethod(arrays.maximum), staticmethod(arrays.minimum), staticmethod(arrays.sqrt)
    dot = staticmethod(lambda a, b: float(arrays.dot(a, b)))
    random = staticmethod(lambda x: arrays.uniform(x.space, 1))
    spacing = staticmethod(lambda x: [h for h, size in zip(x.space.grid[1], x.space.grid[0]) if size > 1])
    gradient = staticmethod(lambda x: [arrays.gradient(x, axis) for axis in range(3)])

    @staticmethod
    def adjoint_gradient(q: List[Any]) -> Any:
        return sum((arrays.adjoint_gradient(q[axis], axis) for axis in (1, 2)), arrays.adjoint_gradient(q[0], 0))


def _map(function: Callable[..., Any], *values: Any) -> Any:
    """The function of arrays, or of each of a stack's."""
    return tuple(map(function, *values)) if isinstance(values[0], tuple) else function(*values)


class _Curvature:
    """A bound of the smooth part's curvature, for steps of 1 / value: the largest by 20 steps of the power method from a
    random array like start, with a margin of 5 % of the operator's norm as other solvers have (LinearOperator::norm()). Such
    a start may miss a direction that few elements make up; where slopes show more curvature, the bound grows, so that no
    step diverges."""

    MARGIN = 1.05**2

    def __init__(self, p: _Problem, start: Any, steps: int = 20) -> None:
        x = p.on.random(start)
        for _ in range(steps):
            length = np.sqrt(p.on.dot(x, x))
            x = p.slope(x * float(1 / length), affine=False) if length > 0 else x
        self.value = self.MARGIN * float(np.sqrt(p.on.dot(x, x))) or 1.0
        self._on = p.on
        self._before: Optional[Tuple[Any, Any]] = None

    def see(self, x: Any, slope: Any) -> None:
        """Compares with the slope at the last x; changes of x that rounding may have made say nothing."""
        dot, before, self._before = self._on.dot, self._before, (x, slope)
        if before is None:
            return
        moved, turned = x - before[0], slope - before[1]
        length2 = dot(moved, moved)
        if length2 > 1e-8 * dot(x, x) and dot(turned, turned) > self.value**2 * length2:
            self.value = self.MARGIN * float(np.sqrt(dot(turned, turned) / length2))


def _in_balls(q: List[Any], radius: float, on: Any) -> List[Any]:
    scale = on.maximum(on.sqrt(sum((part * part for part in q[1:]), q[0] * q[0])) / radius, 1.0)
    return [part / scale for part in q]


def _cgls(p: _Problem, x: Any, iterations: int) -> Any:
    """Conjugate gradients for least squares (Hestenes & Stiefel 1952)."""
    s = -p.slope(x)
    d, gamma = s, p.on.dot(s, s)
    for _ in range(iterations):
        h = p.slope(d, affine=False)
        alpha = gamma / max(p.on.dot(d, h), 1e-300)
        x, s = x + alpha * d, s - alpha * h
        gamma, before = p.on.dot(s, s), gamma
        d = s + gamma / max(before, 1e-300) * d
    return x


def _fista(p: _Problem, x: Any, iterations: int, inner: int = 20) -> Any:
    """Accelerated gradient steps (Beck & Teboulle 2009), with as much of their total-variation steps as `inner` iterations of
    the dual find, which begin where the last ones ended."""
    curvature = _Curvature(p, x)
    q = [0.0 * part for part in p.on.gradient(x)] if p.tv else []
    length2 = sum(4 / h**2 for h in p.on.spacing(x)) if p.tv else 1.0

    def nearest(v: Any, q: List[Any], step: float) -> Tuple[Any, List[Any]]:
        if not p.tv:
            return p.within(v), q
        r, t = q, 1.0
        for _ in range(inner):
            u = p.within(v - p.on.adjoint_gradient(r))
            new = _in_balls([a + b * (1 / length2) for a, b in zip(r, p.on.gradient(u))], step * p.tv, p.on)
            t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
            r, q = [a + (a - b) * float((before - 1) / t) for a, b in zip(new, q)], new
        return p.within(v - p.on.adjoint_gradient(q)), q

    z, t = x, 1.0
    for _ in range(iterations):
        g = p.slope(z)
        curvature.see(z, g)
        new, q = nearest(z - (1 / curvature.value) * g, q, 1 / curvature.value)
        t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
        z, x = new + (new - x) * float((before - 1) / t), new
    return x


def _pdhg(p: _Problem, x: Any, iterations: int) -> Any:
    """Primal-dual steps, the fidelity by its gradient (Condat 2013, algorithm 3.1)."""
    curvature, length2 = _Curvature(p, x), sum(4 / h**2 for h in p.on.spacing(x))
    q = [0.0 * part for part in p.on.gradient(x)] if p.tv else []
    for _ in range(iterations):
        g = p.slope(x)
        curvature.see(x, g)
        tau, sigma = 1 / curvature.value, curvature.value / (2 * length2)
        new = p.within(x - tau * (g + p.on.adjoint_gradient(q) if p.tv else g))
        if p.tv:
            q = _in_balls([a + sigma * b for a, b in zip(q, p.on.gradient(2.0 * new - x))], p.tv, p.on)
        x = new
    return x


_SOLVERS = {"cgls": _cgls, "fista": _fista, "pdhg": _pdhg}


def _gathered(terms: Any) -> Tuple[dict[str, float], Any]:
    """Sums of strengths, the tightest bounds, and the spacing of the variation."""
    found, spacing = {"tv": 0.0, "tikhonov": 0.0, "lower": -np.inf, "upper": np.inf}, None
    if isinstance(terms, (TotalVariation, Tikhonov, Bounds)):
        terms = [terms]
    if not isinstance(terms, (list, tuple)):
        raise TypeError(f"terms= is {terms!r}; expected a list of TotalVariation, Tikhonov and Bounds")
    for term in terms:
        if isinstance(term, Bounds):
            lower, upper = _check.number(term.lower, "Bounds.lower"), _check.number(term.upper, "Bounds.upper")
            if not (lower < np.inf and upper > -np.inf):
                raise ValueError(f"terms= has {term}; expected numbers, of which lower may be -inf and upper inf")
            found["lower"], found["upper"] = max(found["lower"], lower), min(found["upper"], upper)
        elif isinstance(term, (TotalVariation, Tikhonov)):
            strength = _check.number(term.strength, f"{type(term).__name__}.strength")
            if not 0 <= strength < np.inf:
                raise ValueError(f"terms= has {term}; expected a finite strength, not negative")
            found["tv" if isinstance(term, TotalVariation) else "tikhonov"] += strength
            spacing = _spacing_of(term, spacing)
        else:
            raise TypeError(f"terms= has {term!r}; expected TotalVariation, Tikhonov or Bounds")
    if found["lower"] > found["upper"]:
        raise ValueError(f"terms= has bounds from {found['lower']:g} to {found['upper']:g}, between which there is no number")
    return found, spacing


def _spacing_of(term: Any, before: Any) -> Any:
    if not isinstance(term, TotalVariation) or term.spacing is None:
        return before
    numbers = _check.numbers(term.spacing, "TotalVariation.spacing")
    if numbers.ndim > 1 or not np.all((numbers > 0) & (numbers < np.inf)):
        raise ValueError(f"terms= has {term}; expected a positive spacing, one number or one for each axis")
    return term.spacing


_SAID_BY_RECONSTRUCT = {"(minimum=, maximum=)": "(Bounds in terms=)", "(lambda_=, tv=, reference=)": "(TotalVariation in terms=)",
                        "another method": "another solver", "method=": "solver=", "projections=": "y=", "init=": "x0="}
_SAID_BY_ARGUMENTS = {"minimum": "terms=[Bounds(lower)]", "maximum": "terms=[Bounds(upper=...)]", "lambda_": "terms=[TotalVariation(strength)]",
                      "method": "solver=", "init": "x0="}


def _by_method(A: Operator, y: Any, parts: dict[str, float], method: str, **settings: Any) -> Any:
    """By a method of reconstruct(), whose messages name the arguments of solve()."""
    for name, value in (("lambda_", parts["tv"] or np.inf), ("minimum", parts["lower"]), ("maximum", parts["upper"])):
        settings[name] = value if np.isfinite(value) else None
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return reconstruct(y, A.geometry, A.grid, method=method, operator=A.form, **{**A.options, **given})
    except InputError as error:
        text = str(error)
        for theirs, own in _SAID_BY_RECONSTRUCT.items():
            text = text.replace(theirs, own)
        raise InputError(text) from None


def _data(values: Any, like: Any, name: str, load: Optional[Callable[[Any], Any]] = None, least: float = -np.inf) -> Any:
    """Finite values of the shape `like`, or without its axes of length 1: as an array of it, on devices by load(). None is
    itself, and of a stack there is a tuple."""
    if values is None:
        return None
    found = as_values(values, name, any_axes=True)
    found = found.astype(np.float32) if load or found.dtype.kind != "f" else found
    if found.shape != like and _squeezed(found.shape) != _squeezed(like):
        raise ValueError(f"{name}= is {found.shape}; expected {like}")
    if not np.isfinite(found).all() or found.min() < least:
        raise ValueError(f"{name}= has values from {found.min():g} to {found.max():g}; expected {_expected(least)}")
    return load(found.reshape(like)) if load else found.reshape(like)


def _expected(least: float) -> str:
    return "finite numbers, not negative" if least == 0 else "finite numbers"


def _squeezed(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _on_devices(values: Any, space: Any, name: str, least: float = -np.inf) -> Any:
    """A DeviceArray over the space, or one of these for each space of a stack."""
    if isinstance(space, tuple):
        return None if values is None else tuple(_on_devices(*each, name, least) for each in zip(_parts(values, space, name), space))
    if not isinstance(values, DeviceArray):
        return _data(values, tuple(space.grid[0][::-1]), name, lambda found: _core.load(space, found), least)
    if not values.space == space:
        raise ValueError(f"{name}= is over {values.space!r}; expected {space!r}")
    if not np.isfinite(float(arrays.sum(values))) or float(arrays.min(values)) < least:
        raise ValueError(f"{name}= has values from {float(arrays.min(values)):g} on; expected {_expected(least)}")
    return values


def _in_memory(values: Any, shape: Any, name: str, least: float = -np.inf) -> Any:
    """An array of the shape, or one of these for each shape of a stack."""
    if shape and isinstance(shape[0], tuple):
        return None if values is None else tuple(_in_memory(*each, name, least) for each in zip(_parts(values, shape, name), shape))
    return _data(values, shape, name, least=least)


def _parts(values: Any, expected: Any, name: str) -> Any:
    """As many arrays as are expected."""
    if not isinstance(values, (list, tuple)) or len(values) != len(expected):
        found = f"{len(values)} arrays" if isinstance(values, (list, tuple)) else type(values).__name__
        raise ValueError(f"{name}= is {found}; expected {len(expected)} arrays, one for each operator of the stack")
    return values


def _shape_of(y: Any) -> Any:
    return tuple(map(_shape_of, y)) if isinstance(y, tuple) else np.shape(y)


def _space_of(A: Any, y: Any) -> Any:
    """The space of the data on devices, or those of a stack's; None: the data are in memory."""
    if isinstance(A, DeviceOperator):
        return A.range
    if isinstance(y, tuple):
        spaces = tuple(map(_space_of, getattr(A, "parts", y), y))
        return None if any(space is None for space in spaces) else spaces
    return y.space if isinstance(y, DeviceArray) else None


def _problem(A: Any, y: Any, weights: Any, x0: Any, spacing: Any, parts: dict[str, float]) -> Tuple[_Problem, Any]:
    """The problem of arrays of the operator's shapes, and where to begin."""
    if isinstance(A, Stacked):
        y = tuple(_parts(y, A.parts, "y"))
    space = _space_of(A, y)
    if space is not None:
        y, weights = _on_devices(y, space, "y"), _on_devices(weights, space, "weights", 0)
        start = 0.0 * A.T(y)
        x0 = _on_devices(x0, start.space, "x0")
        return _Problem(A, y, weights, _OnDevices(), **parts), start if x0 is None else x0
    y = tuple(map(np.asarray, y)) if isinstance(y, tuple) else y
    shape = getattr(A, "range_shape", None) or _shape_of(y)
    y, weights = _in_memory(y, shape, "y"), _in_memory(weights, shape, "weights", 0)
    start = 0.0 * A.T(y)
    if _shape_of(A(start)) != _shape_of(y):
        raise ValueError(f"y= is {_shape_of(y)}; the operator gives {_shape_of(A(start))}")
    x0 = _in_memory(x0, start.shape, "x0")
    grid = getattr(A, "domain_grid", None)
    own = 1.0 if grid is None else grid.spacing
    return (_Problem(A, y, weights, _Numpy(own if spacing is None else spacing), **parts),
            start if x0 is None else x0.astype(start.dtype, copy=False))


def _require_settings(solver: Any, iterations: Any, options: dict[str, Any]) -> None:
    _check.text(solver, "solver", "fista")
    whole = isinstance(iterations, (int, np.integer)) and not isinstance(iterations, bool)
    if iterations is not None and not (whole and iterations >= 1):
        raise ValueError(f"iterations= is {iterations!r}; expected a whole number from 1 on")
    for name in options:
        if name in _SAID_BY_ARGUMENTS:
            raise ValueError(f"{name}= is a setting of reconstruct(); expected {_SAID_BY_ARGUMENTS[name]}")


def solve(A: Any, y: Any, *, weights: Any = None, terms: Any = (), solver: str = "auto", iterations: Optional[int] = None,
          x0: Any = None, **options: Any) -> Any:
    """The x with the least 1/2 sum w (A x - y)^2 + sum of terms, by an iterative solver.

    A: an Operator, that of a Context, what their algebra makes of them, or any object with A(x) and its adjoint A.T(y), of
    NumPy's or of device arrays. y: the data, a tuple of a vstack(). weights: w, of the shape of y, not negative. terms:
    TotalVariation, Tikhonov, Bounds, one or a list. x0: where to begin. Of one slice or one detector row, arrays may go
    without that axis.
    solver: "cgls" without total variation and bounds, "fista" (Beck & Teboulle 2009) and "pdhg" (Condat 2013) with any
    terms, 100 iterations unless said; for an Operator without Tikhonov also the methods of reconstruct(), and **options
    are its settings, such as gap=0.01. "auto": for such an Operator spdhg with total variation, nesterov with bounds alone,
    else cgls; for others cgls if it may be, else fista.
    Raises InputError, ValueError, TypeError.
    """
    if not callable(A) or not hasattr(A, "T"):
        raise TypeError(f"A= is {type(A).__name__}; expected an operator with A(x) and A.T(y)")
    parts, spacing = _gathered(terms)
    _require_settings(solver, iterations, options)
    plain = not parts["tv"] and not np.isfinite([parts["lower"], parts["upper"]]).any()
    if isinstance(A, Operator) and not A.is_adjoint and not parts["tikhonov"] and spacing is None and solver != "pdhg":
        method = solver if solver != "auto" else "cgls" if plain else "spdhg" if parts["tv"] else "nesterov"
        return _by_method(A, y, parts, method, iterations=iterations, init=x0, weights=weights, **options)
    if options:
        raise InputError(f"{', '.join(options)}: settings of reconstruct(), which does not solve this; leave them out")
    name = solver if solver != "auto" else "cgls" if plain else "fista"
    if name not in _SOLVERS or name == "cgls" and not plain:
        expected = ", ".join(each for each in ("auto", *_SOLVERS) if plain or each != "cgls")
        raise ValueError(f'solver= is "{solver}"; expected {expected} for this operator and these terms')
    if isinstance(A, Operator) and spacing is None and not A.is_adjoint:  # its arrays stay on the devices
        A = Context(A.geometry, A.grid, operator=A.form, **A.options).operator
    problem, start = _problem(A, y, weights, x0, spacing, parts)
    x = _SOLVERS[name](problem, start, 100 if iterations is None else int(iterations))
    first = y[0] if isinstance(A, Stacked) else y
    if isinstance(x, DeviceArray) and not isinstance(first, DeviceArray):
        x = x.get()
    return _flattened(x, first) if isinstance(A, (Algebra, Stacked)) and isinstance(x, np.ndarray) and x.ndim == 3 else x
