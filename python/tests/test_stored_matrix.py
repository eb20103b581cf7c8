"""Operators that store the system matrix of scans within slices."""

import numpy as np
import pytest

import halocline as hc
from halocline import arrays


@pytest.fixture(scope="module")
def scan():
    """A parallel beam with a row on each slice."""
    return hc.Geometry.circular(sid=200, sdd=0, angles=np.arange(0, 180, 8.0), detector=(9, 30), pixel=(2.0, 1.3))


@pytest.fixture(scope="module")
def slices():
    return hc.Grid((9, 14, 15), (2.0, 2.0, 2.0))


@pytest.fixture(scope="module")
def x(slices):
    return np.random.default_rng(1).random(slices.shape, np.float32)


def test_both_directions(scan, slices, x):
    stored, rays = (hc.Operator(scan, slices, projector="joseph", operator=form) for form in ("matrix", "rays"))
    y, expected = stored(x), rays(x)
    assert 0 < np.linalg.norm(y - expected) < 1e-3 * np.linalg.norm(expected)
    back, expected_back = stored.T(expected), rays.T(expected)
    assert 0 < np.linalg.norm(back - expected_back) < 1e-3 * np.linalg.norm(expected_back)
    assert hc.adjoint_error(stored) < 1e-6 and stored.T.T is stored
    assert np.array_equal((stored @ x.ravel()).reshape(y.shape), y)
    on = hc.Context(scan, slices, projector="joseph", operator="matrix")
    assert np.array_equal(on.operator(on.array(x)).get(), y)
    assert np.array_equal(on.operator.T(on.array(expected)).get(), back)


def test_a_slice_without_its_axis():
    fan = hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 12.0), detector=(1, 40), pixel=(2.0, 1.4))
    A = hc.Operator(fan, hc.Grid((1, 14, 15), (2.0, 2.0, 2.0)), projector="siddon", operator="matrix")
    x = np.random.default_rng(1).random((14, 15), np.float32)
    assert A(x).shape == (30, 40) and np.array_equal(A(x), A(x[None])[:, 0])
    assert A.T(A(x)).shape == (14, 15)


def test_auto_takes_rays_where_few_slices_do_not_pay(scan, slices, x):
    assert np.array_equal(*(hc.Operator(scan, slices, operator=form)(x) for form in ("auto", "rays")))


def test_the_operator_of_reconstruct(scan, slices, x):
    on = hc.Context(scan, slices, projector="joseph", operator="matrix")
    A, b = on.operator, on.operator(on.array(x))
    x1, r, p = arrays.zeros(on.volume), b, A.T(b)
    gamma = arrays.dot(p, p)
    for _ in range(4):
        q = A(p)
        alpha = gamma / arrays.dot(q, q)
        x1, r = x1 + alpha * p, r - alpha * q
        s = A.T(r)
        before, gamma = gamma, arrays.dot(s, s)
        p = s + (gamma / before) * p
    theirs = hc.reconstruct(b.get(), scan, slices, method="cgls", iterations=4, projector="joseph", operator="matrix")
    assert np.linalg.norm(x1.get() - theirs) < 1e-5 * np.linalg.norm(theirs)


def test_replays(scan, slices, x):
    on = hc.Context(scan, slices, operator="matrix")
    A, values = on.operator, on.array(x)
    job = on.record(lambda: A.T(A(values)))
    job.write(values, 2 * x)
    job.replay()
    assert np.array_equal(job.result.get(), A.T(A(on.array(2 * x))).get())


def test_gradients_of_pytorch(scan, slices, x):
    torch = pytest.importorskip("torch")
    A = hc.Operator(scan, slices, operator="matrix")
    for operator in (A, hc.Context(scan, slices, operator="matrix").operator):
        given = torch.from_numpy(x).requires_grad_()
        (hc.to_autograd(operator)(given) ** 2).sum().backward()
        assert np.allclose(given.grad.numpy(), 2 * A.T(A(x)), rtol=1e-4)


def test_what_one_matrix_does_not_have(scan, slices, geometry, grid):
    A = hc.Context(scan, slices, operator="matrix").operator
    with pytest.raises(hc.InputError, match="an operator of the other geometry, or this one with `?operator ?= ?rays"):
        A.move_to(scan[::-1])
    with pytest.raises(hc.InputError, match="an operator of these views, or this one with `?operator ?= ?rays"):
        A.views([1, 2])
    for make in (hc.Context, hc.Operator):
        with pytest.raises(hc.InputError, match="rays that leave their slices"):
            make(geometry, grid, operator="matrix")
        with pytest.raises(hc.InputError, match="auto, matrix, matrix-half, symmetric, rays"):
            make(scan, slices, operator="tiles")
        with pytest.raises(TypeError, match="operator="):
            make(scan, slices, operator=1)
