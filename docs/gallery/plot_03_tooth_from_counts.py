"""
A tooth from counts
===================

A detector gives counts. With images of the beam alone (flats) and without a beam (darks) ``counts`` makes line
integrals of them. Here the rotation axis lies 1.5 mm beside the middle of the detector, which nobody wrote down:
``find_axis`` finds it from the projections.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

pixel, photons = 0.6, 8000
true_scan = hc.Geometry.circular(sid=80, sdd=160, angles=np.arange(0, 360, 1.5), detector=(48, 128), pixel=pixel,
                                 projection_offset_x=-1.5)
grid = hc.Grid((36, 100, 100), 0.25)
k, j, i = ((np.indices(grid.shape).T - (np.array(grid.shape) - 1) / 2) * 0.25).T

# Enamel around dentine around the pulp, which has two canals.
wide = np.hypot(i / 11, j / 8)
tooth = np.where(wide < 1, 0.11, 0).astype(np.float32)
tooth[wide < 0.78 + 0.02 * k] = 0.07
for side in (-1, 1):
    tooth[np.hypot(i - side * (3.4 + 0.2 * k), j) < 1.2] = 0.02

# Counts of the detector: columns of uneven gain, and an offset of 200.
random = np.random.default_rng(1)
gain = 1 + 0.1 * random.standard_normal((48, 128))
raw = random.poisson(gain * photons * np.exp(-hc.project(tooth, true_scan, grid))) + 200
flats = random.poisson(np.broadcast_to(gain * photons, (20, 48, 128))) + 200
darks = np.full((5, 48, 128), 200)

# %%
# Line integrals, the axis, and the volume without and with the axis found.
projections = hc.counts(raw.astype(np.uint16), flats.astype(np.uint16), darks.astype(np.uint16))
assumed = hc.Geometry.circular(sid=80, sdd=160, angles=np.arange(0, 360, 1.5), detector=(48, 128), pixel=pixel)
axis = hc.find_axis(projections, assumed)
print(axis)
doubled = hc.fdk(projections, assumed, grid)
volume = hc.fdk(projections, axis.geometry, grid)
clean = hc.denoise(volume, grid, halves=hc.fdk_halves(projections, axis.geometry, grid))

figure, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
axes[0].imshow(raw[0], cmap="gray", aspect="auto")
axes[0].set(title="counts of a view")
for place, image, title in ((axes[1], doubled, "axis as assumed"), (axes[2], volume, f"axis found, {axis.shift:.2f} mm"),
                            (axes[3], clean, "and denoised")):
    place.imshow(image[18], cmap="gray", vmin=0, vmax=0.13)
    place.set(title=title, xticks=[], yticks=[])
plt.show()
