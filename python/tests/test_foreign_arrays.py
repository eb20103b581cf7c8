"""Arrays whose memory belongs to somebody else: ITK's images, PyOpenCL's arrays."""

import weakref

import numpy as np
import pytest

import halocline as hc


class Owner:
    """An owner of memory, as an itk.Image is."""


class View(np.ndarray):
    """An array that keeps its owner, as those of itk.array_view_from_image() do."""


def test_an_image_keeps_the_owner_of_its_memory():
    owner = Owner()
    view = np.arange(24, dtype=np.float32).reshape(2, 3, 4).view(View)
    view.owner = owner
    alive = weakref.ref(owner)
    image = hc.Image(view)
    assert np.shares_memory(image.array, view)
    assert type(image.array) is np.ndarray
    del owner, view
    array = image.array
    del image
    assert alive() is not None
    assert array[1, 2, 3] == 23
    del array
    assert alive() is None


def test_an_image_of_itk_outlives_it():
    itk = pytest.importorskip("itk")
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    original = itk.image_from_array(values)
    original.SetSpacing([0.5, 0.75, 1.25])
    original.SetOrigin([1, 2, 3])
    image = hc.Image.from_itk(original)
    assert image.grid.spacing == (1.25, 0.75, 0.5)
    assert image.grid.origin == (1, 2, 3)
    del original
    others = [itk.image_from_array(-values) for _ in range(100)]
    assert np.array_equal(image.array, values)
    assert len(others) == 100
    back = image.to_itk()
    assert list(back.GetSpacing()) == [0.5, 0.75, 1.25]
    assert np.array_equal(itk.array_view_from_image(back), values)


@pytest.fixture(scope="module")
def cl():
    cl = pytest.importorskip("pyopencl")
    import pyopencl.array

    if not cl.get_platforms():
        pytest.skip("PyOpenCL sees no driver")
    cl.array = pyopencl.array
    return cl


@pytest.fixture(scope="module")
def queue(cl):
    return cl.CommandQueue(cl.Context([cl.get_platforms()[0].get_devices()[0]]))


def on_device(cl, queue, values):
    return cl.array.to_device(queue, np.ascontiguousarray(values))


def nothing_crossed(info, *names):
    """Neither in the runs, nor before and after them."""
    for name, run in info.report["runs"].items():
        assert run["actual"]["bus_bytes"] == run["predicted"]["bus_bytes"] == 0, name
    for name in names:
        assert info.report["arrays_on_device"][name]["bus_bytes"] == 0, name
    return True


def test_denoising_leaves_opencl_arrays_on_their_device(cl, queue, volume):
    noisy = volume + np.random.default_rng(1).normal(0, 0.004, volume.shape).astype(np.float32)
    given = on_device(cl, queue, noisy)
    for options in ({"alpha": 400}, {"alpha": 400, "nonnegative": True, "gap": 1e-3}, {"method": "gaussian"},
                    {"method": "tvgd", "iterations": 5, "step": 1e-3}):
        expected = hc.denoise(noisy, 1.5, **options)
        found, info = hc.denoise(given, 1.5, return_info=True, **options)
        assert type(found) is cl.array.Array and found.queue is given.queue and found.context == queue.context
        assert np.array_equal(found.get(), expected)
        assert options.get("method") == "tvgd" or nothing_crossed(info, "volume", "out")
    assert np.array_equal(given.get(), noisy)


def test_weights_on_the_device(cl, queue, volume):
    noisy = volume + np.random.default_rng(1).normal(0, 0.004, volume.shape).astype(np.float32)
    weights = np.random.default_rng(2).uniform(1e-5, 2e-5, volume.shape).astype(np.float32)
    expected = hc.denoise(noisy, 1.5, method="spdu", alpha=400, weights=weights)
    found, info = hc.denoise(on_device(cl, queue, noisy), 1.5, method="spdu", alpha=400, weights=on_device(cl, queue, weights),
                             return_info=True)
    assert np.array_equal(found.get(), expected)
    assert nothing_crossed(info, "volume", "weights", "out")


def test_a_chosen_strength_reads_what_it_judges(cl, queue, volume):
    noisy = volume + np.random.default_rng(1).normal(0, 0.004, volume.shape).astype(np.float32)
    found, info = hc.denoise(on_device(cl, queue, noisy), 1.5, return_info=True)
    assert np.array_equal(found.get(), hc.denoise(noisy, 1.5))
    assert info.report["runs"]["denoise"]["actual"]["bus_bytes"] == 0
    assert info.report["arrays_on_device"]["volume"]["bus_bytes"] == noisy.nbytes
    assert info.report["arrays_on_device"]["out"]["bus_bytes"] == 0


@pytest.mark.parametrize("device_memory", [None, "400K"])
def test_scans_stay_on_the_device(cl, queue, device_memory, volume, projections, geometry, grid):
    options = {} if device_memory is None else {"device_memory": device_memory}
    expected = hc.fdk(projections, geometry, grid, **options)
    found, info = hc.fdk(on_device(cl, queue, projections), geometry, grid, return_info=True, **options)
    assert np.array_equal(found.get(), expected)
    assert nothing_crossed(info, "out")
    assert info.report["arrays_on_device"]["projections"]["bus_bytes"] == 12 * projections[0].nbytes  # looked at for warnings
    assert device_memory is None or info.report["runs"]["fdk"]["plan"]["slabs"]
    for projector in ("joseph", "siddon", "distance-driven"):
        A = hc.Operator(geometry, grid, projector=projector, **options)
        ax, aty = A(on_device(cl, queue, volume)), A.T(on_device(cl, queue, projections))
        assert ax.shape == A.range_shape and np.array_equal(ax.get(), A(volume))
        assert aty.shape == A.domain_shape and np.array_equal(aty.get(), A.T(projections))


def test_operators_move_nothing(cl, queue, volume, projections, geometry, grid, monkeypatch):
    from halocline import verbs

    calls = []
    finish = verbs._finish
    monkeypatch.setattr(verbs, "_finish", lambda call, *rest, **named: (calls.append(call), finish(call, *rest, **named))[1])
    A = hc.Operator(geometry, grid)
    A.T(A(on_device(cl, queue, volume)))
    for call, verb, name in zip(calls, ("project", "backproject"), ("volume", "projections"), strict=True):
        assert call.report["runs"][verb]["actual"]["bus_bytes"] == call.report["runs"][verb]["predicted"]["bus_bytes"] == 0
        assert {each["bus_bytes"] for each in call.report["arrays_on_device"].values()} == {0}
        assert set(call.report["arrays_on_device"]) == {name, "out"}


def test_reconstruction_of_an_opencl_array(cl, queue, projections, geometry, grid):
    options = {"method": "cgls", "iterations": 3}
    expected = hc.reconstruct(projections, geometry, grid, **options)
    found, info = hc.reconstruct(on_device(cl, queue, projections), geometry, grid, return_info=True, **options)
    assert np.array_equal(found.get(), expected)
    run = info.report["runs"]["reconstruct"]
    assert run["actual"]["bus_bytes"] == run["predicted"]["bus_bytes"]
    assert info.report["arrays_on_device"]["projections"]["bus_bytes"] == projections.nbytes  # once, to the host
    assert info.report["arrays_on_device"]["out"]["bus_bytes"] == 0


def test_several_slabs_give_the_bits_of_one(cl, queue, volume):
    noisy = volume + np.random.default_rng(1).normal(0, 0.004, volume.shape).astype(np.float32)
    given = on_device(cl, queue, noisy)
    one = hc.denoise(given, 1.5, alpha=400, iterations=40, gap=0)
    several, info = hc.denoise(given, 1.5, alpha=400, iterations=40, gap=0, device_memory="300K", return_info=True)
    assert len(info.report["runs"]["denoise"]["plan"]["slabs"]) > 1
    assert np.array_equal(one.get(), several.get())
    run = info.report["runs"]["denoise"]
    assert info.report["arrays_on_device"]["volume"]["bus_bytes"] == 0  # the state of slabs that take turns is with the host
    assert info.report["arrays_on_device"]["out"]["bus_bytes"] == 0
    assert 0 < run["actual"]["bus_bytes"]


def test_parts_of_arrays_and_memory_pools(cl, queue, volume):
    pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
    stack = cl.array.zeros(queue, (3, *volume.shape), np.float32, allocator=pool)
    stack[1] = on_device(cl, queue, volume)
    part = stack[1]
    assert part.offset > 0
    found, info = hc.denoise(part, 1.5, method="median", return_info=True)
    assert np.array_equal(found.get(), hc.denoise(volume, 1.5, method="median"))
    assert nothing_crossed(info, "volume", "out")
    hc.denoise(part, 1.5, method="median", out=stack[2])
    assert np.array_equal(stack[2].get(), found.get())
    assert not stack[0].get().any()


def test_waits_for_what_the_queue_has_to_do(cl, queue, volume):
    slow = cl.Program(queue.context, """__kernel void slow(__global float* x, __global const float* y, int n) {
        float a = 0; for (int k = 0; k < 100000; ++k) a = a * 0.999f + k; int i = get_global_id(0); x[i] = y[i] + 0 * a; }""").build().slow
    given, source = cl.array.zeros(queue, volume.shape, np.float32), on_device(cl, queue, volume)
    event = slow(queue, (volume.size,), None, given.base_data, source.base_data, np.int32(volume.size))
    given.add_event(event)
    found = hc.denoise(given, 1.5, method="median")
    doubled = (2 * found).get()  # at once, on the caller's queue
    assert np.array_equal(doubled, 2 * hc.denoise(volume, 1.5, method="median"))


def test_arrays_live_as_long_as_they_are_used(cl, queue, volume):
    context = cl.Context(queue.context.devices)
    mine = cl.CommandQueue(context)
    found = hc.denoise(on_device(cl, mine, volume), 1.5, method="median")
    del mine, context
    assert np.array_equal(found.get(), hc.denoise(volume, 1.5, method="median"))
    for _ in range(8):  # contexts that are used once
        context = cl.Context(queue.context.devices)
        hc.denoise(on_device(cl, cl.CommandQueue(context), volume), 1.5, method="median")
    assert np.array_equal((found + 1).get(), 1 + hc.denoise(volume, 1.5, method="median"))


def test_an_array_that_is_freed_during_the_call(cl, queue, volume):
    noisy = volume + np.random.default_rng(1).normal(0, 0.004, volume.shape).astype(np.float32)
    arrays = [on_device(cl, queue, noisy)]

    def free(state):
        if arrays:
            arrays.pop().base_data.release()

    found = hc.denoise(arrays[0], 1.5, alpha=400, iterations=200, gap=0, progress=free)
    assert not arrays
    assert np.array_equal(found.get(), hc.denoise(noisy, 1.5, alpha=400, iterations=200, gap=0))


def test_arrays_of_two_contexts(cl, queue, volume):
    other = cl.CommandQueue(cl.Context(queue.context.devices))
    weights = np.random.default_rng(2).uniform(1e-5, 2e-5, volume.shape).astype(np.float32)
    found = hc.denoise(on_device(cl, queue, volume), 1.5, method="spdu", alpha=400, weights=on_device(cl, other, weights))
    assert found.context == queue.context
    assert np.array_equal(found.get(), hc.denoise(volume, 1.5, method="spdu", alpha=400, weights=weights))
    first = hc.denoise(on_device(cl, queue, volume), 1.5, method="median")
    second = hc.denoise(on_device(cl, other, volume), 1.5, method="median")
    assert (first.context, second.context) == (queue.context, other.context)
    assert np.array_equal(first.get(), second.get())
    with pytest.raises(TypeError, match="in the context of the input"):
        hc.denoise(on_device(cl, queue, volume), 1.5, method="median", out=cl.array.empty(other, volume.shape, np.float32))


def test_another_device_goes_through_the_host(cl, queue, volume):
    given = on_device(cl, queue, volume)
    same, info = hc.denoise(given, 1.5, method="median", device="0", return_info=True)
    assert len(hc.devices()) > 1 or nothing_crossed(info, "volume", "out")
    if len(hc.devices()) == 1:
        found, info = hc.denoise(given, 1.5, method="median", sub_devices=2, return_info=True)
        assert info.report["arrays_on_device"]["volume"]["bus_bytes"] >= volume.nbytes
        assert info.report["runs"]["denoise"]["actual"]["bus_bytes"] >= 2 * volume.nbytes
        assert np.array_equal(found.get(), same.get())


def test_buffers_with_the_shape_of_a_grid(cl, queue, volume, projections, geometry, grid):
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    x, y = (cl.Buffer(queue.context, flags, hostbuf=values) for values in (volume, projections))

    def values(buffer, shape):
        assert isinstance(buffer, cl.Buffer)
        found = np.empty(shape, np.float32)
        cl.enqueue_copy(queue, found, buffer)
        return found

    A = hc.Operator(geometry, grid)
    assert np.array_equal(values(A(x), A.range_shape), A(volume))
    assert np.array_equal(values(A.T(y), A.domain_shape), A.T(projections))
    assert np.array_equal(values(hc.fdk(y, geometry, grid), grid.shape), hc.fdk(projections, geometry, grid))
    assert np.array_equal(values(hc.denoise(x, grid, method="median"), grid.shape), hc.denoise(volume, grid, method="median"))
    with pytest.raises(TypeError, match="no shape"):
        hc.denoise(x, 1.5, method="median")
    with pytest.raises(ValueError, match="bytes; 3 x 4 x 5 values"):
        hc.denoise(x, hc.Grid((3, 4, 5)), method="median")


def test_other_types_and_shapes_of_opencl_arrays(cl, queue, volume, projections, geometry, grid):
    wide = on_device(cl, queue, volume.astype(np.float64))
    found = hc.denoise(wide, 1.5, method="median")  # through the host
    assert found.dtype == np.float32 and np.array_equal(found.get(), hc.denoise(volume, 1.5, method="median"))
    turned = on_device(cl, queue, volume.T).transpose((2, 1, 0))
    assert turned.flags.f_contiguous
    assert np.array_equal(hc.denoise(turned, 1.5, method="median").get(), found.get())
    with pytest.raises(ValueError, match="gaps"):
        hc.denoise(on_device(cl, queue, volume)[:, 2:9], 1.5, method="median")
    with pytest.raises(TypeError, match="complex64"):
        hc.denoise(on_device(cl, queue, volume.astype(np.complex64)), 1.5, method="median")
    with pytest.raises(ValueError, match="axes"):
        hc.denoise(on_device(cl, queue, volume[0, 0]), hc.Grid((1, 1, 30)), method="median")
    with pytest.raises(hc.InputError, match="projections= is"):
        hc.fdk(on_device(cl, queue, projections[:, 1:]), geometry, grid)
    with pytest.raises(ValueError, match="expected"):
        hc.Operator(geometry, grid)(on_device(cl, queue, volume[1:]))
    slice_ = hc.denoise(on_device(cl, queue, volume[10]), 1.5, method="median")
    assert np.array_equal(slice_.get(), hc.denoise(volume[10], 1.5, method="median"))


def test_values_that_are_not_finite_are_refused(cl, queue, volume):
    bad = volume.copy()
    bad[3, 4, 5] = np.nan
    with pytest.raises(hc.InputError, match=r"1 value is NaN or infinite, the first at index \(5,4,3\)"):
        hc.denoise(on_device(cl, queue, bad), 1.5, method="median")
    found = hc.denoise(on_device(cl, queue, bad), 1.5, method="median", allow_nonfinite=True)
    assert np.array_equal(found.get(), hc.denoise(bad, 1.5, method="median", allow_nonfinite=True))


def test_results_go_where_they_are_wanted(cl, queue, volume):
    given = on_device(cl, queue, volume)
    expected = hc.denoise(volume, 1.5, method="median")
    out = cl.array.zeros(queue, volume.shape, np.float32)
    assert hc.denoise(given, 1.5, method="median", out=out) is out
    assert np.array_equal(out.get(), expected)
    host = np.zeros_like(volume)
    assert hc.denoise(given, 1.5, method="median", out=host) is host
    assert np.array_equal(host, expected)
    out = cl.array.zeros(queue, volume.shape, np.float32)
    hc.denoise(volume, 1.5, method="median", out=out)
    assert np.array_equal(out.get(), expected)
    with pytest.raises(hc.InputError, match="shares memory"):
        hc.denoise(given, 1.5, method="median", out=given)
    with pytest.raises(TypeError, match="float32"):
        hc.denoise(given, 1.5, method="median", out=cl.array.zeros(queue, volume.shape, np.float64))
    with pytest.raises(hc.InputError, match="values of float32"):
        hc.denoise(given, 1.5, method="median", out=cl.array.zeros(queue, volume[1:].shape, np.float32))
    with pytest.raises(hc.InputError, match="out= is"):
        hc.denoise(given, 1.5, method="median", out=cl.array.zeros(queue, volume.shape[::-1], np.float32))
    with pytest.raises(hc.InputError, match="volume= is"):
        hc.denoise(cl.array.to_device(queue, volume[0]), hc.Grid(volume.shape, 1.5), method="median")
