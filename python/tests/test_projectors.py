"""Projectors of users: ray models and pairs of kernels."""

import pathlib
import pickle

import numpy as np
import pytest

import halocline as hc
from halocline import arrays

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "projectors"


@pytest.mark.parametrize("stem, ours", [("joseph", "joseph"), ("siddon", "siddon")])
def test_a_ray_model_is_the_librarys_projector(geometry, grid, volume, projections, stem, ours):
    own, library = (hc.Context(geometry, grid, projector=each) for each in (arrays.Projector(EXAMPLES / f"{stem}.cl"), ours))
    y, expected = (on.operator(on.array(volume)).get() for on in (own, library))
    assert np.abs(y - expected).max() < 1e-5 * expected.max()
    back, wanted = (on.operator.T(on.array(projections)).get() for on in (own, library))
    assert np.abs(back - wanted).max() < 1e-5 * wanted.max()


def test_tables_make_weights_and_the_adjoint_is_exact(geometry, grid, volume, projections):
    model = arrays.Projector(EXAMPLES / "attenuated.cl", tables={"mu": volume})
    assert model.is_ray_model
    on = hc.Context(geometry, grid, projector=model)
    plain = hc.Context(geometry, grid, projector="joseph")
    x, y = on.array(volume), on.array(projections)
    assert on.operator(x).get().sum() < 0.99 * plain.operator(plain.array(volume)).get().sum()
    assert float(arrays.dot(on.operator(x), y)) == pytest.approx(float(arrays.dot(x, on.operator.T(y))), rel=1e-6)


def test_a_focal_spot_widens_the_rays():
    geometry = hc.Geometry.circular(sid=30, sdd=60, angles=np.arange(0, 360, 40), detector=(3, 60), pixel=0.3)
    grid = hc.Grid((3, 40, 40), 0.15)
    x = np.zeros(grid.shape, np.float32)
    x[:, 12:15, 25:28] = 1
    text = EXAMPLES / "focal_spot.cl"
    sharp, joseph = (hc.project(x, geometry, grid, projector=each) for each in (
        arrays.Projector(text, macros={"SID": "30.0f", "SPOT": "0.0f", "PIXEL": "0.0f", "SAMPLES": 1}), "joseph"))
    assert np.abs(sharp - joseph).max() < 1e-5 * joseph.max()
    points = 1.2 * ((np.arange(15) + 0.5) / 15 - 0.5)
    moved = [hc.Geometry.circular(sid=30, sdd=60, angles=np.arange(0, 360, 40), detector=(3, 60), pixel=0.3, source_offset_x=at)
             for at in points]
    expected = np.mean([hc.project(x, each, grid, projector="joseph") for each in moved], 0)
    own = arrays.Projector(text, macros={"SID": "30.0f", "SPOT": "1.2f", "PIXEL": "0.0f", "SAMPLES": 15})
    found = hc.project(x, geometry, grid, projector=own)
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected) < 0.2 * np.linalg.norm(joseph - expected)
    assert hc.adjoint_error(hc.Operator(geometry, grid, projector=own)) < 1e-6


def test_a_scan_of_some_views_keeps_their_numbers(geometry, grid, volume):
    text = (EXAMPLES / "joseph.cl").read_text().replace("length = path *", "length = gain[pixel.view] * path *")
    gains = np.linspace(1, 2, len(geometry)).astype(np.float32)
    views = [len(geometry) - 1, 0, 2]

    def projected(scan, source, **tables):
        on = hc.Context(scan, grid, projector=arrays.Projector(source, tables=tables))
        return on.operator(on.array(volume)).get()

    expected = projected(geometry, EXAMPLES / "joseph.cl")[views] * gains[views][:, None, None]
    for some in (geometry[views], pickle.loads(pickle.dumps(geometry[views])), geometry[views[::-1]][::-1]):
        assert np.allclose(projected(some, text, gain=gains), expected, rtol=1e-5)


def test_a_reference_in_numpy_finds_half_a_pixel(geometry, grid):
    def reference(scan, volume_grid, x):
        return hc.project(x, scan, volume_grid, projector="joseph")

    assert arrays.Projector(EXAMPLES / "joseph.cl").check(geometry, reference, grid) < 1e-5
    shifted = (EXAMPLES / "joseph.cl").read_text().replace("+ line.shift_b,", "+ line.shift_b + 0.5f,")
    with pytest.raises(ValueError, match="differs from the reference by 0"):
        arrays.Projector(shifted).check(geometry, reference, grid)
    with pytest.raises(ValueError, match="reference= returned an array"):
        arrays.Projector(EXAMPLES / "joseph.cl").check(geometry, lambda scan, volume_grid, x: x[0], grid)


def test_verbs_take_a_file(geometry, grid, volume, projections):
    path = str(EXAMPLES / "joseph.cl")
    assert np.abs(hc.project(volume, geometry, grid, projector=path) - projections).max() < 1e-5 * projections.max()
    on = hc.Context(geometry, grid, projector=EXAMPLES / "joseph.cl")
    assert np.array_equal(on.operator(on.array(volume)).get(), hc.project(volume, geometry, grid, projector=path))
    A = hc.Operator(geometry, grid, projector=path)
    assert hc.adjoint_error(A) < 1e-6
    attenuated = {"projector": str(EXAMPLES / "attenuated.cl"), "projector_table": {"mu": volume}}
    on = hc.Context(geometry, grid, projector=arrays.Projector(EXAMPLES / "attenuated.cl", tables={"mu": volume}))
    y = hc.project(volume, geometry, grid, **attenuated)
    assert np.array_equal(y, on.operator(on.array(volume)).get())
    x = hc.reconstruct(y, geometry, grid, method="cgls", iterations=10, **attenuated)
    own = arrays.Projector(EXAMPLES / "attenuated.cl", tables={"mu": volume})
    assert np.array_equal(hc.reconstruct(y, geometry, grid, method="cgls", iterations=10, projector=own), x)
    assert np.array_equal(hc.project(volume, geometry, grid, projector=own), y)
    assert hc.adjoint_error(hc.Operator(geometry, grid, projector=own)) < 1e-6
    with pytest.raises(hc.InputError, match="tables of its own"):
        hc.project(volume, geometry, grid, projector=own, projector_table={"mu": volume})
    assert np.linalg.norm(x - volume) < 0.5 * np.linalg.norm(volume)
    with pytest.raises(hc.InputError, match="projector_table"):
        hc.project(volume, geometry, grid, projector="joseph", projector_table={"mu": volume})


@pytest.mark.parametrize("call, message", [
    (lambda: arrays.Projector("int x;"), "no projector"),
    (lambda: arrays.Projector("joseph.cl"), "pathlib.Path"),
    (lambda: arrays.Projector("#define PROJECTOR_VERSION 3\nvoid trace(TRACE_PARAMETERS) {}"), "PROJECTOR_VERSION 3"),
    (lambda: arrays.Projector(EXAMPLES / "joseph.cl", macros={"a b": 1}), "expected names as C has them"),
    (lambda: arrays.Projector(EXAMPLES / "attenuated.cl", tables={"mu": np.zeros(0, np.float32)}), "mu"),
    (lambda: arrays.Projector(EXAMPLES / "none.cl"), "none.cl"),
])
def test_wrong_texts_are_refused(call, message):
    with pytest.raises((hc.InputError, ValueError, TypeError, OSError), match=message):
        call()
