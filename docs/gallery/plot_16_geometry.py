"""
Kinds of scans
==============

``geometry.show()`` draws where source, detector and volume are, seen along the rotation axis. ``geometry.check()`` looks
for set-ups that are inconsistent or impossible. All of these need no option: FDK weights a short scan and a displaced
detector by itself.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

common = {"sid": 300, "sdd": 600, "detector": (1, 128), "pixel": 2}
geometries = {
    "full turn": hc.Geometry.circular(angles=np.arange(0, 360, 2), **common),
    "short scan": hc.Geometry.circular(angles=np.arange(0, 206, 1), **common),
    "displaced detector": hc.Geometry.circular(angles=np.arange(0, 360, 2), projection_offset_x=80, **common),
    "parallel beam": hc.Geometry.circular(300, 0, np.arange(0, 180, 1), (1, 128), 1),
}
grid = hc.Grid((1, 88, 88), 1)
y, x = np.mgrid[:88, :88] - 43.5
truth = (0.02 * (np.hypot(x, y) < 40) - 0.01 * (np.hypot(x - 12, y - 8) < 9)).astype(np.float32)[np.newaxis]

figure, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
for (name, geometry), (above, below) in zip(geometries.items(), axes.T):
    geometry.show(grid, above)
    above.set_title(name)
    above.legend(fontsize=6, loc="center right")
    below.imshow(hc.fdk(hc.project(truth, geometry, grid), geometry, grid)[0], cmap="gray", vmin=0, vmax=0.03)
    below.set(xticks=[], yticks=[])
plt.show()

# %%
# What ``check`` says of the last:
print(geometry.check(grid))
