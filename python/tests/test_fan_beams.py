"""Scans of one detector row, and single slices: arrays of two axes in, arrays of two axes out, with the values of three."""

import numpy as np
import pytest

import halocline as hc


@pytest.fixture(scope="module")
def fan():
    return hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 6.0), detector=(1, 60), pixel=2.0)


@pytest.fixture(scope="module")
def slice_grid():
    return hc.Grid((1, 33, 31), 1.5)


@pytest.fixture(scope="module")
def disc():
    j, i = np.mgrid[:33, :31]
    return np.where((j - 12) ** 2 + (i - 17) ** 2 < 60, np.float32(0.02), np.float32(0))


def test_all_verbs(fan, slice_grid, disc, tmp_path):
    y = hc.project(disc, fan, slice_grid)
    assert y.shape == (60, 60)
    assert np.array_equal(y, hc.project(disc[None], fan, slice_grid)[:, 0])
    whole = y[:, None]
    assert np.array_equal(hc.backproject(y, fan, slice_grid), hc.backproject(whole, fan, slice_grid)[0])
    f = hc.fdk(y, fan, slice_grid)
    assert f.shape == (33, 31)
    assert np.array_equal(f, hc.fdk(whole, fan, slice_grid)[0])
    assert f[12, 17] == pytest.approx(0.02, rel=0.1)
    for flat, full in zip(hc.fdk_halves(y, fan, slice_grid), hc.fdk_halves(whole, fan, slice_grid)):
        assert np.array_equal(flat, full[0])
    weights = np.linspace(0.5, 1, 60 * 60, dtype=np.float32).reshape(60, 60)
    x = hc.reconstruct(y, fan, slice_grid, method="cgls", iterations=3, weights=weights)
    assert np.array_equal(x, hc.reconstruct(whole, fan, slice_grid, method="cgls", iterations=3, weights=weights[:, None])[0])
    assert np.linalg.norm(x - hc.reconstruct(y, fan, slice_grid, method="cgls", iterations=3)) > 0


def test_counts(fan, slice_grid, disc):
    y = hc.project(disc, fan, slice_grid)
    flats = np.full((3, 60), 5000, np.float32)
    found = hc.counts(flats[0] * np.exp(-y), flats)
    assert found.shape == y.shape
    assert np.allclose(found, y, atol=1e-5)


def test_operators(fan, slice_grid, disc):
    A = hc.Operator(fan, slice_grid)
    y = A(disc)
    assert y.shape == (60, 60)
    assert np.array_equal(y, A(disc[None])[:, 0])
    assert np.array_equal(A.T(y), A.T(y[:, None])[0])
    with pytest.raises(ValueError, match="x= is"):
        A(disc.T)


def test_a_geometry_in_a_file(fan, slice_grid, disc, tmp_path):
    y = hc.project(disc, fan, slice_grid)
    fan.write(tmp_path / "fan.txt")
    known = hc.Geometry.read(tmp_path / "fan.txt", detector=(1, 60))
    assert np.array_equal(hc.fdk(y, tmp_path / "fan.txt", slice_grid), hc.fdk(y, known, slice_grid))
    hc.Geometry.from_views(fan.views).write(tmp_path / "fan.xml")  # which does not know its pixels
    with pytest.raises(hc.InputError, match="pixel="):
        hc.fdk(y, tmp_path / "fan.xml", slice_grid)
