"""
Two devices
===========

``device="all"`` shares the work among all devices, and ``device="0,1"`` among two. Here a processor is split into two
devices (``sub_devices``), so that the example runs anywhere. Each device holds a part of the volume; between iterations
they exchange the slices at the border. The result is the same to the last bit.
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

print(hc.devices())
grid = hc.Grid((64, 64, 64), 1.5)
truth = hc.phantom("shepp-logan-hc", grid, phantom_size=90).array
noisy = truth + np.random.default_rng(1).normal(0, 0.05 * truth.max(), truth.shape).astype(np.float32)

# %%
# One device, and two.
options = {"alpha": "1.5/sigma", "iterations": 60, "gap": 0, "device": "cpu"}
one = hc.denoise(noisy, grid, **options)
two, info = hc.denoise(noisy, grid, sub_devices=2, return_info=True, **options)
print("bitwise identical:", np.array_equal(one, two))
print([device["name"] for device in info.report["devices"]])

figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.3), layout="constrained")
for axis, image, name in zip(axes, (noisy, one, two), ("noisy", "one device", "two devices")):
    axis.imshow(image[:, 32], cmap="gray", vmin=0, vmax=0.6 * truth.max())
    axis.set(title=name, xticks=[], yticks=[])
axes[2].axhline(31.5, color="C1", linestyle="--")
plt.show()
