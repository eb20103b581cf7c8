"""Least squares with regularising terms, for projectors and operators of your own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core, arrays
from .arrays import Context, DeviceArray, DeviceOperator
from .errors import InputError
from .operator import Operator
from .verbs import reconstruct


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
        self._spacing = 1.0 if spacing is None else spacing

    def spacing(self, x: Any) -> Any:
        return np.broadcast_to(np.asarray(self._spacing, x.dtype), (x.ndim,))

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


def _largest_curvature(p: _Problem, start: Any, steps: int = 20) -> float:
    """The largest, of the smooth part, by the power method from a random array like start, times 1.05."""
    x = p.on.random(start)
    for _ in range(steps):
        length = np.sqrt(p.on.dot(x, x))
        x = p.slope(x * float(1 / length), affine=False) if length > 0 else x
    return 1.05 * float(np.sqrt(p.on.dot(x, x))) or 1.0


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
    step = 1 / _largest_curvature(p, x)
    q = [0.0 * part for part in p.on.gradient(x)] if p.tv else []
    length2 = sum(4 / h**2 for h in p.on.spacing(x)) if p.tv else 1.0

    def nearest(v: Any, q: List[Any]) -> Tuple[Any, List[Any]]:
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
        new, q = nearest(z - step * p.slope(z), q)
        t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
        z, x = new + (new - x) * float((before - 1) / t), new
    return x


def _pdhg(p: _Problem, x: Any, iterations: int) -> Any:
    """Primal-dual steps, the fidelity by its gradient (Condat 2013, algorithm 3.1)."""
    curvature = _largest_curvature(p, x)
    tau, length2 = 1 / curvature, sum(4 / h**2 for h in p.on.spacing(x))
    sigma = curvature / (2 * length2)
    q = [0.0 * part for part in p.on.gradient(x)] if p.tv else []
    for _ in range(iterations):
        g = p.slope(x)
        new = p.within(x - tau * (g + p.on.adjoint_gradient(q) if p.tv else g))
        if p.tv:
            q = _in_balls([a + sigma * b for a, b in zip(q, p.on.gradient(2.0 * new - x))], p.tv, p.on)
        x = new
    return x


_SOLVERS = {"cgls": _cgls, "fista": _fista, "pdhg": _pdhg}


def _gathered(terms: Sequence[Any]) -> Tuple[dict[str, float], Any]:
    """Sums of strengths, the tightest bounds, and the spacing of the variation."""
    found, spacing = {"tv": 0.0, "tikhonov": 0.0, "lower": -np.inf, "upper": np.inf}, None
    for term in terms:
        if isinstance(term, Bounds):
            found["lower"], found["upper"] = max(found["lower"], term.lower), min(found["upper"], term.upper)
        elif isinstance(term, (TotalVariation, Tikhonov)):
            if not 0 <= term.strength < np.inf:
                raise ValueError(f"terms= has {term}; expected a finite strength, not negative")
            found["tv" if isinstance(term, TotalVariation) else "tikhonov"] += term.strength
            spacing = term.spacing if isinstance(term, TotalVariation) and term.spacing is not None else spacing
        else:
            raise TypeError(f"terms= has {term!r}; expected TotalVariation, Tikhonov or Bounds")
    if found["lower"] > found["upper"]:
        raise ValueError(f"terms= has bounds from {found['lower']} to {found['upper']}, between which there is no number")
    return found, spacing


def _by_method(A: Operator, y: Any, parts: dict[str, float], method: str, **settings: Any) -> Any:
    """By a method of reconstruct()."""
    for name, value in (("lambda_", parts["tv"] or np.inf), ("minimum", parts["lower"]), ("maximum", parts["upper"])):
        settings[name] = value if np.isfinite(value) else None
    given = {name: value for name, value in settings.items() if value is not None}
    return reconstruct(y, A.geometry, A.grid, method=method, operator=A.form, **{**A.options, **given})


def solve(A: Any, y: Any, *, weights: Any = None, terms: Sequence[Any] = (), solver: str = "auto", iterations: Optional[int] = None,
          x0: Any = None, **options: Any) -> Any:
    """The x with the least 1/2 sum w (A x - y)^2 + sum of terms, by an iterative solver.

    A: an Operator, that of a Context, what their algebra makes of them, or any object with A(x) and its adjoint A.T(y), of
    NumPy's or of device arrays. y: the data, a tuple of a vstack(). weights: w, of the shape of y. terms: TotalVariation,
    Tikhonov, Bounds. x0: where to begin.
    solver: "cgls" without total variation and bounds, "fista" (Beck & Teboulle 2009) and "pdhg" (Condat 2013) with any
    terms, 100 iterations unless said; for an Operator without Tikhonov also the methods of reconstruct(), and **options
    are its settings, such as gap=0.01. "auto": for such an Operator spdhg with total variation, nesterov with bounds alone,
    else cgls; for others cgls if it may be, else fista.
    Raises InputError, ValueError, TypeError.
    """
    if not callable(A) or not hasattr(A, "T"):
        raise TypeError(f"A= is {type(A).__name__}; expected an operator with A(x) and A.T(y)")
    parts, spacing = _gathered(terms)
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
    given = isinstance(y, DeviceArray) or isinstance(y, tuple) and isinstance(y[0], DeviceArray)
    if isinstance(A, Operator) and spacing is None and not A.is_adjoint:  # its arrays stay on the devices
        A = Context(A.geometry, A.grid, operator=A.form, **A.options).operator
    if isinstance(A, DeviceOperator) and not given:
        y, weights, x0 = _loaded(y, A.range), _loaded(weights, A.range), _loaded(x0, A.domain)
    on_devices = given or isinstance(A, DeviceOperator)
    problem = _Problem(A, y, weights, _OnDevices() if on_devices else _Numpy(spacing), **parts)
    x = _SOLVERS[name](problem, 0.0 * A.T(y) if x0 is None else x0, 100 if iterations is None else int(iterations))
    return x.get() if on_devices and not given else x


def _loaded(values: Any, space: Any) -> Any:
    if values is None:
        return None
    found, expected = np.ascontiguousarray(values, np.float32), tuple(space.grid[0][::-1])
    if found.shape != expected:
        raise ValueError(f"an array is {found.shape}; the operator has {expected}")
    return _core.load(space, found)
