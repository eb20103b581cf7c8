"""
Low dose
========

An elongated object with few photons: rays along it come through with a handful, rays across it with many. So the noise
of the volume is large along streaks and small elsewhere. FDK can propagate the photons' noise to a variance of each
voxel (``variance_out``). S-PDU weights with it: it smooths where the noise is, and leaves the rest alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

photons = 1500
geometry = hc.Geometry.circular(sid=300, sdd=600, angles=np.arange(0, 360, 0.6), detector=(1, 240), pixel=1)
grid = hc.Grid((1, 160, 160), 0.5)
y, x = (np.mgrid[:160, :160] - 79.5) * 0.5
body = np.where((x / 44) ** 2 + (y / 22) ** 2 < 1, 0.02, 0).astype(np.float32)
for side in (-1, 1):
    body[np.hypot(x - side * 27, y) < 8] = 0.06
for n in range(5):
    body[np.hypot(x + 16 - 8 * n, y - 10) < 1 + 0.5 * n] = 0.024
    body[np.hypot(x + 16 - 8 * n, y + 10) < 3 - 0.5 * n] = 0.016
body = body[np.newaxis]
projections = hc.noise(hc.project(body, geometry, grid), photons=photons, electronic=3, seed=1)

# %%
# The variance comes with the volume, and is what S-PDU needs.
fdk, info = hc.fdk(projections, geometry, grid, photons=photons, electronic=3, variance_out=True, return_info=True)
variance = info.outputs["variance_out"].array
pdu = hc.denoise(fdk, grid, halves=hc.fdk_halves(projections, geometry, grid))
spdu = hc.denoise(fdk, grid, method="spdu", weights=variance)

figure, axes = plt.subplots(2, 2, figsize=(9, 5), layout="constrained")
for axis, image, name in zip(axes.flat, (np.sqrt(variance), fdk, pdu, spdu), ("standard deviation", "FDK", "PDU", "S-PDU")):
    limits = {} if axis is axes[0, 0] else {"vmin": 0.005, "vmax": 0.035}
    axis.imshow(image[0, 24:136], cmap="viridis" if axis is axes[0, 0] else "gray", **limits)
    error = np.sqrt(np.mean((image - body) ** 2))
    axis.set(title=name + ("" if axis is axes[0, 0] else f", RMSE {1000 * error:.2f} /m"), xticks=[], yticks=[])
plt.show()
