"""
A gel over time
===============

Contrast flows into a gel with beads while it is scanned: eight turns, one volume each. ``pdu4d`` denoises the eight
together, with total variation in space and in time. ``time_weight`` says how many mm a step in time counts as: the
larger, the less the frames are made alike. Where nothing changes, all frames help each of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=200, sdd=400, angles=np.arange(0, 360, 2), detector=(1, 160), pixel=1)
grid = hc.Grid((1, 108, 108), 0.5)
y, x = (np.mgrid[:108, :108] - 53.5) * 0.5
gel = np.hypot(x, y) < 26
beads = np.zeros_like(gel)
for center in np.random.default_rng(5).uniform(-22, 22, (90, 2)):
    beads |= (np.hypot(x - center[0], y - center[1]) < 1.1) & (np.hypot(x, y) < 24)


def at(time):
    """The gel, with contrast up to a front that moves to the right."""
    image = np.where(gel, 0.02, 0) + 0.007 * beads
    image[gel & (x < -16 + 2 * time + 3 * np.sin(y / 4))] += 0.006
    return image[np.newaxis].astype(np.float32)


truth = [at(time) for time in range(8)]
frames = [hc.fdk(hc.noise(hc.project(image, geometry, grid), photons=1000, seed=n + 1), geometry, grid)
          for n, image in enumerate(truth)]

# %%
# One by one, and together. The strength is chosen in both cases.
one_by_one = [hc.denoise(frame, grid) for frame in frames]
together = hc.denoise(frames, grid, method="pdu4d", time_weight=0.1)

figure, axes = plt.subplots(4, 4, figsize=(9, 9.2), layout="constrained")
rows = {"truth": truth, "FDK": frames, "PDU of each": one_by_one, "pdu4d": together}
for row, (name, images) in zip(axes, rows.items()):
    row[0].set_ylabel(name)
    for axis, time in zip(row, (0, 2, 4, 7)):
        error = np.sqrt(np.mean((images[time] - truth[time])[0, gel] ** 2))
        axis.imshow(images[time][0], cmap="gray", vmin=0.012, vmax=0.034)
        axis.set(title=f"RMSE {1000 * error:.2f} /m" if error else f"turn {time + 1}", xticks=[], yticks=[])
plt.show()
