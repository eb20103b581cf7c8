"""
Larger than memory
==================

``device_memory`` limits what a device may use. A volume that does not fit passes through the device in slabs, and the
result is the same to the last bit. With ``out="volume.mha"`` slabs go to the file as they are done, and the volume is
never whole in memory.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(0, 360, 3), detector=(96, 96), pixel=3)
grid = hc.Grid((80, 80, 80), 1.2)
projections = hc.project(hc.phantom("blade", grid, phantom_size=100).array, geometry, grid)
whole = hc.fdk(projections, geometry, grid)
print(f"the volume has {whole.nbytes / 2**20:.1f} MiB")

# %%
# The same with 2 MiB a device, to a file; then PDU of the file with 6 MiB, to another.
with tempfile.TemporaryDirectory() as folder:
    file, clean = Path(folder) / "volume.mha", Path(folder) / "clean.mha"
    hc.fdk(projections, geometry, grid, device_memory="2M", out=file)
    in_slabs = hc.read(file).array
    _, info = hc.denoise(file, alpha=3000, iterations=40, gap=0, device_memory="6M", out=clean, return_info=True)
    denoised = hc.read(clean).array
print("FDK bitwise identical:", np.array_equal(whole, in_slabs))
print("PDU bitwise identical:", np.array_equal(denoised, hc.denoise(whole, grid, alpha=3000, iterations=40, gap=0)))

figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.3), layout="constrained")
for axis, image, name in zip(axes, (whole[:, 40], in_slabs[:, 40], (whole - in_slabs)[:, 40]), ("whole", "in slabs", "difference")):
    axis.imshow(image, cmap="gray", vmin=0, vmax=0.024)
    axis.set(title=name, xticks=[], yticks=[])
plt.show()
