"""Geometries of ASTRA against ASTRA's own projectors, where that package is there."""

import numpy as np
import pytest

import halocline as hc

astra = pytest.importorskip("astra")
ANGLES = np.radians(np.arange(3, 363, 15.0))
SIZE, VOXEL = (36, 28), 1.25  # y, x


def slice_of_two_discs():
    y, x = np.mgrid[:SIZE[0], :SIZE[1]]
    return (0.02 * ((y - 9) ** 2 + (x - 17) ** 2 < 40) + 0.01 * ((y - 26) ** 2 + (x - 8) ** 2 < 12)).astype(np.float32)


def of_vectors(source, detector, u):
    """A source and a detector that turn together, beside the axis."""
    rows = []
    for angle in ANGLES:
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        rows.append(np.concatenate([turn @ source, turn @ detector, turn @ u]))
    return np.array(rows)


SLICES = {
    "line_fanflat, a circle": ("line_fanflat", lambda: astra.create_proj_geom("fanflat", 1.6, 60, ANGLES, 150.0, 90.0)),
    "line_fanflat, offsets": ("line_fanflat", lambda: astra.create_proj_geom(
        "fanflat_vec", 60, of_vectors([3.0, -150.0], [-7.0, 90.0], [1.6, 0.0]))),
    "line, a circle": ("line", lambda: astra.create_proj_geom("parallel", 1.1, 60, ANGLES)),
    "line, offsets": ("line", lambda: astra.create_proj_geom("parallel_vec", 60, of_vectors([0.0, 1.0], [4.0, 0.0], [1.1, 0.0]))),
}


@pytest.mark.parametrize("name", SLICES)
def test_slices(name):
    projector, make = SLICES[name]
    scan = make()
    half = np.array(SIZE) * VOXEL / 2
    room = astra.create_vol_geom(*SIZE, -half[1], half[1], -half[0], half[0])
    x = slice_of_two_discs()
    number, expected = astra.create_sino(x, astra.create_projector(projector, scan, room))
    geometry = hc.Geometry.from_astra(scan)
    found = hc.project(x, geometry, hc.Grid((1, *SIZE), VOXEL), projector="siddon")
    assert found.shape == expected.shape
    assert np.linalg.norm(found - expected) < 2e-3 * np.linalg.norm(expected)


@pytest.mark.skipif(not astra.use_cuda(), reason="ASTRA's 3D projectors need CUDA")
@pytest.mark.parametrize("name", ["cone", "parallel3d", "cone_vec"])
def test_volumes(name):
    size = (20, 30, 26)  # z, y, x
    x = np.zeros(size, np.float32)
    x[3:9, 6:14, 15:22], x[12:17, 18:27, 4:9] = 0.02, 0.01
    if name == "cone":
        scan = astra.create_proj_geom("cone", 1.5, 1.7, 40, 50, ANGLES, 150.0, 90.0)
    elif name == "parallel3d":
        scan = astra.create_proj_geom("parallel3d", 1.1, 1.2, 40, 50, ANGLES)
    else:
        flat = of_vectors([3.0, -150.0], [-7.0, 90.0], [1.5, 0.0])
        rows = np.zeros((len(flat), 12))
        rows[:, 0:2], rows[:, 3:5], rows[:, 6:8] = flat[:, 0:2], flat[:, 2:4], flat[:, 4:6]
        rows[:, 2], rows[:, 5], rows[:, 11] = 4.0, -6.0, 1.7
        scan = astra.create_proj_geom("cone_vec", 40, 50, rows)
    half = np.array(size) / 2
    room = astra.create_vol_geom(size[1], size[2], size[0], -half[2], half[2], -half[1], half[1], -half[0], half[0])
    number, expected = astra.create_sino3d_gpu(x, scan, room)
    astra.data3d.delete(number)
    found = hc.project(np.ascontiguousarray(x[:, ::-1]), hc.Geometry.from_astra(scan), hc.Grid(size, 1))
    assert np.linalg.norm(found - expected.transpose(1, 0, 2)) < 0.02 * np.linalg.norm(found)
