"""
A focal spot that is no point
=============================

Close to the source, the focal spot is wider than the details: each pixel sees a bundle of rays, which is widest where
the object is nearest to the spot. A ray model says so in forty lines of OpenCL C (``docs/projectors/focal_spot.cl``),
and CGLS with it takes much of the blur back.
"""

import pathlib

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc
from halocline import arrays

# %%
# Holes in a disc, 0.3 to 1.2 mm wide. A spot of 1.2 mm is 30 mm before the middle, the detector 30 mm behind it.
sid, sdd, spot, views = 30, 60, 1.2, 90
scan = {"sid": sid, "sdd": sdd, "angles": np.arange(views) * 360 / views, "detector": (1, 120), "pixel": 0.3}
geometry = hc.Geometry.circular(**scan)


def object_on(voxels, size):
    y, x = (np.mgrid[:voxels, :voxels] - (voxels - 1) / 2) * size
    image = np.where(x**2 + y**2 < 6.5**2, 0.05, 0)
    for n, width in enumerate((1.2, 0.9, 0.6, 0.45, 0.3)):
        cosine, sine = np.cos(2 * np.pi * n / 5), np.sin(2 * np.pi * n / 5)
        for step in (-2 * width, 0, 2 * width):
            image[(x - 4 * cosine + step * sine) ** 2 + (y - 4 * sine - step * cosine) ** 2 < (width / 2) ** 2] = 0
    return image[None].astype(np.float32)


grid, fine = hc.Grid((1, 96, 96), 0.15), hc.Grid((1, 288, 288), (0.15, 0.05, 0.05))
truth = object_on(288, 0.05).reshape(1, 96, 3, 96, 3).mean((2, 4))

# %%
# The scan: the mean of the projections of eleven points of the spot and three of each pixel, from an object with finer
# voxels, with noise.
points = spot * ((np.arange(11) + 0.5) / 11 - 0.5)
sharp_object = object_on(288, 0.05)
narrow = {**scan, "detector": (1, 360), "pixel": (0.3, 0.1)}
rays = np.mean([hc.project(sharp_object, hc.Geometry.circular(**narrow, source_offset_x=x), fine, projector="joseph")
                .reshape(views, 1, 120, 3).mean(3) for x in points], 0)
measured = (rays + np.random.default_rng(1).normal(0, 0.001, rays.shape)).astype(np.float32)

# %%
# The model gets the spot and the pixels as macros, and agrees with the scan.
own = arrays.Projector(next(folder / "focal_spot.cl" for folder in (pathlib.Path("docs/projectors"), pathlib.Path("../projectors"))
                            if folder.exists()), macros={"SID": f"{sid}.0f", "SPOT": f"{spot}f", "PIXEL": "0.3f", "SAMPLES": 5})
for name, model in {"a point": "joseph", "the spot": own}.items():
    difference = np.linalg.norm(hc.project(truth, geometry, grid, projector=model) - rays) / np.linalg.norm(rays)
    print(f"{name}: projections differ from the scan by {100 * difference:.1f} %")

# %%
# CGLS with both: the toolkit made the model's adjoint. Holes become as dark as they are, and ring, as all that is
# sharpened by least squares does.
images = {"object": truth}
for name, model in {"a point": "joseph", "the spot": own}.items():
    images[name] = hc.reconstruct(measured, geometry, grid, method="cgls", iterations=18, projector=model)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for axis, (name, image) in zip(axes, images.items()):
    error = np.linalg.norm(image - truth) / np.linalg.norm(truth)
    axis.imshow(image[0, 8:88, 8:88], cmap="gray", vmin=0, vmax=0.06)
    axis.set_title(name if name == "object" else f"rays from {name}: {100 * error:.0f} %")
    axis.axis("off")
plt.show()
