"""
Training through the projector
==============================

``hc.to_autograd`` makes a function of PyTorch tensors out of an operator. Its gradient is the exact adjoint, so that
losses between projections can be minimised. Without PyTorch this example takes the same gradient with NumPy and checks
it by finite differences.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

try:
    import torch
except ImportError:
    torch = None

geometry = hc.Geometry.circular(sid=200, sdd=400, angles=np.arange(0, 360, 12), detector=(1, 96), pixel=1.6)
grid = hc.Grid((1, 64, 64), 1)
A = hc.Operator(geometry, grid)
y, x = np.mgrid[:64, :64] - 31.5
truth = (0.02 * (np.hypot(x, y) < 26) + 0.02 * (np.hypot(x - 9, y) < 6)).astype(np.float32)[np.newaxis]
data = A(truth)

# %%
# The image is what is trained here, as the weights of a network would be: it stands behind a softplus, so that it is
# positive, and Adam changes it until its projections are the data. With PyTorch::
#
#     z = torch.full(A.domain_shape, -4.0, requires_grad=True)
#     step = torch.optim.Adam([z], lr=0.15)
#     for _ in range(60):
#         step.zero_grad()
#         loss = ((hc.to_autograd(A)(torch.nn.functional.softplus(z)) - torch.from_numpy(data)) ** 2).mean()
#         loss.backward()
#         step.step()


def loss_and_gradient(z):
    """The loss at z, and its gradient: by PyTorch where it is, else by hand."""
    if torch is not None:
        at = torch.from_numpy(z).requires_grad_()
        loss = ((hc.to_autograd(A)(torch.nn.functional.softplus(at)) - torch.from_numpy(data)) ** 2).mean()
        loss.backward()
        return loss.item(), at.grad.numpy()
    residual = A(np.logaddexp(0, z)) - data
    return float(np.mean(residual.astype(float) ** 2)), 2 / data.size * A.T(residual) / (1 + np.exp(-z))


z = np.full(A.domain_shape, -4, np.float32)
loss, gradient = loss_and_gradient(z)
direction = np.random.default_rng(1).standard_normal(z.shape, dtype=np.float32)
h = np.float32(1e-2)
by_differences = (loss_and_gradient(z + h * direction)[0] - loss_and_gradient(z - h * direction)[0]) / (2 * h)
print(f"along a random direction: gradient {np.vdot(gradient, direction):.5f}, finite difference {by_differences:.5f}")

# %%
# Adam, 60 steps.
losses, mean, square = [], np.zeros_like(z), np.zeros_like(z)
for step in range(1, 61):
    loss, gradient = loss_and_gradient(z)
    losses.append(loss)
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
    z = z - np.float32(0.15) * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + np.float32(1e-8))
    z = z.astype(np.float32)

figure, axes = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
for axis, image, name in ((axes[0], truth, "truth"), (axes[1], np.logaddexp(0, z), "after 60 steps")):
    axis.imshow(image[0], cmap="gray", vmin=0, vmax=0.045)
    axis.set(title=name, xticks=[], yticks=[])
axes[2].semilogy(losses)
axes[2].set(xlabel="step", title="loss")
plt.show()
