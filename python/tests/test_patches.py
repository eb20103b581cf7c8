"""Patches: boxes of voxels from new projections at every call."""

import threading

import numpy as np
import pytest

import halocline as hc


@pytest.fixture
def placed(geometry, grid):
    return geometry.grid_of(grid)


def test_they_are_the_voxels_of_the_volume(geometry, placed, projections):
    expected = hc.backproject(projections, geometry, placed, projector="voxel")
    patches = hc.Patches(geometry, placed, [placed[3], placed[11], placed[5:9, 2:4, -1]])
    third, eleventh, box = patches.backproject(projections)
    assert np.abs(third[0] - expected[3]).max() < 2e-5 * expected.max()
    assert np.abs(eleventh[0] - expected[11]).max() < 2e-5 * expected.max()
    assert np.abs(box[..., 0] - expected[5:9, 2:4, -1]).max() < 2e-5 * expected.max()


def test_project_is_the_adjoint(geometry, placed, projections):
    patches = hc.Patches(geometry, placed, [placed[3]])
    x = np.random.default_rng(1).random(placed[3].shape, np.float32)
    forward = float(np.vdot(patches.project([x]).astype(float), projections))
    back = float(np.vdot(x.astype(float), patches.backproject(projections)[0]))
    assert forward == pytest.approx(back, rel=1e-6)


def test_views(geometry, placed, projections):
    patches = hc.Patches(geometry, placed, [placed[3]])
    whole = patches.backproject(projections)[0]
    views = list(range(geometry.shape[0]))
    patches.set_views(views[::2])
    even = patches.backproject(projections)[0].copy()
    patches.set_views(views[1::2])
    assert np.allclose(even + patches.backproject(projections)[0], whole, rtol=1e-5, atol=1e-5 * whole.max())


def test_they_are_a_layer_of_a_network(geometry, placed, projections):
    torch = pytest.importorskip("torch")
    patches = hc.Patches(geometry, placed, [placed[3], placed[5:7, 2:4, 1]])
    y = torch.from_numpy(projections).requires_grad_()
    voxels = hc.to_autograd(patches)(y)
    assert voxels.shape == (patches.voxels,)
    assert np.array_equal(voxels.detach().numpy(), np.concatenate([each.ravel() for each in patches.backproject(projections)]))
    (voxels ** 2).sum().backward()
    assert np.allclose(y.grad.numpy(), patches.project(2 * voxels.detach()), rtol=1e-5)
    voxels = hc.to_autograd(patches)(y)
    patches.set_views([0])
    with pytest.raises(RuntimeError, match="between forward"):
        voxels.sum().backward()


def test_arrays_of_pyopencl_stay(geometry, placed, projections):
    cl = pytest.importorskip("pyopencl")
    array = pytest.importorskip("pyopencl.array")
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    given = array.to_device(queue, projections)
    patches = hc.Patches(geometry, placed, [placed[3]], like=given)
    found = patches.backproject(given)[0]
    assert np.array_equal(found.get(), hc.Patches(geometry, placed, [placed[3]]).backproject(projections)[0])
    with pytest.raises(TypeError, match="Patches with like="):
        hc.to_autograd(patches)
    twice = array.to_device(queue, found.get().ravel())
    patches.backproject(given, twice, add=True)
    assert np.allclose(twice.get().reshape(found.shape), 2 * found.get())


@pytest.mark.parametrize("call, message", [
    (lambda g, p, y: hc.Patches(g, p).backproject(y), "there are no boxes"),
    (lambda g, p, y: hc.Patches(g, p, [3]), "expected Grids"),
    (lambda g, p, y: hc.Patches(g, p, [p]).backproject(y[1:]), "projections= is"),
    (lambda g, p, y: hc.Patches(g, p, [p]).set_views([10000]), "`?views`?"),
    (lambda g, p, y: hc.Patches(g, p, [p]).backproject(y, add=True), "add=True"),
])
def test_wrong_calls(geometry, placed, projections, call, message):
    with pytest.raises((hc.InputError, ValueError, TypeError), match=message):
        call(geometry, placed, projections)


@pytest.mark.parametrize("out", [np.zeros(5, np.float32), np.zeros((26, 30), np.float64), np.zeros((60, 26), np.float32)[::2]])
def test_results_that_cannot_be_filled_are_refused(geometry, placed, projections, out):
    patches = hc.Patches(geometry, placed, [placed[3]])
    with pytest.raises(ValueError, match="out= has to be"):
        patches.backproject(projections, out)


def test_views_and_boxes_are_checked(geometry, placed, projections):
    patches = hc.Patches(geometry, placed, [placed[3]])
    for views in ([], [1.5], [True, False], [geometry.shape[0]]):
        with pytest.raises(ValueError, match="views="):
            patches.set_views(views)
    with pytest.raises((hc.InputError, TypeError)):
        patches.set_boxes([])
    assert patches.backproject(projections)[0].shape == placed[3].shape
    with pytest.raises(ValueError, match="voxels="):
        patches.project([np.zeros((2, 2, 2), np.float32)])
    other = hc.Geometry.circular(sid=200, sdd=300, angles=[0, 1], detector=(20, 52), pixel=(2.0, 1.8))
    with pytest.raises(ValueError, match="another detector"):
        patches.replace_views(0, other)


def test_threads_may_set_boxes_while_others_compute(geometry, placed, projections):
    few, many = [placed[3, 2:3, 1:2]], [placed] * 4
    patches = hc.Patches(geometry, placed, few)
    sums = []
    for boxes in (few, many):
        patches.set_boxes(boxes)
        sums.append(float(np.sum(patches.backproject(projections)[0])))
    wrong = []

    def compute():
        for _ in range(40):
            try:
                patches.backproject(projections, out=np.empty(patches.voxels, np.float32))
            except (hc.InputError, ValueError):
                continue  # of other boxes
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=compute) for _ in range(3)]
    for each in threads:
        each.start()
    for n in range(60):
        patches.set_boxes(many if n % 2 else few)
    for each in threads:
        each.join()
    assert not wrong
    assert float(np.sum(patches.backproject(projections)[0])) == sums[1]
