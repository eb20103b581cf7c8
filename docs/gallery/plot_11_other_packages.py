"""
Beside TIGRE, ASTRA, RTK and CIL
================================

The same circular cone-beam scan in each of these packages, and what takes it over. The packages need not be installed:
their geometries are dictionaries and plain objects, and small stand-ins take their place here. Lengths are in mm.

TIGRE, with angles in radians::

    import tigre, tigre.algorithms as algs
    geo = tigre.geometry(mode="cone"); geo.DSO, geo.DSD = 600, 1200
    geo.nDetector, geo.dDetector = np.array([64, 64]), np.array([4, 4])
    geo.nVoxel, geo.dVoxel = np.array([48, 48, 48]), np.array([1.8, 1.8, 1.8])
    geo.sDetector, geo.sVoxel = geo.nDetector * geo.dDetector, geo.nVoxel * geo.dVoxel
    geo.offOrigin, geo.offDetector = np.zeros(3), np.zeros(2)
    volume = algs.fdk(projections, geo, angles)                  # (view, v, u) to (z, y, x)

ASTRA, on a GPU::

    import astra
    scan = astra.create_proj_geom("cone", 4.0, 4.0, 64, 64, angles, 600, 600)
    room = astra.create_vol_geom(48, 48, 48, -43.2, 43.2, -43.2, 43.2, -43.2, 43.2)
    y = astra.data3d.create("-proj3d", scan, projections.transpose(1, 0, 2))     # (v, view, u)
    x = astra.data3d.create("-vol", room)
    job = astra.astra_dict("FDK_CUDA"); job["ProjectionDataId"], job["ReconstructionDataId"] = y, x
    astra.algorithm.run(astra.algorithm.create(job)); volume = astra.data3d.get(x)

RTK, with angles in degrees::

    import itk; from itk import RTK as rtk
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
    for angle in np.degrees(angles): geometry.AddProjection(600, 1200, angle)
    fdk = rtk.FDKConeBeamReconstructionFilter.New(empty_volume, projections, Geometry=geometry); fdk.Update()

CIL::

    from cil.framework import AcquisitionGeometry; from cil.recon import FDK
    ag = (AcquisitionGeometry.create_Cone3D([0, -600, 0], [0, 600, 0])
          .set_panel((64, 64), (4, 4)).set_angles(np.degrees(angles)))
    data = ag.allocate(None); data.fill(projections)             # (angle, vertical, horizontal)
    volume = FDK(data, ag.get_ImageGeometry()).run()

Halocline::

    geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.degrees(angles), detector=(64, 64), pixel=4)
    volume = hc.fdk(projections, geometry, hc.Grid((48, 48, 48), 1.8))          # (view, row, column) to (k, j, i)
"""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

angles = np.linspace(0, 2 * np.pi, 120, endpoint=False)

# %%
# What each package calls the scan. TIGRE's geometry has attributes, ASTRA's is a dictionary, RTK's has accessors (and
# gives radians), CIL's has a configuration.
tigre_geo = SimpleNamespace(mode="cone", DSO=600, DSD=1200, nDetector=np.array([64, 64]), dDetector=np.array([4.0, 4.0]))

astra_geom = {"type": "cone", "DetectorSpacingX": 4.0, "DetectorSpacingY": 4.0, "DetectorRowCount": 64, "DetectorColCount": 64,
              "ProjectionAngles": angles, "DistanceOriginSource": 600.0, "DistanceOriginDetector": 600.0}

zeros = np.zeros(len(angles))
rtk_values = {"SourceToIsocenterDistances": zeros + 600, "SourceToDetectorDistances": zeros + 1200, "GantryAngles": angles,
              "OutOfPlaneAngles": zeros, "InPlaneAngles": zeros, "SourceOffsetsX": zeros, "SourceOffsetsY": zeros,
              "ProjectionOffsetsX": zeros, "ProjectionOffsetsY": zeros, "RadiusCylindricalDetector": 0.0}
rtk_geometry = SimpleNamespace(**{"Get" + name: lambda value=value: value for name, value in rtk_values.items()})

cil_geometry = SimpleNamespace(geom_type="cone", config=SimpleNamespace(
    panel=SimpleNamespace(num_pixels=(64, 64), pixel_size=(4.0, 4.0)),
    angles=SimpleNamespace(angle_data=angles, initial_angle=0, angle_unit="radian"),
    system=SimpleNamespace(source=SimpleNamespace(position=[0, -600, 0]), detector=SimpleNamespace(position=[0, 600, 0]),
                           rotation_axis=SimpleNamespace(position=[0, 0, 0]))))

geometries = {
    "Halocline": hc.Geometry.circular(sid=600, sdd=1200, angles=np.degrees(angles), detector=(64, 64), pixel=4),
    "from_tigre": hc.Geometry.from_tigre(tigre_geo, angles),
    "from_astra": hc.Geometry.from_astra(astra_geom),
    "from_rtk": hc.Geometry.from_rtk(rtk_geometry, detector=(64, 64), pixel=4),
    "from_cil": hc.Geometry.from_cil(cil_geometry),
}

# %%
# Each projects and reconstructs the phantom. The printed numbers are the largest differences of the projections from those
# of the first, relative to the largest value.
grid = hc.Grid((48, 48, 48), 1.8)
phantom = hc.phantom("shepp-logan-hc", grid, phantom_size=80).array
figure, axes = plt.subplots(2, 5, figsize=(12, 5), layout="constrained")
for (name, geometry), (above, below) in zip(geometries.items(), axes.T):
    projections = hc.project(phantom, geometry, grid)
    first = projections if name == "Halocline" else first
    print(f"{name:10} {np.abs(projections - first).max() / first.max():.1e}")
    above.imshow(projections[10], cmap="gray")
    above.set(title=name, xticks=[], yticks=[])
    below.imshow(hc.fdk(projections, geometry, grid)[24], cmap="gray", vmin=0, vmax=0.6 * phantom.max())
    below.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("a projection")
axes[1, 0].set_ylabel("a slice of FDK")
plt.show()
