"""OpenCL C of users over device arrays."""

import numpy as np
import pytest

import halocline as hc
from halocline import arrays

BLEND = """
__kernel void blend(__global const float* x, __global float* y, float weight, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const float below = k > 0 ? x[AT(i, j, k - 1)] : 0.0f;
  y[AT(i, j, k)] = weight * x[AT(i, j, k)] + below;
}
"""
ADD = """
__kernel void add(__global const float* x, __global float* y, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i < extent.nx && j < extent.ny && k < extent.end) y[AT(i, j, k)] += x[AT(i, j, k)];
}
"""
TWICE = """
__kernel void twice(__global const float* y, __global float* x, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i < extent.nx && j < extent.ny && k < extent.end) x[AT(i, j, k)] = 2 * y[AT(i, j, k)];
}
"""


SMOOTH = """
__kernel void smooth(__global const float* x, __global float* y, __global const float* weights,
                     __global const float* columns, float power, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (get_local_size(0) > GROUP || i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  float sum = columns[i];
  for (int n = 0; n < TERMS; ++n) sum += weights[n] * (i + n < extent.nx ? x[AT(i + n, j, k)] : 0.0f);
  y[AT(i, j, k)] = power * sum;
}
"""


@pytest.mark.parametrize("memory", [0, "300K"])
def test_they_are_numpys(geometry, grid, volume, memory):
    on = hc.Context(geometry, grid, device_memory=memory)
    x = on.array(volume)
    expected = np.float32(3) * volume
    expected[1:] += volume[:-1]
    assert np.array_equal(arrays.Kernel(BLEND, "blend", halo=1)(3, x=x).get(), expected)
    assert np.array_equal(x.get(), volume)


@pytest.mark.parametrize("memory", [0, "300K"])
def test_macros_tables_and_groups(geometry, grid, volume, memory):
    on = hc.Context(geometry, grid, device_memory=memory)
    weights, columns = [0.5, -1, 4], np.arange(volume.shape[2])
    smooth = arrays.Kernel(SMOOTH, "smooth", macros={"TERMS": 3, "GROUP": "4"}, group=(4, 2, 1),
                           tables={"weights": weights, "columns": columns})
    padded = np.pad(volume, ((0, 0), (0, 0), (0, 2)))
    expected = np.broadcast_to(columns.astype(np.float32), volume.shape)
    for n, weight in enumerate(weights):
        expected = expected + np.float32(weight) * padded[:, :, n:n + volume.shape[2]]
    assert np.array_equal(smooth(2, x=on.array(volume)).get(), 2 * expected)


def test_what_is_given_never_changes(geometry, grid, volume, tmp_path):
    on = hc.Context(geometry, grid)
    x, y = on.array(volume), on.array(volume + 1)
    path = tmp_path / "add.cl"
    path.write_text(ADD)
    add = arrays.Kernel(path, "add", reads=("y",))
    assert np.array_equal(add(x=x, y=y).get(), volume + (volume + 1))
    assert np.array_equal(y.get(), volume + 1)
    assert np.array_equal((2 * add(x=x * 2, y=y)).get(), 2 * (2 * volume + (volume + 1)))


def test_operators(geometry, grid, volume):
    on = hc.Context(geometry, grid)
    forward = arrays.Kernel(TWICE.replace("y[AT", "z[AT").replace("x[AT", "y[AT").replace("z[AT", "x[AT")
                            .replace("const float* y, __global float* x", "const float* x, __global float* y"), "twice")
    twice = arrays.kernel_operator(on.volume, forward, arrays.Kernel(TWICE, "twice", ("y", "x"), writes=("x",)))
    x = on.array(volume)
    assert np.array_equal(twice(x).get(), 2 * volume)
    assert np.array_equal(twice.T(x).get(), 2 * volume)
    assert twice.norm() == pytest.approx(2 * 1.05, rel=1e-3)


def test_what_is_wrong_is_said(geometry, grid, volume, projections):
    on = hc.Context(geometry, grid)
    blend = arrays.Kernel(BLEND, "blend", halo=1)
    with pytest.raises(TypeError, match="expected x"):
        blend(3, z=on.array(volume))
    for wrong in (None, volume):
        with pytest.raises(TypeError, match="x= is"):
            blend(3, x=wrong)
    with pytest.raises(ValueError, match="arguments="):
        arrays.Kernel(BLEND, "blend", ("x", "y"), writes=("z",))
    with pytest.raises(hc.InputError, match="arrays of one space"):
        arrays.Kernel(ADD, "add", reads=("y",))(x=on.array(volume), y=on.array(projections))
    with pytest.raises(hc.InputError, match="nonsense"):
        arrays.Kernel("__kernel void broken(__global const float* x, __global float* y, Extent extent) { nonsense; }", "broken")(
            x=on.array(volume)).get()


def test_tables_without_room_leave_the_rest_as_it_is(geometry, grid, volume):
    on = hc.Context(geometry, grid, device_memory="300K")
    x = on.array(volume)
    kernel = BLEND.replace("float weight", "__global const float* weights, float weight")
    with pytest.raises(hc.PlanError):
        arrays.Kernel(kernel, "blend", halo=1, tables={"weights": np.zeros(1000000)})(3, x=x)
    assert np.array_equal((2 * x).get(), 2 * volume)
    assert np.array_equal(arrays.Kernel(kernel, "blend", halo=1, tables={"weights": [1]})(3, x=x).get(),
                          arrays.Kernel(BLEND, "blend", halo=1)(3, x=x).get())


def test_tables_and_macros_that_cannot_be_are_named(geometry, grid, volume):
    with pytest.raises(ValueError, match="weights= is empty"):
        arrays.Kernel(BLEND, "blend", tables={"weights": []})
    for options, words in (({"tables": {"x": [1]}}, "x twice"),
                           ({"macros": {"2nd": 1}}, "macros= of the kernel blend")):
        with pytest.raises(hc.InputError, match=words):
            arrays.Kernel(BLEND, "blend", **options)
    on = hc.Context(geometry, grid)
    with pytest.raises(hc.InputError, match='"float weight"; expected "__global const float\\* weights"'):
        arrays.Kernel(BLEND, "blend", halo=1, tables={"weights": [1]})(3, x=on.array(volume))


def test_numbers_and_types_that_do_not_fit_are_named(geometry, grid, volume):
    on = hc.Context(geometry, grid)
    x = on.array(volume)
    blend = arrays.Kernel(BLEND, "blend", halo=1)
    for numbers in ((), (1, 2)):
        with pytest.raises(hc.InputError, match=rf"one with {len(numbers)} number.*; expected 1 number \(weight\)"):
            blend(*numbers, x=x)
    with pytest.raises(hc.InputError, match='"int weight"; expected "float weight"'):
        arrays.Kernel(BLEND.replace("float weight", "int weight"), "blend", halo=1)(3, x=x)
    for wrong in (None, "three", volume):
        with pytest.raises(TypeError, match="a number of the kernel is"):
            blend(wrong, x=x)
    with pytest.raises(TypeError, match="arrays are given by their names"):
        blend(x, x=x)


@pytest.mark.parametrize("call, words", [
    (lambda: arrays.Kernel(None, "blend"), "source= is None"),
    (lambda: arrays.Kernel(BLEND, None), "name= is None"),
    (lambda: arrays.Kernel(BLEND, "blend", None), "arguments= is None"),
    (lambda: arrays.Kernel(BLEND, "blend", "xy"), "arguments= is 'xy'"),
    (lambda: arrays.Kernel(BLEND, "blend", (1, 2)), "arguments= is"),
    (lambda: arrays.Kernel(BLEND, "blend", writes="y"), "writes= is 'y'"),
    (lambda: arrays.Kernel(BLEND, "blend", halo=0.5), "halo= is 0.5"),
    (lambda: arrays.Kernel(BLEND, "blend", macros="TERMS"), "macros= is 'TERMS'"),
    (lambda: arrays.Kernel(BLEND, "blend", tables=[1.0]), "tables= is"),
    (lambda: arrays.Kernel(BLEND, "blend", tables={"weights": "one"}), "weights"),
    (lambda: arrays.Kernel(BLEND, "blend", group=8), "group= is 8"),
    (lambda: arrays.Kernel(BLEND, "blend", group=(8, 8)), "group= is"),
    (lambda: arrays.Kernel(BLEND, "blend", group=(8, 0, 1)), "group= is"),
    (lambda: arrays.kernel_operator(None, None, None), "space= is NoneType"),
])
def test_wrong_types_are_named(call, words):
    with pytest.raises(TypeError, match=words):
        call()
