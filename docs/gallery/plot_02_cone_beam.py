"""
A cylinder in a cone beam
=========================

A cylinder with three rods, reconstructed by FDK (Feldkamp, Davis and Kress). Volumes are arrays (k, j, i) with k along
the rotation axis. Near the middle plane FDK is exact but for noise; far from it the cone angle shows at edges that lie
across the axis.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=300, sdd=600, angles=np.arange(0, 360, 2), detector=(112, 112), pixel=2)
grid = hc.Grid((80, 84, 84), 0.9)
k, j, i = ((np.indices(grid.shape).T - (np.array(grid.shape) - 1) / 2) * 0.9).T

cylinder = np.where((np.hypot(i, j) < 32) & (np.abs(k) < 34), 0.02, 0).astype(np.float32)
for angle, value in ((0.5, 0.0), (2.6, 0.035), (4.7, 0.028)):
    cylinder[(np.hypot(i - 18 * np.cos(angle), j - 18 * np.sin(angle)) < 5) & (np.abs(k) < 28)] = value

# %%
# Projections of 20000 photons a pixel, and their reconstruction. ``geometry.show()`` draws the scan, seen along the axis.
projections = hc.noise(hc.project(cylinder, geometry, grid), photons=20000, seed=1)
volume = hc.fdk(projections, geometry, grid)

figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
geometry.show(grid, axes[0])
axes[0].legend(fontsize=6)
for axis, image, title in ((axes[1], volume[40], "across the axis"), (axes[2], volume[:, 42], "along the axis")):
    axis.imshow(image, cmap="gray", vmin=0, vmax=0.04, origin="lower")
    axis.set(title=title, xticks=[], yticks=[])
axes[3].plot(i[0, 0], cylinder[40, 42], label="cylinder")
axes[3].plot(i[0, 0], volume[40, 42], label="FDK")
axes[3].set(xlabel="mm", ylabel="1/mm", title="profile")
axes[3].legend(fontsize=7)
plt.show()
