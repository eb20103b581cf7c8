"""
A disc in a fan beam
====================

A single detector row is a fan beam. The scan here is simulated: a disc with holes, 360 views, 20000 photons a pixel.
Filtered back-projection reconstructs its slice.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

# A detector of 1 x 320 pixels of 0.5 mm. The slice has 256 x 256 voxels of 0.25 mm.
geometry = hc.Geometry.circular(sid=200, sdd=400, angles=np.arange(360), detector=(1, 320), pixel=0.5)
grid = hc.Grid((1, 256, 256), 0.25)

# The disc: 0.05 /mm within 28 mm, with seven holes of growing size.
y, x = (np.mgrid[:256, :256] - 127.5) * 0.25
disc = np.where(np.hypot(x, y) < 28, 0.05, 0).astype(np.float32)
for n in range(7):
    angle = 2 * np.pi * n / 7
    disc[np.hypot(x - 17 * np.cos(angle), y - 17 * np.sin(angle)) < 0.8 + 0.7 * n] = 0

# %%
# ``project`` makes line integrals (view, row, column), ``noise`` adds that of the photons, and ``fdk`` reconstructs.
sinogram = hc.noise(hc.project(disc[np.newaxis], geometry, grid), photons=20000, seed=1)
slice_ = hc.fdk(sinogram, geometry, grid, window="hann")

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
axes[0].imshow(sinogram[:, 0], cmap="gray", aspect="auto")
axes[0].set(title="sinogram", xlabel="column", ylabel="view")
for axis, image, title in ((axes[1], disc, "disc"), (axes[2], slice_[0], "reconstruction")):
    axis.imshow(image, cmap="gray", vmin=0, vmax=0.06)
    axis.set(title=title, xticks=[], yticks=[])
plt.show()
