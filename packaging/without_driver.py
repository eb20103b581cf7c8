"""Checks Halocline on a computer without an OpenCL driver: it can be imported, and names halocline[cpu]."""

import warnings

import numpy as np

import halocline as hc

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert hc.devices() == []
assert any("halocline[cpu]" in str(each.message) for each in caught), [str(each.message) for each in caught]
geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(0, 360, 30.0), detector=(1, 16), pixel=1.0)
try:
    hc.fdk(np.ones((12, 1, 16), np.float32), geometry)
except (hc.InputError, hc.DeviceError) as error:
    print(f"{type(error).__name__}: {error}")
    assert "halocline[cpu]" in str(error)
else:
    raise AssertionError("fdk found a device")
