"""Geometries from and to other packages."""

import numpy as np
import pytest

import halocline as hc


@pytest.fixture()
def odd():
    rows = np.zeros((7, 9))
    rows[:, 0], rows[:, 1] = 310, 520
    rows[:, 2] = np.arange(7) * 23.7
    rows[:, 3], rows[:, 4] = 1.5, 0.7  # angles are kept from 0 to 360
    rows[:, 5], rows[:, 6], rows[:, 7], rows[:, 8] = 0.3, -0.2, 4.5, -3.1
    return hc.Geometry.from_views(rows, (30, 41), (0.9, 0.8))


def same_rays(a, b):
    assert np.allclose(a.matrices / a.matrices[:, 2:3, 3:4], b.matrices / b.matrices[:, 2:3, 3:4], rtol=1e-9, atol=1e-9)


def test_xml_is_exact(odd, tmp_path):
    odd.write(tmp_path / "g.xml")
    back = hc.Geometry.read(tmp_path / "g.xml")
    assert np.array_equal(back.views, odd.views) and back.detector_shape == (30, 41)


def test_astra_vectors(odd):
    same_rays(hc.Geometry.from_astra(odd.to_astra()), odd)


def test_matrices(odd):
    pixel = np.array([[1 / 0.8, 0, 20], [0, 1 / 0.9, 14.5], [0, 0, 1]])  # (u, v) mm to (column, row)
    same_rays(hc.Geometry.from_matrices(pixel @ odd.matrices, (30, 41), (0.9, 0.8)), odd)


@pytest.mark.parametrize("kind", ["parallel3d", "cone"])
def test_astra_circles(kind):
    angles = np.linspace(0, np.pi, 9)
    given = {"type": kind, "DetectorRowCount": 8, "DetectorColCount": 12, "DetectorSpacingX": 0.7, "DetectorSpacingY": 0.9,
             "ProjectionAngles": angles, "DistanceOriginSource": 100.0, "DistanceOriginDetector": 60.0}
    found = hc.Geometry.from_astra(given)
    assert found.parallel == (kind == "parallel3d") and found.detector_shape == (8, 12) and len(found) == 9
    if kind == "cone":
        assert np.allclose(found.views[:, :2], [100, 160])
    assert np.allclose(np.diff(np.unwrap(np.radians(found.angles))), np.diff(angles)) or np.allclose(
        np.diff(np.unwrap(np.radians(found.angles))), -np.diff(angles))


def test_angles_in_radians_are_doubted():
    with pytest.warns(UserWarning, match="degrees"):
        hc.Geometry.circular(100, 200, np.linspace(0, 6.2, 50), (4, 4), 1)


def test_the_default_grid_runs_along_the_axis(odd):
    grid = hc.Geometry.circular(100, 200, np.arange(0, 360, 10.0), (20, 30), 1).default_grid()
    assert grid.shape == (20, 30, 30) and grid.direction == (1, 0, 0, 0, 0, 1, 0, 1, 0)


def test_check_says_what_it_finds():
    good = hc.Geometry.circular(600, 1200, np.arange(0, 360, 5.0), (8, 8), 1)
    assert "nothing was found to be wrong" in good.check(hc.Grid((2, 2, 2), 1))
    with pytest.raises(hc.InputError, match="impossible"):
        hc.Geometry.circular(600, 1200, [5.0] * 12, (8, 8), 1).check()


def test_a_drawing_is_seen_along_the_axis(odd):
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    odd.show(hc.Grid((4, 6, 8), 2.0), axes)
    volume = axes.lines[2].get_xydata()
    assert np.allclose(np.ptp(volume, axis=0), (14, 10))  # (i, j) lie across the axis, centre to centre


def test_astra_and_tigre_and_cil_agree():
    from types import SimpleNamespace as Struct

    angles = np.linspace(0, 5, 11)
    astra = hc.Geometry.from_astra({"type": "cone", "DetectorRowCount": 8, "DetectorColCount": 12, "DetectorSpacingX": 0.7,
                                    "DetectorSpacingY": 0.9, "ProjectionAngles": angles, "DistanceOriginSource": 100.0,
                                    "DistanceOriginDetector": 60.0})
    # The source stands on -y at ASTRA's angle 0, on +x at TIGRE's; CIL turns the object, so the other way round.
    tigre = hc.Geometry.from_tigre(Struct(DSO=100.0, DSD=160.0, nDetector=(8, 12), dDetector=(0.9, 0.7)), angles - np.pi / 2)
    point = lambda *xyz: Struct(position=np.array(xyz))
    cil = hc.Geometry.from_cil(Struct(geom_type="cone", config=Struct(
        panel=Struct(num_pixels=(12, 8), pixel_size=(0.7, 0.9)), angles=Struct(angle_data=-angles, initial_angle=0.0, angle_unit="radian"),
        system=Struct(source=point(0, -100, 0), detector=point(0, 60, 0), rotation_axis=point(0, 0, 0)))))
    same_rays(tigre, astra)
    same_rays(cil, astra)
    with pytest.raises(hc.InputError, match="COR"):
        hc.Geometry.from_tigre(Struct(DSO=100.0, DSD=160.0, nDetector=(8, 12), dDetector=(0.9, 0.7), COR=1.0), angles)


def test_geometries_are_pickled_and_compared(odd):
    import copy
    import pickle

    assert pickle.loads(pickle.dumps(odd)) == odd and copy.deepcopy(odd) == odd
    assert odd != hc.Geometry.circular(310, 520, [0], (30, 41), (0.9, 0.8))


@pytest.mark.parametrize("detector, pixel", [((-5, 5), 1), (5, 1), ((5.5, 5), 1), ((5, 5), -1), ((5, 5), 0), ((5, 5), (1, 2, 3))])
def test_detectors_that_are_none(detector, pixel):
    with pytest.raises(hc.InputError, match="detector=|pixel="):
        hc.Geometry.circular(100, 200, [0.0], detector, pixel)


@pytest.mark.parametrize("views", [3, -1, slice(None, None, 2), slice(5, 1, -1), [6, 0, 3, 3], (2, 1), range(1, 4), np.array([4, -7]),
                                   np.arange(7) % 3 == 0])
def test_some_of_the_views(odd, views):
    found = odd[views]
    numbers = list(views) if isinstance(views, (tuple, range)) else views
    assert np.array_equal(found.views, np.atleast_2d(odd.views[numbers]))
    assert found.shape == (len(found), 30, 41) and found.stack().spacing[1:] == odd.stack().spacing[1:]


def test_views_one_by_one(odd):
    assert np.array_equal([view.views[0] for view in odd], odd.views)
    assert odd[:] == odd


@pytest.mark.parametrize("views", [7, -8, [0, 7], slice(3, 3), [], 1.5, [0.5], "3", None, [[0, 1]], np.ones(3, bool)])
def test_views_that_are_not_there(odd, views):
    with pytest.raises(IndexError, match="7 views"):
        odd[views]


def test_a_stack_of_fans_is_fans_of_its_slices(tmp_path):
    import copy

    angles = np.arange(24) * 15.0 + 1
    stack = hc.Geometry.circular(90, 130, angles, (4, 31), (2.0, 1.5), source_offset_x=1, fan_stack=True)
    fan = hc.Geometry.circular(90, 130, angles, (1, 31), (2.0, 1.5), source_offset_x=1)
    assert stack.fan_stack and stack[3].fan_stack and copy.deepcopy(stack) == stack and stack != hc.Geometry.circular(
        90, 130, angles, (4, 31), (2.0, 1.5), source_offset_x=1)
    stack.write(tmp_path / "stack.xml")
    read = hc.Geometry.read(tmp_path / "stack.xml", (4, 31), (2.0, 1.5))
    assert read == stack and "stack of fans" in repr(read)
    volume = np.random.default_rng(1).random((4, 12, 13), np.float32)
    seen = hc.project(volume, stack, hc.Grid((4, 12, 13), 2.0), projector="joseph")
    assert np.asarray(seen).max() > 0
    for k in range(4):
        alone = hc.project(volume[k:k + 1], fan, hc.Grid((1, 12, 13), 2.0), projector="joseph")
        assert np.array_equal(np.asarray(seen)[:, k], np.asarray(alone)[:, 0])
    with pytest.raises(hc.InputError, match="stack of fans"):
        stack.write(tmp_path / "stack.txt")
    with pytest.raises(hc.InputError, match="stack of fans"):
        stack.matrices
    with pytest.raises(hc.InputError, match="the angles must be 0"):
        hc.Geometry.circular(90, 130, angles, (4, 31), 1, out_of_plane=3, fan_stack=True)
