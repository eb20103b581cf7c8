"""
SciPy's solvers
===============

``hc.Operator`` is a ``scipy.sparse.linalg.LinearOperator``: LSQR, LSMR and the others take it as it is. ``damp``
is a penalty on the norm of the image.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import lsqr

import halocline as hc

geometry = hc.Geometry.circular(sid=200, sdd=400, angles=np.arange(0, 360, 4), detector=(1, 128), pixel=1.2)
grid = hc.Grid((1, 96, 96), 0.7)
y, x = (np.mgrid[:96, :96] - 47.5) * 0.7
truth = (0.03 * (np.hypot(x, y) < 28) * (1 + 0.5 * (np.sin(x / 3) * np.sin(y / 3) > 0.3))).astype(np.float32)[np.newaxis]

A = hc.Operator(geometry, grid)
print("shape", A.shape, "norm", A.norm(), "adjoint to", hc.adjoint_error(A))
data = hc.noise(A(truth), photons=20000, seed=1)

# %%
# Few iterations are smooth, many bring the noise back, and damping keeps some of it away.
images = {"truth": truth}
for iterations, damp in ((5, 0), (40, 0), (40, 5)):
    found = lsqr(A, data.ravel(), iter_lim=iterations, damp=damp, atol=0, btol=0)[0].reshape(A.domain_shape)
    images[f"{iterations} iterations" + (f", damp {damp}" if damp else "")] = found

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, (name, image) in zip(axes, images.items()):
    error = np.linalg.norm(image - truth) / np.linalg.norm(truth)
    axis.imshow(image[0], cmap="gray", vmin=0, vmax=0.055)
    axis.set(title=name + (f", {100 * error:.0f} % off" if error else ""), xticks=[], yticks=[])
plt.show()
