"""Geometries of other packages that are none, or lack something: errors that name it."""

from types import SimpleNamespace

import numpy as np
import pytest

import halocline as hc

ANGLES = np.radians(np.arange(0, 360, 10.0))


def tigre(**changes):
    return SimpleNamespace(**{"DSO": 200.0, "DSD": 300.0, "nDetector": np.array([6, 8]), "dDetector": np.array([2.0, 1.5]), "mode": "cone",
                              "COR": None, **changes})


def astra(**changes):
    return {"type": "cone", "DetectorRowCount": 6, "DetectorColCount": 8, "DetectorSpacingX": 1.5, "DetectorSpacingY": 2.0,
            "ProjectionAngles": ANGLES, "DistanceOriginSource": 200.0, "DistanceOriginDetector": 100.0, **changes}


def cil(kind="cone", **changes):
    at = lambda *position: SimpleNamespace(position=position)
    panel = SimpleNamespace(**{"num_pixels": (8, 6), "pixel_size": (1.5, 2.0), "origin": "bottom-left", **changes})
    system = SimpleNamespace(source=at(0, -200.0, 0), detector=at(0, 100.0, 0), rotation_axis=at(0, 0, 0))
    angles = SimpleNamespace(angle_data=np.degrees(ANGLES), initial_angle=0.0, angle_unit="degree")
    return SimpleNamespace(geom_type=kind, config=SimpleNamespace(panel=panel, system=system, angles=angles))


def test_good_ones_are_taken():
    by_tigre, by_astra, by_cil = hc.Geometry.from_tigre(tigre(), ANGLES), hc.Geometry.from_astra(astra()), hc.Geometry.from_cil(cil())
    for geometry in (by_tigre, by_astra, by_cil):
        assert geometry.detector_shape == (6, 8) and len(geometry) == 36
        assert np.allclose(geometry.views[:, :2], (200, 300))


@pytest.mark.parametrize("call, kind, words", [
    (lambda: hc.Geometry.from_tigre(None, ANGLES), TypeError, "geo= is NoneType without DSO; expected a geometry of TIGRE"),
    (lambda: hc.Geometry.from_tigre({"DSO": 3}, ANGLES), TypeError, "geo= is dict without DSO"),
    (lambda: hc.Geometry.from_tigre(tigre(DSD=None), ANGLES), TypeError, "without DSD"),
    (lambda: hc.Geometry.from_tigre(tigre(DSO="far"), ANGLES), ValueError, "geo.DSO is 'far'; expected a number"),
    (lambda: hc.Geometry.from_tigre(tigre(DSO=np.full(36, 200.0)), ANGLES), ValueError, "geo.DSO is .*; expected one number"),
    (lambda: hc.Geometry.from_tigre(tigre(nDetector=8), ANGLES), ValueError, "geo.nDetector is 8; expected 2 whole numbers"),
    (lambda: hc.Geometry.from_tigre(tigre(nDetector=(8, 0)), ANGLES), ValueError, "geo.nDetector"),
    (lambda: hc.Geometry.from_tigre(tigre(dDetector=1.5), ANGLES), ValueError, "geo.dDetector is 1.5; expected two numbers"),
    (lambda: hc.Geometry.from_tigre(tigre(offDetector=[[0, 0], [0, 1]]), ANGLES), ValueError, "geo.offDetector differs from view to view"),
    (lambda: hc.Geometry.from_tigre(tigre(COR=2.0), ANGLES), ValueError, "geo= has COR"),
    (lambda: hc.Geometry.from_tigre(tigre(), None), TypeError, "angles= is None"),
    (lambda: hc.Geometry.from_tigre(tigre(), "round"), ValueError, "angles= is 'round'"),
    (lambda: hc.Geometry.from_tigre(tigre(), np.zeros((4, 3))), ValueError, "angles= is"),
    (lambda: hc.Geometry.from_rtk(None), TypeError, "geometry= is NoneType without GetSource.*; expected RTK's"),
    (lambda: hc.Geometry.from_rtk("scan.xml"), TypeError, "geometry= is str without"),
    (lambda: hc.Geometry.from_cil(None), TypeError, "geometry= is NoneType without geom_type; expected CIL's"),
    (lambda: hc.Geometry.from_cil(SimpleNamespace(geom_type="cone", config=None)), TypeError, "without config.system"),
    (lambda: hc.Geometry.from_cil(cil("fan")), ValueError, "geometry= is of the type 'fan'"),
    (lambda: hc.Geometry.from_cil(cil(num_pixels=8)), ValueError, "geometry.config.panel.num_pixels is 8"),
    (lambda: hc.Geometry.from_cil(cil(pixel_size=1.5)), ValueError, "geometry.config.panel.pixel_size is 1.5"),
    (lambda: hc.Geometry.from_astra([]), TypeError, "proj_geom= is list"),
    (lambda: hc.Geometry.from_astra({}), ValueError, "proj_geom= has the type 'None'"),
    (lambda: hc.Geometry.from_astra({"type": "cone"}), ValueError, "proj_geom= of the type 'cone' has no DetectorCount or DetectorColCount"),
    (lambda: hc.Geometry.from_astra(astra(ProjectionAngles=None)), ValueError, "has no ProjectionAngles"),
    (lambda: hc.Geometry.from_astra(astra(DistanceOriginSource="far")), ValueError, r"proj_geom\['DistanceOriginSource'\] is 'far'"),
    (lambda: hc.Geometry.from_astra(astra(type="cone_vec")), ValueError, "has no Vectors"),
    (lambda: hc.Geometry.from_astra(astra(DetectorRowCount=0)), ValueError, r"proj_geom= is \(0, 8\); expected 2 whole numbers"),
    (lambda: hc.Geometry.from_vectors(None), TypeError, "vectors= is None"),
    (lambda: hc.Geometry.from_matrices(None, (4, 4), 1), TypeError, "matrices= is None"),
    (lambda: hc.Geometry.from_views(None), TypeError, "views= is None"),
])
def test_others_are_named(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
