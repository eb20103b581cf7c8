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


def combinations(A, B):
    """Operators that are made of A and B, of the same spaces, and their values by functions."""
    return [(2 * A, lambda x: 2 * A(x), lambda y: 2 * A.T(y)),
            (np.float32(0.5) * A, lambda x: 0.5 * A(x), lambda y: 0.5 * A.T(y)),
            (-A, lambda x: -A(x), lambda y: -A.T(y)),
            (A / 4, lambda x: 0.25 * A(x), lambda y: 0.25 * A.T(y)),
            (A + B, lambda x: A(x) + B(x), lambda y: A.T(y) + B.T(y)),
            (3 * A - B, lambda x: 3 * A(x) - B(x), lambda y: 3 * A.T(y) - B.T(y)),
            (A.T @ B, lambda x: A.T(B(x)), lambda y: B.T(A(y))),
            (A @ B.T, lambda y: A(B.T(y)), lambda x: B(A.T(x)))]


def test_algebra(geometry, grid):
    A, B = hc.Operator(geometry, grid), hc.Operator(geometry, grid, projector="siddon")
    random = np.random.default_rng(3)
    for K, apply, adjoint in combinations(A, B):
        x = random.standard_normal(K.domain_shape, dtype=np.float32)
        y = random.standard_normal(K.range_shape, dtype=np.float32)
        found = K(x)
        assert found.dtype == np.float32 and np.array_equal(found, apply(x)) and np.array_equal(K.T(y), adjoint(y))
        assert hc.adjoint_error(K) < 1e-6
        assert np.array_equal(K.T.T(x), found)
        assert np.array_equal(K @ x.ravel(), found.ravel())
        assert np.array_equal(K.rmatvec(y.ravel()), K.T(y).ravel())
    assert (2 * A).norm() == pytest.approx(2 * A.norm(), rel=1e-5)
    with pytest.raises(ValueError, match="A @ B"):
        A @ B
    with pytest.raises(ValueError, match="A [+] B"):
        A + B.T


def test_algebra_on_devices(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    A, B = on.operator, on.operator.views(slice(0, None, 2))
    x, y = on.array(volume), on.array(projections)
    for K, apply, adjoint in combinations(A, B):
        one, other = (x, y) if K.domain == on.volume else (y, x)
        if not K.range == on.projections:
            other = x
        if K.domain == on.projections:
            one, other = y, y
        # by rounding alone
        assert np.allclose(K(one).get(), apply(one).get(), rtol=1e-5, atol=1e-4 * np.abs(apply(one).get()).max())
        assert np.allclose(K.T(other).get(), adjoint(other).get(), rtol=1e-5, atol=1e-4 * np.abs(adjoint(other).get()).max())
    half = arrays.norm(x) / arrays.norm(x) / 2
    assert np.allclose((half * A)(x).get(), projections / 2, rtol=1e-5, atol=1e-7)
    with pytest.raises(hc.InputError):
        (2 * A).views([1])
    with pytest.raises(ValueError, match="A [+] B: A is on devices where B is in memory"):
        A + hc.Operator(geometry, grid)
    with pytest.raises(ValueError, match="A @ B: A is in memory where B is on devices"):
        hc.Operator(geometry, grid).T @ A
    with pytest.raises(ValueError, match="vstack"):
        hc.vstack([hc.Operator(geometry, grid), A])


def test_algebra_is_of_one_grid(geometry, grid):
    A, B = hc.Operator(geometry, grid), hc.Operator(geometry, hc.Grid(grid.shape, (1.6, 1.5, 1.3)))
    for combine in (lambda: A + B, lambda: 2 * A - B, lambda: A @ B.T, lambda: A.T + B.T, lambda: hc.vstack([A, 2 * B])):
        with pytest.raises(ValueError, match="expected the same"):
            combine()
    for K in (2 * A, A - 0.5 * A, A @ A.T @ A, hc.vstack([A, A])):
        assert K.domain_grid == A.grid
    assert (A.T @ A).range_grid == A.grid and (2 * A).T.range_grid == A.grid and (2 * A).T.domain_grid is None


def test_subsets_are_scans(geometry, grid, volume, projections):
    A = hc.Operator(geometry, grid)
    for views in (slice(3, None, 8), [7, 0, 3], 5):
        some = A[views]
        assert np.array_equal(some(volume), projections[views].reshape(some.range_shape))
        assert hc.adjoint_error(some) < 1e-6
    parts = [A[n::3] for n in range(3)]
    total = sum(part.T(part(volume)) for part in parts)
    assert np.allclose(total, A.T(A(volume)), rtol=1e-4)
    with pytest.raises(IndexError, match="99"):
        A[99]
    with pytest.raises(hc.InputError, match="subset"):
        A.T.subset([1])


def test_stacks_of_scans(geometry, grid, volume):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A, B = hc.Operator(geometry[::4], grid), hc.Operator(geometry[1::3], grid, projector="siddon")
    K = hc.vstack([A, B])
    a, b = K(volume)
    assert np.array_equal(a, A(volume)) and np.array_equal(b, B(volume))
    assert np.array_equal(K.T((a, b)), A.T(a) + B.T(b)) and K.T.T is K
    flat = np.concatenate([a.ravel(), b.ravel()])
    assert np.array_equal(K @ volume.ravel(), flat) and np.array_equal(K.rmatvec(flat), K.T((a, b)).ravel())
    for twice in (2 * K, K * 2, -(-2.0 * K), K / 0.5, np.float32(2) * K):
        for found, one in zip(twice(volume), (a, b)):
            assert np.array_equal(found, 2 * one)
        assert np.array_equal(twice.T((a, b)), 2 * A.T(a) + 2 * B.T(b))
        assert np.array_equal(twice @ volume.ravel(), 2 * flat)
    x = linalg.lsqr(K, flat, iter_lim=15)[0].reshape(grid.shape)
    assert np.linalg.norm(A(x.astype(np.float32)) - a) < 0.1 * np.linalg.norm(a)
    on = hc.Context(geometry, grid)
    parts = [on.operator.views(slice(n, None, 2)) for n in range(2)]
    D = hc.vstack(parts)
    x = on.array(volume)
    assert np.allclose(D.T(D(x)).get(), on.operator.T(on.operator(x)).get(), rtol=1e-4)
    assert all(np.array_equal(twice.get(), 2 * one.get()) for twice, one in zip((2 * D)(x), D(x)))
    with pytest.raises(TypeError, match="expected 2 arrays"):
        K.T([a])
    with pytest.raises(TypeError, match="operators="):
        hc.vstack([])
    with pytest.raises(ValueError, match="vstack"):
        hc.vstack([A, hc.Operator(geometry, hc.Grid((9, 9, 9), (2, 2, 2)))])


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
