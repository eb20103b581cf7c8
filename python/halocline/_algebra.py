"""Algebra of linear operators, which those of arrays in memory and on devices share."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import numpy as np

try:
    from scipy.sparse.linalg import LinearOperator as _Base  # type: ignore[import-untyped, unused-ignore]
except ImportError:  # without SciPy they are no LinearOperators, and all else works
    _Base = object

Shape = Tuple[int, ...]


class Scaled:
    """2 * A, A * 2, A / 2 and -A."""

    __array_ufunc__ = None  # numbers of NumPy leave products to these methods

    def _scaled(self, factor: Any) -> Any:
        raise NotImplementedError

    def _is_number(self, value: Any) -> bool:
        return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)

    def __rmul__(self, factor: Any) -> Any:
        return self._scaled(factor) if self._is_number(factor) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if self._is_number(other):
            return self._scaled(other)
        return super().__mul__(other) if hasattr(super(), "__mul__") else NotImplemented  # type: ignore[misc]

    def __truediv__(self, factor: Any) -> Any:
        return self._scaled(1 / factor) if self._is_number(factor) else NotImplemented

    def __neg__(self) -> Any:
        return self._scaled(-1)


class Algebra(Scaled):
    """Scaled operators, A + B, A - B, and A @ B, which is A after B."""

    def _plus(self, other: Any, sign: int) -> Any:
        raise NotImplementedError

    def _after(self, other: Any) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        _require_kind("A + B", self, other)
        return self._plus(other, 1) if isinstance(other, Algebra) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        _require_kind("A - B", self, other)
        return self._plus(other, -1) if isinstance(other, Algebra) else NotImplemented

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Algebra):
            _require_kind("A @ B", self, other)
            return self._after(other)
        return super().__matmul__(other) if hasattr(super(), "__matmul__") else NotImplemented  # type: ignore[misc]

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Algebra):
            _require_kind("A @ B", self, other)
            return self._after(other)
        return super().__mul__(other)


class HostOperator(Algebra, _Base):  # type: ignore[misc, unused-ignore]
    """An operator of arrays in memory with domain_shape, range_shape, A(x) and A.T(y), and a SciPy LinearOperator.
    domain_grid, range_grid: the Grid of x or of A(x), where they are volumes, else None."""

    def __init__(self, domain_shape: Shape, range_shape: Shape, domain_grid: Any = None, range_grid: Any = None) -> None:
        self.domain_grid, self.range_grid = domain_grid, range_grid
        self.domain_shape, self.range_shape = domain_shape, range_shape
        size = (int(np.prod(range_shape)), int(np.prod(domain_shape)))
        if _Base is not object:
            super().__init__(np.dtype(np.float32), size)
        else:
            self.shape, self.dtype = size, np.dtype(np.float32)

    def __call__(self, x: Any) -> Any:
        raise NotImplementedError

    @property
    def T(self) -> Any:
        raise NotImplementedError

    def _matvec(self, x: Any) -> Any:
        return self(np.asarray(x, dtype=np.float32).reshape(self.domain_shape)).ravel()

    def _rmatvec(self, y: Any) -> Any:
        return self.T._matvec(y)

    def _adjoint(self) -> Any:
        return self.T

    def _transpose(self) -> Any:
        return self.T

    def norm(self, iterations: int = 20, seed: int = 1) -> float:
        """The largest singular value, by the power method on A^T A."""
        x = np.random.default_rng(seed).random(self.domain_shape, dtype=np.float32)
        forward, back = (self, self.T)
        scale = 1.0
        for _ in range(iterations):
            x = back(forward(x / np.float32(np.linalg.norm(x))))
            scale = float(np.linalg.norm(x))
        return float(np.sqrt(scale))

    def _scaled(self, factor: Any) -> "Combined":
        return Combined(self, self, lambda x: self(x) * float(factor), lambda y: self.T(y) * float(factor))

    def _plus(self, other: Any, sign: int) -> "Combined":
        _require_same("A + B", (self.domain_shape, self.range_shape), (other.domain_shape, other.range_shape))
        _require_grids("A + B", self.domain_grid, other.domain_grid)
        _require_grids("A + B", self.range_grid, other.range_grid)
        if sign < 0:
            return Combined(self, self, lambda x: self(x) - other(x), lambda y: self.T(y) - other.T(y))
        return Combined(self, self, lambda x: self(x) + other(x), lambda y: self.T(y) + other.T(y))

    def _after(self, other: Any) -> "Combined":
        _require_same("A @ B", self.domain_shape, other.range_shape)
        _require_grids("A @ B", self.domain_grid, other.range_grid)
        return Combined(other, self, lambda x: self(other(x)), lambda y: other.T(self.T(y)))


class Combined(HostOperator):
    """An operator that is made of others, from the domain of one to the range of another."""

    def __init__(self, first: HostOperator, last: HostOperator, apply: Callable[[Any], Any], adjoint: Callable[[Any], Any]) -> None:
        super().__init__(first.domain_shape, last.range_shape, first.domain_grid, last.range_grid)
        self._first, self._last, self._apply, self._back = first, last, apply, adjoint

    def __call__(self, x: Any) -> Any:
        return self._apply(x)

    @property
    def T(self) -> "Combined":
        return Combined(self._last.T, self._first.T, self._back, self._apply)


class Stacked(Scaled):
    """K = (A, B, ...): K(x) is the tuple (A(x), B(x), ...), and K.T of such a tuple is A.T(y[0]) + B.T(y[1]) + ...; 2 * K is
    (2 * A, 2 * B, ...)."""

    def __init__(self, parts: Any) -> None:
        self.parts = tuple(parts)

    def __call__(self, x: Any) -> Any:
        return tuple(part(x) for part in self.parts)

    @property
    def T(self) -> "StackedAdjoint":
        return StackedAdjoint(self)

    def _scaled(self, factor: Any) -> "Stacked":
        return type(self)([factor * part for part in self.parts])


class StackedAdjoint:
    """The adjoint of Stacked operators; K.T.T is K."""

    def __init__(self, stack: Stacked) -> None:
        self.T = stack

    def __call__(self, y: Any) -> Any:
        parts = self.T.parts
        if not isinstance(y, (list, tuple)) or len(y) != len(parts):
            found = f"{len(y)} arrays" if isinstance(y, (list, tuple)) else type(y).__name__
            raise TypeError(f"y= is {found}; expected {len(parts)} arrays, one for each operator of the stack")
        total = parts[0].T(y[0])
        for part, values in zip(parts[1:], y[1:]):
            total = total + part.T(values)
        return total


class HostStacked(Stacked, _Base):  # type: ignore[misc, unused-ignore]
    """Stacked operators of arrays in memory; as a SciPy LinearOperator, its vectors are those of the parts one after another."""

    def __init__(self, parts: Any) -> None:
        Stacked.__init__(self, parts)
        self.domain_shape, self.domain_grid = self.parts[0].domain_shape, self.parts[0].domain_grid
        self.range_shape = tuple(part.range_shape for part in self.parts)
        for part in self.parts:
            _require_same("vstack(A, B)", self.domain_shape, part.domain_shape)
            _require_grids("vstack(A, B)", self.domain_grid, part.domain_grid)
        self._ends = np.cumsum([int(np.prod(shape)) for shape in self.range_shape])
        size = (int(self._ends[-1]), int(np.prod(self.domain_shape)))
        if _Base is not object:
            _Base.__init__(self, np.dtype(np.float32), size)
        else:
            self.shape, self.dtype = size, np.dtype(np.float32)

    def __call__(self, x: Any) -> Any:
        return Stacked.__call__(self, x)

    def _matvec(self, x: Any) -> Any:
        found = self(np.asarray(x, dtype=np.float32).reshape(self.domain_shape))
        return np.concatenate([each.ravel() for each in found])

    def _rmatvec(self, y: Any) -> Any:
        parts = np.split(np.asarray(y, dtype=np.float32).ravel(), self._ends[:-1])
        return self.T([part.reshape(shape) for part, shape in zip(parts, self.range_shape)]).ravel()


def _require_same(what: str, one: Any, other: Any) -> None:
    if one != other:
        raise ValueError(f"{what}: A has {one} where B has {other}; expected the same")


def _require_grids(what: str, one: Any, other: Any) -> None:
    if one is not None and other is not None:
        _require_same(what, one.as_tuple(), other.as_tuple())


def _require_kind(what: str, one: Any, other: Any) -> None:
    if isinstance(other, Algebra) and isinstance(one, HostOperator) != isinstance(other, HostOperator):
        kinds = ["in memory" if isinstance(each, HostOperator) else "on devices" for each in (one, other)]
        raise ValueError(f"{what}: A is {kinds[0]} where B is {kinds[1]}; expected both in memory, or both of one Context")


def vstack(operators: Any) -> Any:
    """Operators of one volume above each other, such as two scans: K(x) is the tuple (A(x), B(x), ...), and K.T of such a
    tuple is A.T(y[0]) + B.T(y[1]) + ... Products with numbers, such as 2 * K, are of the same kind.

    operators: several Operators, or those of one Context, or others with A(x) and A.T(y). Of Operators it is a SciPy
    LinearOperator, too, whose vectors are those of the parts one after another. Raises ValueError for operators of
    several volumes, and for some in memory and some on devices.
    """
    parts = list(operators) if isinstance(operators, (list, tuple)) else []
    if not parts or not all(callable(part) and hasattr(part, "T") for part in parts):
        raise TypeError(f"operators= is {operators!r}; expected a list of operators, such as [A, B]")
    for part in parts[1:]:
        if isinstance(parts[0], Algebra):
            _require_kind("vstack(A, B)", parts[0], part)
    if all(isinstance(part, HostOperator) for part in parts):
        return HostStacked(parts)
    domains = [part.domain for part in parts if hasattr(part, "domain")]
    if any(not domain == domains[0] for domain in domains):
        raise ValueError("operators= are of several volumes; expected those of one Context")
    return Stacked(parts)
