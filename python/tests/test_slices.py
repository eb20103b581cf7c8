"""Slices of projections that stay on the device."""

import numpy as np
import pytest

import halocline as hc


@pytest.fixture
def placed(geometry, grid):
    return geometry.grid_of(grid)


@pytest.mark.parametrize("settings", [{}, {"window": "hann", "cutoff": 0.8, "pad": 0.1}])
def test_they_are_the_voxels_of_fdk(geometry, placed, projections, settings):
    expected = hc.fdk(projections, geometry, placed, **settings)
    slices = hc.Slices(projections, geometry, placed, **settings)
    k, j, i, part = slices.reconstruct([placed[7], placed[:, 11], placed[:, :, -3], placed[3:9, 5, 4:20]])
    assert np.array_equal(k, expected[7:8]) and np.array_equal(j, expected[:, 11:12]) and np.array_equal(i, expected[:, :, -3:-2])
    assert np.array_equal(part, expected[3:9, 5:6, 4:20])


def test_slices_of_the_default_grid(geometry, projections):
    slices = hc.Slices(projections, geometry)
    assert np.array_equal(slices.reconstruct(slices.grid[20])[0], hc.fdk(projections, geometry)[20:21])


def test_oblique_slices_are_between_voxels(geometry, placed, projections):
    half = np.sqrt(0.5)
    tilted = hc.Grid((1, 9, 9), 1.0, (-4, 0, 2), (1, 0, 0, 0, half, -half, 0, half, half))
    slices = hc.Slices(projections, geometry, placed)
    (found,) = slices.reconstruct([tilted])
    corner = hc.Grid((1, 1, 1), 1.0, (-4, 0, 2), placed.direction)
    assert found.shape == (1, 9, 9) and slices.reconstruct([corner])[0].item() == pytest.approx(found[0, 0, 0], rel=1e-4)


def test_new_views_replace_the_oldest(geometry, placed, projections):
    turn = np.concatenate([projections, projections[:7] * np.float32(1.5)])
    numbers = np.arange(47) % 40
    slices = hc.Slices(turn[:40], geometry[numbers[:40]], placed)
    slices.add(turn[40:], geometry[numbers[40:]])
    assert slices.geometry == geometry[numbers[7:]]
    expected = hc.fdk(turn[7:], geometry[numbers[7:]], placed)
    assert np.array_equal(slices.reconstruct([placed[7]])[0], expected[7:8])


def test_the_variance(geometry, placed, projections):
    _, info = hc.fdk(projections, geometry, placed, photons=1e4, variance_out=True, return_info=True)
    slices = hc.Slices(projections, geometry, placed, variance=True, photons=1e4)
    assert np.array_equal(slices.reconstruct(placed[7])[0], info.outputs["variance_out"].array[7:8])


@pytest.fixture
def on_device(projections):
    cl = pytest.importorskip("pyopencl")
    array = pytest.importorskip("pyopencl.array")
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    return array.to_device(queue, projections)


def test_arrays_of_pyopencl_stay(geometry, placed, projections, on_device, monkeypatch):
    planes = [placed[7], placed[:, 11]]
    expected = hc.Slices(projections, geometry, placed).reconstruct(planes)
    get = type(on_device).get
    with monkeypatch.context() as patched:
        patched.setattr(type(on_device), "get", None)
        slices = hc.Slices(on_device, geometry, placed)
        found = slices.reconstruct(planes)
        slices.add(on_device[:7], geometry[:7])
    assert [each.context for each in found] == [on_device.context] * 2
    assert all(np.array_equal(get(each), other) for each, other in zip(found, expected))
    rows = np.arange(7, 47) % 40
    whole = hc.fdk(projections[rows], geometry[rows], placed)
    assert np.array_equal(get(slices.reconstruct(placed[7])[0]), whole[7:8])


def test_results_go_where_the_caller_says(geometry, placed, projections, on_device):
    expected = hc.Slices(projections, geometry, placed).reconstruct([placed[7], placed[8]])
    slices = hc.Slices(projections, geometry, placed, like=on_device)
    room = on_device.with_queue(on_device.queue).ravel()[100:100 + 2 * placed.shape[1] * placed.shape[2]].copy()
    parts = [each.reshape(placed[7].shape) for each in (room[:room.size // 2], room[room.size // 2:])]
    assert slices.reconstruct([placed[7], placed[8]], out=parts)[1] is parts[1]
    assert np.array_equal(room.get(), np.concatenate(expected).ravel())
    host = np.empty(placed[7].shape, np.float32)
    hc.Slices(projections, geometry, placed).reconstruct(placed[7], out=[host])
    assert np.array_equal(host, expected[0])


def test_a_fan_beams_rows_may_be_left_out(on_device):
    fan = hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 9.0), detector=(1, 52), pixel=2)
    rows = np.ascontiguousarray(on_device.get()[:, 20])
    given = on_device.__class__(on_device.queue, rows.shape, np.float32)
    given.set(rows)
    resident, host = hc.Slices(given, fan), hc.Slices(given.get(), fan)
    assert np.array_equal(resident.reconstruct(resident.grid)[0].get(), host.reconstruct(host.grid)[0])


@pytest.mark.parametrize("out, message", [
    (lambda a: [a[:3]], "out= is"),
    (lambda a: [a.astype(np.float64)], "float32"),
    (lambda a: [np.zeros((1, 28, 30), np.float32)], "pyopencl array"),
    (lambda a: [], "0 arrays; expected 1"),
])
def test_results_that_cannot_be_filled_are_refused(geometry, placed, projections, on_device, out, message):
    slices = hc.Slices(on_device, geometry, placed)
    with pytest.raises(ValueError, match=message):
        slices.reconstruct(placed[7], out=out(on_device))
    with pytest.raises(ValueError, match="NumPy arrays of float32|arrays; expected"):
        hc.Slices(projections, geometry, placed).reconstruct(placed[7], out=[np.zeros(5, np.float32)])


def test_arrays_of_elsewhere_are_refused(geometry, placed, projections, on_device):
    import pyopencl
    import pyopencl.array

    slices = hc.Slices(on_device, geometry, placed)
    other = pyopencl.CommandQueue(pyopencl.Context(on_device.context.devices))
    with pytest.raises(ValueError, match="another context"):
        slices.add(pyopencl.array.to_device(other, projections[:3]), geometry[:3])
    with pytest.raises(ValueError, match="another context"):
        hc.Patches(geometry, placed, [placed[7]], like=on_device).backproject(pyopencl.array.to_device(other, projections))
    with pytest.raises(TypeError, match="beside device="):
        hc.Slices(projections, geometry, placed, like=on_device, device="cpu")
    with pytest.raises(ValueError, match="projections= is"):
        slices.add(on_device[:3], geometry[:4])
    bad = on_device.copy()
    bad[3, 5, 7] = np.float32(np.inf)
    with pytest.raises(hc.InputError, match="infinite"):
        hc.Slices(bad, geometry, placed)


@pytest.mark.parametrize("call, message", [
    (lambda g, p, y: hc.Slices(y[1:], g, p), "projections= is"),
    (lambda g, p, y: hc.Slices(np.full_like(y, np.nan), g, p), "NaN"),
    (lambda g, p, y: hc.Slices(g, g, p), "projections= is Geometry; expected an array"),
    (lambda g, p, y: hc.Slices(y, y, p), "expected a halocline.Geometry"),
    (lambda g, p, y: hc.Slices(y, g, p, window="round"), "window"),
    (lambda g, p, y: hc.Slices(y, g, p, interpolation="half"), "interpolation"),
    (lambda g, p, y: hc.Slices(y, g, p, windows="hann"), "windows"),
    (lambda g, p, y: hc.Slices(y, g, p, variance=True), "photons"),
    (lambda g, p, y: hc.Slices(y, g, p, most_pixels=0), "most_pixels"),
    (lambda g, p, y: hc.Slices(y, g, p, most_pixels=10).reconstruct(p[3]), "room for 10"),
    (lambda g, p, y: hc.Slices(y, g, p).reconstruct([p]), "one layer"),
    (lambda g, p, y: hc.Slices(y, g, p).reconstruct([3]), "expected Grids"),
    (lambda g, p, y: hc.Slices(y, g, p).reconstruct([p[3]] * 65), "65 slices"),
    (lambda g, p, y: hc.Slices(y, g, p).add(y[:3, 1:], g[:3].with_detector((39, 52))), "rows|pixels|size"),
    (lambda g, p, y: hc.Slices(y, g, p).add(y[:20], g[[0] * 20]), "window"),
])
def test_wrong_calls(geometry, placed, projections, call, message):
    with pytest.raises((hc.InputError, ValueError, TypeError), match=message):
        call(geometry, placed, projections)
