"""Arguments that cannot be: Python's own classes of exceptions, with the keyword's name and what to give."""

import numpy as np
import pytest

import halocline as hc


@pytest.mark.parametrize("call, kind, words", [
    (lambda s: hc.fdk(None, s.geometry), TypeError, "projections= is None; expected an array"),
    (lambda s: hc.reconstruct(3.5, s.geometry), TypeError, "projections= is 3.5; expected an array"),
    (lambda s: hc.backproject(None, s.geometry), TypeError, "projections= is None"),
    (lambda s: hc.find_axis(None, s.geometry), TypeError, "projections= is None"),
    (lambda s: hc.project(None, s.geometry), TypeError, "volume= is None"),
    (lambda s: hc.counts(None), TypeError, "raw= is None"),
    (lambda s: hc.noise(None, photons=1e4), TypeError, "projections= is None"),
    (lambda s: hc.metrics(None), TypeError, "volume= is None"),
    (lambda s: hc.denoise(s.x, method=None), TypeError, "method= is None; expected a text"),
    (lambda s: hc.reconstruct(s.y, s.geometry, s.grid, nonnegative=1), ValueError, "^nonnegative= is 1; expected True or False"),
    (lambda s: hc.denoise(s.x, 1.5, nonnegative="yes"), ValueError, "^nonnegative= is 'yes'; expected True or False"),
    (lambda s: hc.fdk(s.y, s.geometry, s.grid, allow_nonfinite=0), ValueError, "^allow_nonfinite= is 0; expected True or False"),
    (lambda s: hc.reconstruct(s.y, s.geometry, s.grid, lambda_=3, iterations=1, init=s.x[1:]), ValueError, r"^init= is \(7, 8, 8\)"),
    (lambda s: hc.reconstruct(s.y, s.geometry, s.grid, lambda_=3, iterations=1, init=s.x * np.nan), ValueError, "init=.*NaN"),
    (lambda s: hc.reconstruct(s.y, s.geometry, s.grid, lambda_=3, iterations=1, init=hc.Image(s.x, hc.Grid(8, 2.5))), ValueError,
     "init= must lie on the same grid, but their spacing differs"),
    (lambda s: hc.fdk(s.y, None), TypeError, "geometry= is NoneType"),
    (lambda s: hc.fdk(s.y, s.geometry, s.grid, window=True), ValueError, "window= is True; expected ram-lak"),
    (lambda s: hc.fdk(s.y, s.geometry, s.grid, progress=3), TypeError, "progress= is 3"),
    (lambda s: hc.reconstruct(s.y, s.geometry, method=None), TypeError, "method= is None"),
    (lambda s: hc.denoise(s.x, method=3), TypeError, "method= is 3"),
    (lambda s: hc.denoise(None), TypeError, "volume= is None"),
    (lambda s: hc.denoise(s.x, halves=s.x), ValueError, "halves= is ndarray; expected two arrays"),
    (lambda s: hc.denoise(s.x, halves=(s.x, s.x, s.x)), ValueError, "halves= is 3 of them"),
    (lambda s: hc.denoise(s.x, 1.5, halves=(s.x, s.x[1:])), ValueError, r"halves= is \(7, 8, 8\); its grid is"),
    (lambda s: hc.denoise(s.x, alpha=np.ones(3)), ValueError, "alpha="),
    (lambda s: hc.noise_map(halves=[s.x]), ValueError, "halves= is 1 of them"),
    (lambda s: hc.metrics(s.x, s.x[1:]), ValueError, "^volume= and truth= must lie on the same grid"),
    (lambda s: hc.counts(s.y, flats=s.y[:, 1:]), ValueError, "^flats=: the detector has"),
    (lambda s: hc.phantom("cat", s.grid), ValueError, '^name= is "cat"; expected shepp-logan'),
    (lambda s: hc.phantom("blade", None), TypeError, "grid= is None"),
    (lambda s: hc.project(s.x, None), TypeError, "geometry= is NoneType"),
    (lambda s: hc.Operator(None), TypeError, "geometry= is NoneType"),
    (lambda s: hc.Context(None), TypeError, "geometry= is NoneType"),
    (lambda s: hc.plan.fdk(None), TypeError, "geometry= is NoneType"),
    (lambda s: hc.plan.denoise(None), TypeError, "grid= is None"),
    (lambda s: hc.read(3), TypeError, "path= is int"),
    (lambda s: hc.write("u.mha", None), TypeError, "array= is None"),
    (lambda s: hc.report("/nowhere/page.html", x=s.x), OSError, "'/nowhere/page.html' cannot be written"),
    (lambda s: hc.Grid(None), ValueError, "shape= is None"),
    (lambda s: hc.Grid("abc"), ValueError, "shape= is 'abc'"),
    (lambda s: hc.Grid(8, 0), ValueError, "spacing= is 0"),
    (lambda s: hc.Grid(8, "wide"), ValueError, "spacing= is 'wide'"),
    (lambda s: hc.Geometry.circular(200, 300, None), TypeError, "angles= is None"),
    (lambda s: hc.Geometry.circular("far", 300, [0, 1]), ValueError, "sid= is 'far'"),
    (lambda s: hc.Geometry.circular(200, 300, [0, np.nan]), ValueError, "^views=: projection 1"),
    (lambda s: hc.Geometry.circular(200, 300, [0, 1], detector=5), ValueError, "detector= is 5"),
    (lambda s: hc.Geometry.circular(200, 300, [0, 1], pixel="a"), ValueError, "pixel= is 'a'"),
    (lambda s: s.geometry.with_detector(detector_origin=(1e4, 1e4)).check(), ValueError, "impossible: the rotation axis"),
    (lambda s: hc.open("/nowhere.mha"), ValueError, "/nowhere.mha"),
    (lambda s: hc.denoise(s.x, "1.5"), TypeError, "grid= is '1.5'"),
    (lambda s: hc.denoise(s.x, np.ones(3) * -1), ValueError, "spacing="),
    (lambda s: hc.denoise([s.geometry], 1.5), TypeError, "grid= is a spacing"),
    (lambda s: hc.denoise("v.mha", 1.5), TypeError, "grid= is a spacing"),
    (lambda s: hc.denoise("v.mha", s.grid), ValueError, "grid= goes with arrays"),
    (lambda s: hc.denoise(None, method="pdu4d"), TypeError, "pdu4d takes"),
    (lambda s: hc.Image(s.x, 1.5), TypeError, "grid= is 1.5"),
    (lambda s: hc.run(None), TypeError, "verb= is None"),
    (lambda s: hc.report("page.html", info=3, x=s.x), TypeError, "info= is int"),
    (lambda s: hc.report("/dev/null", x=s.x), ValueError, "is no file"),
    (lambda s: s.geometry.write("/nowhere/g.xml"), OSError, "'/nowhere/g.xml' cannot be written"),
    (lambda s: hc.Geometry.circular(200, 300, [[0, 1], [2, 3]]), ValueError, "angles= is"),
    (lambda s: hc.Geometry.circular(200, 300, [0, 1], projection_offset_x=[1, 2, 3]), ValueError, "projection_offset_x= is"),
    (lambda s: hc.Geometry.circular(200, 300, [0, 1], detector=(None, 3)), ValueError, "detector= is"),
    (lambda s: hc.Geometry.from_views("abc"), ValueError, "views= is 'abc'"),
    (lambda s: hc.Geometry.from_matrices(np.ones((3, 5)), (4, 4), 1), ValueError, "matrices= is"),
    (lambda s: hc.Geometry.from_astra(None), TypeError, "proj_geom= is NoneType"),
    (lambda s: hc.fdk(s.y[:, :, 0], s.geometry), ValueError, "projections= is"),
    (lambda s: hc.denoise(s.x, weights=s.x[0], method="spdu", grid=1.5), ValueError, r"weights= is \(8, 8\)"),
])
def test_they_are_named(scan, call, kind, words):
    with pytest.raises(kind, match=words):
        call(scan)


class Scan:
    geometry = hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 36.0), detector=(8, 8), pixel=2.0)
    grid = hc.Grid(8, 1.5)
    x = np.ones((8, 8, 8), np.float32)
    y = np.ones((10, 8, 8), np.float32)


@pytest.fixture
def scan():
    return Scan


def test_a_plan_instead_of_a_result(scan):
    for text in (hc.fdk(scan.y, scan.geometry, scan.grid, dry_run=True), hc.denoise(scan.x, alpha=3, dry_run=True)):
        assert text.startswith("Plan of ")
    with pytest.raises(hc.InputError, match="dry_run="):
        hc.metrics(scan.x, dry_run=True)


def test_results_do_not_lie_where_options_do(scan):
    weights = np.full(scan.x.shape, 0.5, np.float32)
    with pytest.raises(hc.InputError, match="out="):
        hc.denoise(scan.x, 1.5, method="spdu", alpha=3, weights=weights, out=weights)


def test_numbers_and_truths_of_numpy(scan):
    x = scan.x + np.arange(8, dtype=np.float32)
    expected = hc.denoise(x, 1.5, alpha=3, iterations=5, gap=0, nonnegative=True)
    assert np.array_equal(hc.denoise(x, np.float32(1.5), alpha=3.0, iterations=5.0, gap=0, nonnegative=np.bool_(True)), expected)


def test_a_spacing_counts_for_images_too(scan):
    image = hc.Image(scan.x + np.arange(8, dtype=np.float32), scan.grid)
    assert hc.denoise(image, 9.0, alpha=3, iterations=2, gap=0).grid.spacing == (9.0, 9.0, 9.0)
