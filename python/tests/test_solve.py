"""Least squares with terms: against SciPy, reconstruct() and dense algebra, for operators of users as well."""

import sys

import numpy as np
import pytest

import halocline as hc
from halocline import arrays


class Blur:
    """A user's operator: a mean of neighbours along the last axis."""

    def __init__(self, weights=(0.25, 0.5, 0.25), transposed=None):
        self.weights, self._other = weights, transposed

    def __call__(self, x):
        result = np.zeros_like(x)
        left, own, right = (np.float32(weight) for weight in self.weights)
        result += own * x
        result[..., 1:] += left * x[..., :-1]
        result[..., :-1] += right * x[..., 1:]
        return result

    @property
    def T(self):
        if self._other is None:
            self._other = Blur(self.weights[::-1], self)
        return self._other

    def matrix(self, size):
        return np.stack([self(row) for row in np.eye(size, dtype=np.float32)], axis=1).astype(np.float64)


def signal(size):
    x = np.zeros((3, size), np.float32)
    x[:, size // 5: size // 2] = 1
    x[1, size // 2: -size // 6] = -0.5
    return x


def objective(A, x, y, w, tv, tikhonov, spacing=1.0):
    x, r = x.astype(np.float64), (A(x) - y).astype(np.float64)
    parts = [np.diff(x, axis=axis, append=np.take(x, [-1], axis=axis)) / spacing for axis in range(x.ndim)]
    return 0.5 * np.sum(w * r * r) + tv * np.sum(np.sqrt(sum(part**2 for part in parts))) + 0.5 * tikhonov * np.sum(x * x)


@pytest.mark.parametrize("size", [7, 24, 93])
def test_a_users_operator_is_solved_as_by_dense_algebra(size):
    A = Blur((0.2, 0.5, 0.3))
    M = A.matrix(size)
    random = np.random.default_rng(size)
    assert np.sum(A(signal(size)) * signal(size) ** 2) == pytest.approx(float(np.sum(signal(size) * A.T(signal(size) ** 2))), abs=1e-4)
    y = A(signal(size)) + np.float32(0.01) * random.standard_normal((3, size), dtype=np.float32)
    w = random.uniform(0.5, 2, (3, size)).astype(np.float32)
    expected = np.stack([np.linalg.solve(M.T @ np.diag(v.astype(float)) @ M + 0.1 * np.eye(size), M.T @ (v * row)) for row, v in zip(y, w)])
    for solver in ("auto", "cgls", "fista", "pdhg"):
        found = hc.solve(A, y, weights=w, terms=[hc.Tikhonov(0.1)], solver=solver, iterations=150)
        assert found.dtype == np.float32 and np.allclose(found, expected, atol=2e-4), solver
    bounded = [hc.solve(A, y, weights=w, terms=[hc.Tikhonov(0.1), hc.Bounds(0, 0.8)], solver=solver, iterations=200) for solver in ("auto", "pdhg")]
    assert all(x.min() == 0 and x.max() == np.float32(0.8) for x in bounded) and np.allclose(*bounded, atol=1e-4)


class Diagonal:
    """A user's operator: a product with numbers, its own adjoint."""

    def __init__(self, values):
        self.values = np.asarray(values, np.float32)

    def __call__(self, x):
        return self.values * x

    T = property(lambda self: self)


@pytest.mark.parametrize("solver", ["fista", "pdhg"])
def test_data_without_the_largest_direction_bound_the_steps(solver, geometry, grid, volume):
    A = Diagonal([10, 0.1])
    found = hc.solve(A, np.float32([0, 1]), terms=[hc.TotalVariation(0.001)], solver=solver)
    assert np.isfinite(found).all() and abs(found[0]) < 0.1
    ones = np.ones(2, np.float32)
    found = hc.solve(A, 0 * ones, x0=ones, solver=solver)
    assert abs(found[0]) < 1e-3 and 0 <= found[1] <= 1
    P = hc.Operator(geometry, grid)
    found = hc.solve(P, np.zeros(geometry.shape, np.float32), x0=volume, terms=[hc.Tikhonov(1)], solver=solver, iterations=20)
    assert np.linalg.norm(found) < np.linalg.norm(volume)


@pytest.mark.parametrize("solver", ["fista", "pdhg"])
def test_a_direction_that_the_norm_misses_does_not_diverge(solver, monkeypatch):
    def start(x):  # its curvature is 1, that of others up to 9
        return np.eye(1, x.size, dtype=x.dtype).reshape(x.shape)

    monkeypatch.setattr(sys.modules["halocline.solve"]._Numpy, "random", staticmethod(start))
    A, truth = Diagonal(np.linspace(1, 3, 50)), np.linspace(1, 2, 50, dtype=np.float32)
    for terms in ([], [hc.TotalVariation(1e-5), hc.Bounds(0)]):
        found = hc.solve(A, A(truth), solver=solver, iterations=300, terms=terms)
        assert np.abs(found - truth).max() < 0.01


def test_total_variation_of_a_users_operator():
    A, x = Blur(), signal(61)
    y = A(x) + np.float32(0.05) * np.random.default_rng(2).standard_normal(x.shape, dtype=np.float32)
    terms = [hc.TotalVariation(0.05, spacing=0.5), hc.Bounds(-0.5)]
    for solver in ("cgls", "fista", "pdhg"):
        assert not hc.solve(A, 0 * y, solver=solver, iterations=5).any()
    found = [hc.solve(A, y, terms=terms, solver=solver, iterations=n) for solver, n in (("fista", 150), ("pdhg", 3000))]
    values = [objective(A, each, y, 1, 0.05, 0, 0.5) for each in found]
    assert values[0] == pytest.approx(values[1], rel=1e-4)
    for k in range(20):  # no neighbour is better
        other = np.maximum(found[0] + np.float32(1e-2) * np.random.default_rng(k).standard_normal(x.shape, dtype=np.float32), -0.5)
        assert objective(A, other, y, 1, 0.05, 0, 0.5) > values[0]
    assert np.linalg.norm(found[0] - x) < 0.7 * np.linalg.norm(hc.solve(A, y, iterations=30) - x)


def test_an_operator_is_solved_as_by_lsqr(geometry, grid, projections):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A = hc.Operator(geometry, grid)
    plain = linalg.lsqr(A, projections.ravel(), iter_lim=6)[0].reshape(grid.shape)
    assert np.allclose(hc.solve(A, projections, iterations=6), plain, atol=2e-4 * np.abs(plain).max())
    damped = linalg.lsqr(A, projections.ravel(), damp=np.sqrt(20.0), iter_lim=60)[0].reshape(grid.shape)
    for problem in (A, hc.Context(geometry, grid).operator, 1.0 * A):
        found = hc.solve(problem, projections, terms=[hc.Tikhonov(20)], iterations=60)
        assert isinstance(found, np.ndarray) and np.allclose(found, damped, atol=2e-3 * np.abs(damped).max())


def test_total_variation_is_that_of_reconstruct(geometry, grid, projections):
    A = hc.Operator(geometry, grid)
    weights = np.linspace(0.5, 2, projections.size, dtype=np.float32).reshape(projections.shape)
    terms = [hc.TotalVariation(0.05), hc.Bounds(0)]
    expected, info = hc.reconstruct(projections, geometry, grid, weights=weights, lambda_=0.05, minimum=0, gap=1e-3, iterations=300,
                                    return_info=True)
    found = hc.solve(A, projections, weights=weights, terms=terms, gap=1e-3, iterations=300)
    assert np.array_equal(found, expected)
    own = hc.solve(hc.Context(geometry, grid).operator, projections, weights=weights, terms=terms, iterations=60)
    by_numpy = [hc.TotalVariation(0.05, spacing=grid.spacing), hc.Bounds(0)]
    flat = hc.solve(1.0 * A, projections, weights=weights, terms=by_numpy, iterations=60)
    assert np.array_equal(hc.solve(1.0 * A, projections, weights=weights, terms=terms, iterations=60), flat)
    assert np.linalg.norm(own - expected) < 0.02 * np.linalg.norm(expected)
    assert np.linalg.norm(flat - own) < 0.01 * np.linalg.norm(own)


def test_device_arrays_stay_there(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    x = hc.solve(on.operator, on.array(projections), iterations=8)
    assert isinstance(x, arrays.DeviceArray) and np.linalg.norm(x.get() - volume) < 0.5 * np.linalg.norm(volume)
    K = hc.vstack([on.operator.views(slice(n, None, 2)) for n in range(2)])
    stacked = hc.solve(K, K(on.array(volume)), iterations=8)
    assert np.allclose(stacked.get(), x.get(), atol=1e-3 * volume.max())
    loaded = hc.solve(K, [part.get() for part in K(on.array(volume))], iterations=8)
    assert np.allclose(loaded, stacked.get(), atol=1e-4 * volume.max())
    with pytest.raises(ValueError, match="^y= is 1 arrays"):
        hc.solve(K, [projections])


class DeviceBlur:
    """The blur of device arrays, which is its own adjoint."""

    def __call__(self, x):
        return 0.5 * x + 0.25 * arrays.shift(x, 0, 1) + 0.25 * arrays.shift(x, 0, -1)

    T = property(lambda self: self)


def test_a_users_operator_on_devices(geometry, grid, volume):
    on = hc.Context(geometry, grid)
    y = Blur()(volume) + np.float32(0.001) * np.random.default_rng(1).standard_normal(grid.shape, dtype=np.float32)
    terms = [hc.TotalVariation(1e-3, spacing=grid.spacing), hc.Tikhonov(1e-3), hc.Bounds(0, 0.025)]
    for solver, iterations in (("fista", 12), ("pdhg", 40)):
        expected = hc.solve(Blur(), y, terms=terms, solver=solver, iterations=iterations)
        found = hc.solve(DeviceBlur(), on.array(y), terms=terms, solver=solver, iterations=iterations)
        assert np.allclose(found.get(), expected, atol=2e-4 * volume.max()), solver


def test_stacks_of_scans(geometry, grid, volume):
    K = hc.vstack([hc.Operator(geometry[n::2], grid) for n in range(2)])
    found = hc.solve(K, K(volume), terms=[hc.Bounds(0)], iterations=25)
    assert np.linalg.norm(found - volume) < 0.4 * np.linalg.norm(volume)


def test_a_slice_goes_without_its_axis(volume):
    fan = hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 20.0), detector=(1, 52), pixel=(2.0, 1.8))
    A = hc.Operator(fan, hc.Grid((1, 28, 30), (1.6, 1.5, 1.4)))
    y = A(volume[8])
    assert y.shape == (18, 52)
    whole = hc.solve(A, y[:, None], terms=hc.Tikhonov(1), x0=volume[8:9], iterations=5)
    assert whole.shape == (1, 28, 30)
    for problem in (A, 1.0 * A):
        for solver in ("cgls", "fista"):
            expected = hc.solve(problem, y[:, None], terms=hc.Tikhonov(1), x0=volume[8:9], iterations=5, solver=solver)
            found = hc.solve(problem, y, terms=hc.Tikhonov(1), x0=volume[8], weights=np.ones_like(y), iterations=5, solver=solver)
            assert found.shape == (28, 30) and np.allclose(found, expected[0], atol=1e-6)


def test_inputs_are_checked(geometry, grid, projections):
    on = hc.Context(geometry, grid)
    bad = np.ones_like(projections)
    bad[3, 4, 5] = np.nan
    for A, y in ((on.operator, projections), (on.operator, on.array(projections)), (1.0 * hc.Operator(geometry, grid), projections)):
        for weights in (bad, -np.ones_like(projections), np.ones(7, np.float32)):
            with pytest.raises(ValueError, match="^weights= "):
                hc.solve(A, y, weights=weights, iterations=1)
        with pytest.raises(ValueError, match="^x0= "):
            hc.solve(A, y, x0=np.ones(3, np.float32), iterations=1)
        with pytest.raises(ValueError, match="^weights= "):
            hc.solve(on.operator, y, weights=on.array(-np.ones_like(projections)), iterations=1)
    for A in (on.operator, 1.0 * hc.Operator(geometry, grid), hc.Operator(geometry, grid)):
        with pytest.raises(ValueError, match="^y= "):
            hc.solve(A, projections[:5], iterations=1)
    A = hc.Operator(geometry, grid)
    with pytest.raises(ValueError, match="^solver= is \"foo\""):
        hc.solve(A, projections, solver="foo")
    with pytest.raises(ValueError, match="terms=.*another solver than cgls"):
        hc.solve(A, projections, solver="cgls", terms=hc.Bounds(0))
    for arguments in ({"weights": bad}, {"weights": -np.ones_like(projections)}, {"x0": np.ones((2, 3, 4), np.float32)}):
        with pytest.raises(ValueError, match=list(arguments)[0]):
            hc.solve(A, projections, iterations=1, **arguments)
    with pytest.raises(ValueError, match="^minimum= .*Bounds"):
        hc.solve(A, projections, minimum=0)


@pytest.mark.parametrize("call, error, message", [
    (lambda: hc.solve(Blur(), signal(9), iterations=-1), ValueError, "^iterations= is -1"),
    (lambda: hc.solve(Blur(), signal(9), iterations=0), ValueError, "^iterations= is 0"),
    (lambda: hc.solve(Blur(), signal(9), iterations=1.5), ValueError, "^iterations= is 1.5"),
    (lambda: hc.solve(Blur(), signal(9), terms=[hc.TotalVariation(1, spacing=0)]), ValueError, "^terms= has .*spacing"),
    (lambda: hc.solve(Blur(), signal(9), terms=[hc.TotalVariation(1, spacing=(1, 2, 3))]), ValueError, "^terms= has .*spacing"),
    (lambda: hc.solve(Blur(), signal(9), terms=[hc.Bounds(np.nan)]), ValueError, "^terms= has Bounds"),
    (lambda: hc.solve(Blur(), signal(9), terms=[hc.Bounds(np.inf)]), ValueError, "^terms= has Bounds"),
    (lambda: hc.solve(Blur(), signal(9), x0=np.ones(9, np.float32)), ValueError, "^x0= is"),
    (lambda: hc.solve(Blur(), signal(9), weights=np.ones(9, np.float32)), ValueError, "^weights= is"),
    (lambda: hc.solve(3, signal(9)), TypeError, "^A= is int"),
    (lambda: hc.solve(Blur(), signal(9), terms=[3]), TypeError, "^terms= has 3"),
    (lambda: hc.solve(Blur(), signal(9), terms=[hc.Tikhonov(-1)]), ValueError, "strength"),
    (lambda: hc.solve(Blur(), signal(9), terms=[hc.Bounds(1, 0)]), ValueError, "bounds from 1 to 0"),
    (lambda: hc.solve(Blur(), signal(9), terms=[hc.Bounds(0)], solver="cgls"), ValueError, "cgls.*fista"),
    (lambda: hc.solve(Blur(), signal(9), solver="spdhg"), ValueError, "solver= is \"spdhg\""),
    (lambda: hc.solve(Blur(), signal(9), gap=0.1), hc.InputError, "gap"),
])
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
