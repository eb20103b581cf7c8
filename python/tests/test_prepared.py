"""Jobs that are prepared once and replayed."""

import gc

import numpy as np
import pytest

import halocline as hc
from halocline import arrays


@pytest.fixture()
def on(geometry, grid):
    return hc.Context(geometry, grid)


def test_replays_have_the_bits_of_formulas(on, volume, projections):
    A = on.operator
    x, b = on.array(volume), on.array(projections)
    formula = lambda x, b: 0.5 * A.T(A(x + 1) - b) + x  # noqa: E731
    job = on.record(lambda: formula(x, b))
    assert np.array_equal(job.result.get(), formula(on.array(volume), b).get())
    for seed in range(3):
        values = np.random.default_rng(seed).random(volume.shape)  # float64
        rays = np.random.default_rng(seed).random(projections.shape, np.float32)
        job.write(x, values)
        job.write(b, on.array(rays) * 2)
        job.replay()
        expected = formula(on.array(values), on.array(rays) * 2).get()
        assert np.array_equal(job.result.get(), expected)
    assert job.commands >= 4


def test_other_work_between_replays(on, volume, projections):
    A = on.operator
    x = on.array(volume)
    job = on.record(lambda: {"rays": A(x), "back": A.T(A(x) * A(x))})
    rays, back = job.result["rays"].get(), job.result["back"].get()
    named = job.result["rays"] + 0  # a formula of the values before the next replay
    others = [A.T(on.array(projections) * n) for n in range(6)]
    expected = [each.get() for each in others]
    job.write(x, 2 * volume)
    job.replay()
    assert np.array_equal(named.get(), rays) and np.array_equal(job.result["rays"].get(), 2 * rays)
    job.write(x, volume)
    job.replay()
    assert np.array_equal(job.result["back"].get(), back)
    job.result = x = None
    gc.collect()
    job.replay()
    assert all(np.array_equal(a.get(), b) for a, b in zip(others, expected))


class Cgls:
    def __init__(self, A, b):
        self.A, self.r, self.p = A, 1 * b, A.T(b)
        self.x = 0 * self.p

    def iterate(self):
        A, p = self.A, self.p
        s = A.T(self.r)
        gamma, q = arrays.dot(s, s), A(p)
        alpha = gamma / arrays.dot(q, q)
        self.x.assign(self.x + alpha * p)
        self.r.assign(self.r - alpha * q)
        s = A.T(self.r)
        p.assign(s + arrays.dot(s, s) / gamma * p)
        return gamma, alpha


def test_an_iteration_is_a_job(on, projections):
    b = on.array(projections)
    replayed, stated = Cgls(on.operator, b), Cgls(on.operator, b)
    before = 1 * replayed.x  # a formula of the values from before
    job = on.record(replayed.iterate)
    for _ in range(4):
        gamma, alpha = stated.iterate()
        assert job.value(job.result[0]) == pytest.approx(float(gamma), rel=1e-6)
        assert job.value(2 * job.result[1]) == pytest.approx(2 * float(alpha), rel=1e-6)
        job.replay()
    stated.iterate()
    assert np.array_equal(replayed.x.get(), stated.x.get()) and replayed.x.get().any()
    assert not before.get().any()
    with pytest.raises(hc.InputError, match="ask the job"):
        float(job.result[0])
    with pytest.raises(hc.InputError, match="a sum outside of it"):
        job.value(arrays.dot(b, b))
    with pytest.raises(TypeError, match="number="):
        job.value(1.0)
    with pytest.raises(hc.InputError, match="over projections"):
        replayed.x.assign(b)


def test_a_job_follows_its_geometry(geometry, grid, volume):
    on = hc.Context(geometry, grid)
    A, x = on.operator, on.array(volume)
    job = on.record(lambda: A.T(A(x)))
    rays, first = A(x).get(), job.result.get()
    before = A(x)  # a formula of the geometry from before
    turned = geometry[::-1]
    A.T.move_to(turned)
    other = hc.Context(turned, grid)
    expected = other.operator.T(other.operator(other.array(volume))).get()
    job.replay()
    assert np.array_equal(before.get(), rays)
    assert np.array_equal(job.result.get(), expected) and not np.array_equal(expected, first)
    with pytest.raises(hc.InputError, match="the projections of the geometry"):
        A.move_to(geometry[:-1])
    with pytest.raises(TypeError, match="geometry"):
        A.move_to(3)


def test_what_is_refused(on, volume, projections):
    A = on.operator
    x, y = on.array(volume), on.array(projections)
    with pytest.raises(hc.InputError, match="reads a value"):
        on.record(lambda: x / float(arrays.norm(x)))
    with pytest.raises(hc.InputError, match="reads a value"):
        on.record(lambda: (2 * x).get())
    with pytest.raises(hc.InputError, match="without a statement"):
        on.record(lambda: None)
    with pytest.raises(ZeroDivisionError):
        on.record(lambda: A(x) / (1 // 0))
    with pytest.raises(TypeError, match="function="):
        on.record(x)  # type: ignore[arg-type]
    job = on.record(lambda: A(x))
    assert np.array_equal(job.result.get(), projections)  # the Context works on
    with pytest.raises(hc.InputError, match="do not read"):
        job.write(y, projections)
    with pytest.raises(ValueError, match="values="):
        job.write(x, projections)
    with pytest.raises(TypeError, match="array="):
        job.write(volume, volume)


def test_projections_that_travel(geometry, grid, volume):
    on = hc.Context(geometry, grid, device="cpu", device_memory="400K")
    x = on.array(volume)
    with pytest.raises(hc.InputError, match="prepared job"):
        on.record(lambda: on.operator(x))
