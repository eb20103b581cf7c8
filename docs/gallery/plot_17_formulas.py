"""
Methods as formulas
===================

``hc.Context`` has arrays and a projector, so that a method of a paper takes as many lines here as there. Three that
``hc.reconstruct`` does not have: gradient descent with one step length (Landweber 1951), the maximum likelihood of
transmissions (Nuyts et al. 1998), and primal-dual iterations for total variation (Chambolle & Pock 2011).
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc
from halocline import arrays


def landweber(on, b, iterations):
    A = on.operator
    x = arrays.zeros(on.volume)
    step = 1 / A.norm() ** 2
    for _ in range(iterations):
        x = arrays.maximum(x + step * A.T(b - A(x)), 0)
    return x.get()


def ml_tr(on, b, iterations):
    """Maximum likelihood of counts exp(-b), all of the same open beam."""
    A = on.operator
    x = arrays.zeros(on.volume)
    lengths = A(x + 1)
    for _ in range(iterations):
        expected = arrays.exp(-A(x))
        slope, bend = A.T(expected - arrays.exp(-b)), A.T(lengths * expected)
        x = arrays.maximum(x + arrays.where(bend, slope / arrays.maximum(bend, 1e-20), 0 * x), 0)
    return x.get()


def pdhg(on, b, weight, iterations):
    """min 1/2 |A x - b|^2 + weight TV(x), x >= 0."""
    A = on.operator
    x = previous = arrays.zeros(on.volume)
    r = 0 * b
    q = [0 * x, 0 * x, 0 * x]
    differences = 12 / grid.spacing[0] ** 2  # at least |D|^2 of voxels that are cubes
    scale = A.norm() / np.sqrt(differences)  # lets both operators be alike in norm
    step = 0.99 / np.sqrt(2) / A.norm()
    for _ in range(iterations):
        bar = 2 * x - previous
        r = (r + step * (A(bar) - b)) / (1 + step)
        q = [q[axis] + step * scale * arrays.gradient(bar, axis) for axis in range(3)]
        over = arrays.maximum(arrays.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) * (scale / weight), 1)
        q = [each / over for each in q]
        back = sum(arrays.adjoint_gradient(q[axis], axis) for axis in range(1, 3)) + arrays.adjoint_gradient(q[0], 0)
        previous, x = x, arrays.maximum(x - step * (A.T(r) + scale * back), 0)
    return x.get()


# %%
# Forty noisy views of a phantom.
geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(0, 360, 9), detector=(56, 56), pixel=4)
grid = hc.Grid((40, 40, 40), 2.5)
truth = hc.phantom("blade", grid, phantom_size=90).array
projections = hc.noise(hc.project(truth, geometry, grid), photons=5000, seed=1)

on = hc.Context(geometry, grid)
b = on.array(projections)
images = {
    "truth": truth,
    "Landweber, 60": landweber(on, b, 60),
    "ML-TR, 30": ml_tr(on, b, 30),
    "PDHG, 150": pdhg(on, b, 0.3, 150),
}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, (name, image) in zip(axes, images.items()):
    error = np.linalg.norm(image - truth) / np.linalg.norm(truth)
    print(f"{name}: {100 * error:.0f} % off")
    axis.imshow(image[20], cmap="gray", vmin=0, vmax=1.1 * truth.max())
    axis.set(title=name + (f", {100 * error:.0f} % off" if error else ""), xticks=[], yticks=[])
plt.show()
