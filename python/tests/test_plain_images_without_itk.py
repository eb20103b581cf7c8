"""NRRD, NIfTI and TIFF in a package that was built without ITK: what it does not read is left to others."""

import numpy as np
import pytest

from halocline import image


@pytest.mark.parametrize("name", ["x.nrrd", "x.nii", "x.tif"])
def test_forms_that_are_not_read_here(tmp_path, monkeypatch, name):
    monkeypatch.setattr(image._core, "WITH_ITK", False)
    path = tmp_path / name
    path.write_bytes(b"damaged")
    assert not image._is_read_here(str(path))
    path = tmp_path / "plain.nrrd"
    header = b"NRRD0004\ntype: uint8\ndimension: 2\nsizes: 3 2\nencoding: raw\n\n"
    path.write_bytes(header + bytes(range(6)))
    assert image._is_read_here(str(path))
    np.testing.assert_array_equal(image.read(path).array, np.arange(6, dtype="f4").reshape(1, 2, 3))
