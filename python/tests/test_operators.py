"""Projectors as operators, and arrays that stay on devices."""

import numpy as np
import pytest

import halocline as hc
from halocline import arrays


def test_the_adjoint(geometry, grid):
    A = hc.Operator(geometry, grid)
    assert hc.adjoint_error(A) < 1e-6
    assert A.T.T is A and A.domain_shape == grid.shape and A.range_shape == geometry.shape


def test_scipy(geometry, grid, volume, projections):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A = hc.Operator(geometry, grid)
    assert np.array_equal((A @ volume.ravel()).reshape(A.range_shape), projections)
    x = linalg.lsqr(A, projections.ravel(), iter_lim=12)[0].reshape(A.domain_shape)
    assert np.linalg.norm(A(x.astype(np.float32)) - projections) < 0.1 * np.linalg.norm(projections)


def test_formulas_are_numpys(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    x, y = on.array(volume), on.array(volume[::-1].copy())
    assert np.array_equal((x + 2 * y).get(), volume + np.float32(2) * volume[::-1])
    assert np.array_equal((x / (y + 1) - 3).get(), volume / (volume[::-1] + np.float32(1)) - np.float32(3))
    assert np.array_equal(arrays.maximum(x, y).get(), np.maximum(volume, volume[::-1]))
    assert np.array_equal(arrays.where(x > y, x, y).get(), np.maximum(volume, volume[::-1]))
    assert float(arrays.dot(x, y)) == pytest.approx(float(np.vdot(volume.astype(float), volume[::-1].astype(float))), rel=1e-6)
    named = x + y
    assert np.array_equal((named * named).get(), (volume + volume[::-1]) ** 2)
    assert np.array_equal(named.get(), volume + volume[::-1])
    difference = np.zeros_like(volume)
    difference[:, :, :-1] = (volume[:, :, 1:] - volume[:, :, :-1]) / np.float32(grid.spacing[2])
    assert np.allclose(arrays.gradient(x, 0).get(), difference, rtol=1e-6, atol=1e-9)
    assert np.array_equal(on.operator(x).get(), projections)


def test_largest_and_least_are_numpys(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    for values in (volume - np.float32(0.01), projections):
        x = on.array(values)
        assert float(x.max()) == values.max() == float(arrays.max(x)) and float(x.min()) == values.min() == float(arrays.min(x))
        assert float((2 * x).max()) == 2 * values.max() and float(arrays.norm(x, np.inf)) == np.abs(values).max()
        assert float(arrays.norm(x, 1)) == pytest.approx(float(np.abs(values.astype(float)).sum()), rel=1e-6)
        with pytest.raises(ValueError, match="order= is 3"):
            arrays.norm(x, 3)
    with_nan = volume.copy()
    with_nan[7, 3, 5] = np.nan
    assert np.isnan(float(on.array(with_nan).max())) and np.isnan(float(on.array(with_nan).min()))


def test_a_formula_is_one_pass(geometry, grid, volume):
    on = hc.Context(geometry, grid)
    x, p = on.array(volume), on.array(volume)
    on.wait()
    before = on.passes
    result = x + 0.5 * p - x * p
    result.get()
    assert on.passes == before + 1


def cgls(on, b, iterations):
    A = on.operator
    x = arrays.zeros(on.volume)
    r, s = b, A.T(b)
    p, gamma = s, arrays.dot(s, s)
    for _ in range(iterations):
        q = A(p)
        alpha = gamma / arrays.dot(q, q)
        x = x + alpha * p
        r = r - alpha * q
        s = A.T(r)
        new = arrays.dot(s, s)
        p = s + (new / gamma) * p
        gamma = new
    return x.get()


def test_a_users_solver(geometry, grid, projections):
    on = hc.Context(geometry, grid)
    mine = cgls(on, on.array(projections), 5)
    theirs = hc.reconstruct(projections, geometry, grid, method="cgls", iterations=5)
    assert np.linalg.norm(mine - theirs) < 1e-3 * np.linalg.norm(theirs)


def test_arrays_of_two_spaces(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    with pytest.raises(hc.InputError, match="one space"):
        on.array(volume) + on.array(projections)
    with pytest.raises(ValueError, match="values="):
        on.array(volume[1:])


def test_autograd(geometry, grid, volume, projections):
    torch = pytest.importorskip("torch")
    A = hc.Operator(geometry, grid)
    x = torch.from_numpy(volume).requires_grad_()
    loss = ((hc.to_autograd(A)(x) - torch.from_numpy(projections * 0.5)) ** 2).sum() / 2
    loss.backward()
    assert np.allclose(x.grad.numpy(), A.T(projections * np.float32(0.5)), rtol=1e-4, atol=1e-4)
    by_context = torch.from_numpy(volume).requires_grad_()
    layer = hc.to_autograd(hc.Context(geometry, grid).operator)
    (((layer(by_context) - torch.from_numpy(projections * 0.5)) ** 2).sum() / 2).backward()
    assert torch.equal(by_context.grad, x.grad)
    on = hc.Context(geometry, grid)
    moved = hc.to_autograd(on.operator)(by_context)
    on.operator.T.move_to(geometry[::-1])
    with pytest.raises(RuntimeError, match="between forward"):
        moved.sum().backward()
    with pytest.raises(ValueError, match="the tensor is"):
        layer(x[1:])
    with pytest.raises(TypeError, match="operator="):
        hc.to_autograd(geometry)


def test_grids_and_sizes_that_do_not_fit(geometry, grid):
    for make in (hc.Operator, hc.Context):
        with pytest.raises(TypeError, match="grid="):
            make(geometry, (25, 28, 30))
    with pytest.raises(ValueError, match="device_memory="):
        hc.Context(geometry, grid, device_memory="much")
    assert tuple(hc.Context(geometry, grid, device_memory="64M").volume.grid[0]) == grid.shape[::-1]


def test_threads_share_a_context(geometry, grid, volume):
    import threading

    on = hc.Context(geometry, grid)
    x, results = on.array(volume), {}

    def work(k):
        for _ in range(5):
            results[k] = ((x * k + 1.0).get(), float(arrays.sum(x * k)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, (values, total) in results.items():
        assert np.array_equal(values, volume * np.float32(k) + np.float32(1))
        assert total == pytest.approx(k * float(volume.sum(dtype=float)), rel=1e-5)


def test_numpy_makes_no_arrays_of_formulas(geometry, grid, volume):
    x = hc.Context(geometry, grid).array(volume)
    with pytest.raises(TypeError):
        volume + x


def test_some_views_have_the_bits_of_their_own_scan(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    A, x, b = on.operator, on.array(volume), on.array(projections)
    for views in ([31, 4, 7], slice(3, None, 5), np.arange(40) % 7 == 2, [-1]):
        numbers = np.sort(np.arange(40)[views])
        own = hc.Context(geometry[numbers], grid)
        part = own.operator(own.array(volume)).get()
        y = A.views(views)(x).get()
        assert np.array_equal(y[numbers], part) and not np.delete(y, numbers, 0).any()
        back = own.operator.T(own.array(projections[numbers])).get()
        assert np.array_equal(A.views(views).T(b).get(), back)
        assert np.array_equal(A.T.views(views)(b).get(), back)


def test_random_views_at_each_step(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    A, x, b = on.operator, arrays.zeros(on.volume), on.array(projections)
    step = 1 / A.views(range(0, 40, 5)).norm() ** 2
    random = np.random.default_rng(1)
    for _ in range(40):
        some = A.views(random.choice(40, 8, replace=False))
        x = arrays.maximum(x - step * some.T(some(x) - b), 0.0)
    assert np.linalg.norm(x.get() - volume) < 0.5 * np.linalg.norm(volume)


@pytest.mark.parametrize("call, message", [
    (lambda A: A.views([]), "none of the 40 views"),
    (lambda A: A.views([40]), "expected numbers from -40 to 39"),
    (lambda A: A.T.views([1.5]), "expected numbers from -40 to 39"),
    (lambda A: A.views([3, -37]), "`?views`?=? is 3 twice"),
    (lambda A: A.views([3]).views([3]), "the views of a projector"),
])
def test_views_that_are_refused(geometry, grid, call, message):
    with pytest.raises((IndexError, hc.InputError), match=message):
        call(hc.Context(geometry, grid).operator)
