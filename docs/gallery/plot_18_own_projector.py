"""
A projector of your own
=======================

Emission tomography (SPECT) sees what the object itself sends out, weakened on its way to the detector by the tissue
behind it. A ray model in OpenCL C says so in fifty lines (``docs/projectors/attenuated.cl``); the toolkit makes its
exact adjoint, and every solver takes it.
"""

import pathlib

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc
from halocline import arrays

# %%
# Activity in two spots, in an elliptic body that attenuates as water does for 140 keV, 0.015 per mm.
geometry = hc.Geometry.circular(sid=400, sdd=0, angles=np.arange(0, 360, 6), detector=(8, 64), pixel=4)
grid = hc.Grid((8, 64, 64), 4)
y, x = np.mgrid[-126:127:4, -126:127:4]
body = ((x / 110) ** 2 + (y / 85) ** 2 < 1).astype(np.float32)
activity = body + 5 * ((x - 40) ** 2 + y**2 < 15**2) + 5 * ((x + 60) ** 2 + (y - 20) ** 2 < 20**2)
mu = np.broadcast_to(0.015 * body, grid.shape).astype(np.float32)
activity = np.broadcast_to(activity, grid.shape).astype(np.float32)

# %%
# Its counts: the projector of the model, with Poisson noise. The model reads ``mu`` as a table.
source = next(folder for folder in (pathlib.Path("docs/projectors"), pathlib.Path("../projectors")) if folder.exists())
model = {"projector": source / "attenuated.cl", "projector_table": {"mu": mu}}
expected = hc.project(activity, geometry, grid, **model)
counts = np.random.default_rng(1).poisson(expected).astype(np.float32)

# %%
# The adjoint is exact, although nobody wrote it.
on = hc.Context(geometry, grid, projector=arrays.Projector(model["projector"], tables={"mu": mu}))
a, b = on.array(activity), on.array(counts)
forward, back = float(arrays.dot(on.operator(a), b)), float(arrays.dot(a, on.operator.T(b)))
print(f"<A x, y> and <x, A^T y> differ by {abs(forward - back) / forward:.1e}")

# %%
# OSEM without and with the attenuation.
options = {"method": "osem", "iterations": 4}
images = {
    "activity": activity,
    "line integrals": hc.reconstruct(counts, geometry, grid, projector="joseph", **options),
    "attenuated rays": hc.reconstruct(counts, geometry, grid, **model, **options),
}

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for axis, (name, image) in zip(axes, images.items()):
    error = np.linalg.norm(image - activity) / np.linalg.norm(activity)
    shown = axis.imshow(image[4], cmap="gray", vmin=0, vmax=6)
    axis.set_title(name if name == "activity" else f"{name}: {100 * error:.0f} %")
    axis.axis("off")
figure.colorbar(shown, ax=axes, shrink=0.8)
plt.show()
