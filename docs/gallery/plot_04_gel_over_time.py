"""
A gel over time
===============

Contrast flows into a gel while it is scanned: four turns, one volume each. ``pdu4d`` denoises the four together, with
total variation in space and in time. ``time_weight`` says how many mm a step in time counts as: the larger, the less
the frames are made alike.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=200, sdd=400, angles=np.arange(0, 360, 2), detector=(1, 160), pixel=1)
grid = hc.Grid((1, 128, 128), 0.5)
y, x = (np.mgrid[:128, :128] - 63.5) * 0.5
gel = np.hypot(x, y) < 28


def at(time):
    """The gel, with contrast up to a front that moves to the right, and four beads."""
    image = np.where(gel, 0.02, 0)
    image[gel & (x < -20 + 10 * time + 3 * np.sin(y / 4))] = 0.026
    for n in range(4):
        image[np.hypot(x - 6 * n + 9, y - 14 * np.cos(2 * n)) < 1.5] = 0.04
    return image[np.newaxis].astype(np.float32)


truth = [at(time) for time in range(4)]
frames = [hc.fdk(hc.noise(hc.project(image, geometry, grid), photons=3000, seed=n + 1), geometry, grid)
          for n, image in enumerate(truth)]

# %%
# One by one, and together.
one_by_one = [hc.denoise(frame, grid) for frame in frames]
together = hc.denoise(frames, grid, method="pdu4d", time_weight=0.7)

figure, axes = plt.subplots(3, 4, figsize=(9, 6.8), layout="constrained")
for row, (images, name) in enumerate(((frames, "FDK"), (one_by_one, "PDU of each"), (together, "pdu4d"))):
    for column, image in enumerate(images):
        rmse = np.sqrt(np.mean((image - truth[column])[0, gel] ** 2))
        axes[row, column].imshow(image[0], cmap="gray", vmin=0.012, vmax=0.034)
        axes[row, column].set(title=f"{name}, RMSE {1000 * rmse:.2f} /m", xticks=[], yticks=[])
        axes[row, column].title.set_fontsize(9)
plt.show()
