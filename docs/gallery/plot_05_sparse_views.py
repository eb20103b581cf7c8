"""
Few views
=========

40 views of a slice of 160 x 160 voxels are too few for filtered back-projection: every edge throws streaks. Denoising
lowers them. Iterative reconstruction with total variation (SPDHG) does without them, because it asks for the image with
the least variation whose projections fit.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=200, sdd=400, angles=np.arange(0, 360, 9), detector=(1, 200), pixel=0.8)
grid = hc.Grid((1, 160, 160), 0.4)
y, x = (np.mgrid[:160, :160] - 79.5) * 0.4
part = np.where((np.hypot(x, y) < 28) & (np.hypot(x, y) > 8), 0.03, 0).astype(np.float32)
for n in range(9):
    part[np.hypot(x - 18 * np.cos(0.7 * n), y - 18 * np.sin(0.7 * n)) < 1 + 0.35 * n] = (0, 0.045)[n % 2]
part = part[np.newaxis]
projections = hc.noise(hc.project(part, geometry, grid), photons=50000, seed=1)

# %%
# FDK warns of the streaks, and says how many views would do.
fdk = hc.fdk(projections, geometry, grid)
pdu = hc.denoise(fdk, grid)
spdhg, info = hc.reconstruct(projections, geometry, grid, photons=50000, return_info=True)
print(info.method, "chose lambda", info.report["results"]["lambda"])

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, image, name in zip(axes, (part, fdk, pdu, spdhg), ("object", "FDK", "FDK and PDU", "SPDHG, total variation")):
    error = np.linalg.norm(image - part) / np.linalg.norm(part)
    axis.imshow(image[0], cmap="gray", vmin=-0.005, vmax=0.05)
    axis.set(title=name + (f", {100 * error:.0f} % off" if error else ""), xticks=[], yticks=[])
plt.show()
