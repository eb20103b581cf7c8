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


@pytest.mark.parametrize("memory", [0, "300K"])
def test_they_are_numpys(geometry, grid, volume, memory):
    on = hc.Context(geometry, grid, device_memory=memory)
    x = on.array(volume)
    expected = np.float32(3) * volume
    expected[1:] += volume[:-1]
    assert np.array_equal(arrays.Kernel(BLEND, "blend", halo=1)(3, x=x).get(), expected)
    assert np.array_equal(x.get(), volume)


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
    with pytest.raises(hc.DeviceError, match="nonsense"):
        arrays.Kernel("__kernel void broken(__global const float* x, __global float* y, Extent extent) { nonsense; }", "broken")(
            x=on.array(volume)).get()


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
    (lambda: arrays.kernel_operator(None, None, None), "space= is NoneType"),
])
def test_wrong_types_are_named(call, words):
    with pytest.raises(TypeError, match=words):
        call()
