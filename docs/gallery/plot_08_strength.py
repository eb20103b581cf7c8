"""
The strength
============

``alpha`` weighs the data against the total variation: a smaller number smooths more. Without it the strength is chosen,
best by the halves of the scan. ``"1.5/sigma"`` gives it in units of the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(0, 360, 1.5), detector=(64, 64), pixel=3.6)
grid = hc.Grid((48, 48, 48), 2.1)
truth = hc.phantom("blade", grid, phantom_size=100).array
projections = hc.noise(hc.project(truth, geometry, grid), photons=3000, seed=1)
volume, halves = hc.fdk(projections, geometry, grid), hc.fdk_halves(projections, geometry, grid)

# %%
# The one that is chosen, and a row of others.
chosen, info = hc.denoise(volume, grid, halves=halves, return_info=True)
alphas = info.alpha * np.array([0.1, 0.2, 0.4, 0.7, 1, 1.5, 2.5, 5, 10])
others = [hc.denoise(volume, grid, alpha=alpha) for alpha in alphas]
errors = [hc.metrics(other, truth).rmse for other in others]
print(f"alpha {info.alpha:.0f}, which is {info.alpha_sigma:.2f}/sigma")

figure, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained", width_ratios=(1, 1, 1, 1.4))
for axis, image, name in zip(axes, (others[0], chosen, others[-1]), ("a tenth of it", "chosen", "ten times")):
    axis.imshow(image[:, 24], cmap="gray", vmin=0, vmax=0.024)
    axis.set(title=name, xticks=[], yticks=[])
axes[3].loglog(alphas, errors, "o-", label="RMSE")
axes[3].axvline(info.alpha, color="C1", label="chosen by halves")
axes[3].set(xlabel="alpha")
axes[3].legend()
plt.show()
