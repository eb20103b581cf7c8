"""TIFF files in a package that was built without ITK: by tifffile, as SimpleITK reads some types as others."""

import numpy as np
import pytest

import halocline as hc
from halocline.image import _read_tiff

tifffile = pytest.importorskip("tifffile")


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(7, 9), (4, 7, 9), (4, 7, 1)])
def test_every_type(tmp_path, dtype, shape):
    path = str(tmp_path / "x.tif")
    expected = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    tifffile.imwrite(path, expected, photometric="minisblack", resolution=(254, 508), resolutionunit="INCH")
    array, grid = _read_tiff(path)
    np.testing.assert_array_equal(array, expected.astype(np.float32).reshape((-1, *shape[-2:])))
    assert grid.shape == array.shape
    np.testing.assert_allclose(grid.spacing, (1, 0.05, 0.1))


def test_refusals_name_the_file(tmp_path):
    path = str(tmp_path / "x.tif")
    tifffile.imwrite(path, np.zeros((8, 9, 3), "u1"), photometric="rgb")
    with pytest.raises(hc.InputError, match="x.tif' holds uint8 of shape .8, 9, 3., 3 values a pixel"):
        _read_tiff(path)
    tifffile.imwrite(path, np.zeros((2, 3, 8, 9), "u1"), photometric="minisblack")
    with pytest.raises(hc.InputError, match="x.tif' holds uint8 of shape .2, 3, 8, 9."):
        _read_tiff(path)
    (tmp_path / "x.tif").write_bytes(b"II*\0")
    with pytest.raises(hc.InputError, match="x.tif' cannot be read"):
        _read_tiff(path)
