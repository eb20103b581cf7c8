"""
Low dose
========

Rays through both dense parts come through with a handful of photons, others with many. So the noise of the volume is
large between the parts and small elsewhere. FDK can propagate the photons' noise to a variance of each voxel
(``variance_out``). S-PDU weights with it: it smooths where the noise is, and leaves the rest alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

photons = 5000
geometry = hc.Geometry.circular(sid=300, sdd=600, angles=np.arange(0, 360, 0.6), detector=(1, 240), pixel=1)
grid = hc.Grid((1, 160, 160), 0.5)
y, x = (np.mgrid[:160, :160] - 79.5) * 0.5
body = np.where((x / 39) ** 2 + (y / 30) ** 2 < 1, 0.012, 0).astype(np.float32)
for side in (-1, 1):
    body[np.hypot(x - side * 25, y) < 7] = 0.13
for n in range(5):
    body[np.hypot(x + 14 - 7 * n, y - 16) < 1 + 0.4 * n] = 0.016
    body[np.hypot(x + 14 - 7 * n, y + 16) < 3 - 0.4 * n] = 0.008
soft = ((x / 37) ** 2 + (y / 28) ** 2 < 1) & (np.hypot(np.abs(x) - 25, y) > 10)  # where errors are measured
projections = hc.noise(hc.project(body[np.newaxis], geometry, grid), photons=photons, electronic=5, seed=1)

# %%
# The variance comes with the volume, and is what S-PDU needs.
fdk, info = hc.fdk(projections, geometry, grid, photons=photons, electronic=5, variance_out=True, return_info=True)
variance = info.outputs["variance_out"].array


def error(image):
    return 1000 * np.sqrt(np.mean((image[0] - body)[soft] ** 2))


def best(**options):
    """With the strength of least error, so that methods are compared at their best."""
    _, info = hc.denoise(fdk, grid, return_info=True, **options)
    return min((hc.denoise(fdk, grid, alpha=info.alpha * factor, **options) for factor in (0.2, 0.35, 0.5, 0.7, 1, 1.4)), key=error)


pdu = best()
spdu = best(method="spdu", weights=variance)

figure, axes = plt.subplots(2, 2, figsize=(8.4, 7), layout="constrained")
axes[0, 0].imshow(np.sqrt(variance[0]), cmap="viridis")
axes[0, 0].set(title="standard deviation of the noise", xticks=[], yticks=[])
for axis, image, name in zip(axes.flat[1:], (fdk, pdu, spdu), ("FDK", "PDU", "S-PDU")):
    axis.imshow(image[0], cmap="gray", vmin=0.004, vmax=0.02)
    axis.set(title=f"{name}, RMSE {error(image):.2f} /m", xticks=[], yticks=[])
plt.show()
