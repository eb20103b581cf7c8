"""Geometries of RTK against RTK's own projector, where the packages itk and itk-rtk are there."""

import numpy as np
import pytest

import halocline as hc

itk = pytest.importorskip("itk")
try:
    from itk import RTK as rtk
except ImportError:
    pytest.skip("itk-rtk is not there", allow_module_level=True)


def test_rays_fall_where_rtks_fall():
    scan = rtk.ThreeDCircularProjectionGeometry.New()
    for n, angle in enumerate(np.arange(3, 363, 30.0)):
        # SID, SDD, gantry, projection offset x and y, out-of-plane, in-plane, source offset x and y
        scan.AddProjection(200.0, 320.0, float(angle), 5.0 + 0.1 * n, -4.0, 3.0, -7.0, 2.0, 1.5)
    geometry = hc.Geometry.from_rtk(scan, detector=(40, 52), pixel=(2.0, 1.8))
    x = np.zeros((22, 26, 30), np.float32)  # z, y, x
    x[3:9, 5:12, 16:25], x[13:19, 15:22, 4:10] = 0.02, 0.01
    image = hc.Image(x, hc.Grid(x.shape, (1.3, 1.2, 1.1), direction=np.eye(3)))

    kind = itk.Image[itk.F, 3]
    rows = hc.Image(np.zeros((len(geometry), 40, 52), np.float32), geometry.stack())
    joseph = rtk.JosephForwardProjectionImageFilter[kind, kind].New(Geometry=scan)
    joseph.SetInput(0, rows.to_itk())
    joseph.SetInput(1, image.to_itk())
    joseph.Update()
    expected = itk.array_from_image(joseph.GetOutput())
    found = hc.project(image, geometry).array
    assert np.linalg.norm(found - expected) < 1e-4 * np.linalg.norm(expected)
