"""
A limited arc
=============

Views over 100 degrees only. FDK needs half a turn and the fan; with ``allow_incomplete_arc`` it goes on all the same,
and edges along which no ray passed are lost. Total variation and bounds bring much of them back. What no ray saw
remains uncertain.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=200, sdd=400, angles=np.arange(0, 100), detector=(1, 160), pixel=1)
grid = hc.Grid((1, 128, 128), 0.5)
y, x = (np.mgrid[:128, :128] - 63.5) * 0.5
part = np.where(np.maximum(np.abs(x + y), np.abs(x - y)) < 30, 0.03, 0).astype(np.float32)
part[np.hypot(x + 9, y) < 6] = 0
part[np.hypot(x - 9, y) < 4] = 0
part = part[np.newaxis]
projections = hc.noise(hc.project(part, geometry, grid), photons=50000, seed=1)

# %%
# ``maximum`` bounds the attenuation from above; 0 bounds it from below by itself.
results = {
    "object": part,
    "FDK": hc.fdk(projections, geometry, grid, allow_incomplete_arc=True),
    "CGLS, 10 iterations": hc.reconstruct(projections, geometry, grid, method="cgls", iterations=10),
    "SPDHG, bounded": hc.reconstruct(projections, geometry, grid, photons=50000, lambda_=60, maximum=0.031, iterations=150),
}

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, (name, image) in zip(axes, results.items()):
    error = np.linalg.norm(image - part) / np.linalg.norm(part)
    axis.imshow(image[0], cmap="gray", vmin=-0.005, vmax=0.04)
    axis.set(title=name + (f", {100 * error:.0f} % off" if error else ""), xticks=[], yticks=[])
plt.show()
