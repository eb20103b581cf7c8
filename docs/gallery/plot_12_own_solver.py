"""
A solver of your own
====================

Conjugate gradients for least squares (CGLS), written as in a textbook. ``hc.Context`` has the projector and makes
arrays that stay on the devices. A formula such as ``x + alpha * p`` becomes an OpenCL kernel with one pass over memory.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc
from halocline import arrays


def cgls(on, b, iterations):
    A = on.operator
    x = arrays.zeros(on.volume)
    r, s = b, A.T(b)
    p, gamma = s, arrays.dot(s, s)
    residuals = []
    for _ in range(iterations):
        q = A(p)
        alpha = gamma / arrays.dot(q, q)
        x = x + alpha * p
        r = r - alpha * q
        s = A.T(r)
        new = arrays.dot(s, s)
        p = s + (new / gamma) * p
        gamma = new
        residuals.append(float(arrays.norm(r)))
    return x.get(), np.array(residuals)


# %%
# It does what ``method="cgls"`` does.
geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(0, 360, 6), detector=(56, 56), pixel=4)
grid = hc.Grid((40, 40, 40), 2.5)
truth = hc.phantom("shepp-logan-hc", grid, phantom_size=90).array
projections = hc.project(truth, geometry, grid)

on = hc.Context(geometry, grid)
mine, residuals = cgls(on, on.array(projections), 12)
theirs = hc.reconstruct(projections, geometry, grid, method="cgls", iterations=12)
print(f"relative difference {np.linalg.norm(mine - theirs) / np.linalg.norm(theirs):.1e}; {on.passes} passes over arrays")

figure, axes = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
for axis, image, name in ((axes[0], mine, "this solver"), (axes[1], theirs, 'method="cgls"')):
    axis.imshow(image[20], cmap="gray", vmin=0, vmax=0.6 * truth.max())
    axis.set(title=name, xticks=[], yticks=[])
axes[2].semilogy(range(1, 13), residuals / np.linalg.norm(projections), "o-")
axes[2].set(xlabel="iteration", title="residual, part of the data")
plt.show()

# %%
# The kernel of the last formula, as Halocline wrote it:
print(on.last_kernel[:800])
