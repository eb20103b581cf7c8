"""
How near the minimum
====================

PDU and SPDHG compute a lower bound of their minimum, the dual value. The relative gap between the value of the result
and this bound says at most how far above the minimum the result is. Runs end where the gap is small enough (``gap``).
"""

import matplotlib.pyplot as plt
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(0, 360, 6), detector=(56, 56), pixel=4)
grid = hc.Grid((40, 40, 40), 2.5)
truth = hc.phantom("blade", grid, phantom_size=90).array
projections = hc.noise(hc.project(truth, geometry, grid), photons=10000, seed=1)

# %%
# ``return_info`` gives what a run did, with its history; ``info.plot()`` draws the gap.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")

volume = hc.fdk(projections, geometry, grid)
_, info = hc.denoise(volume, grid, alpha="1.5/sigma", gap=1e-5, iterations=1000, return_info=True)
info.plot(axes[0])
axes[0].set_title("PDU")

for method in ("os-fista", "fista", "spdhg"):
    _, info = hc.reconstruct(projections, geometry, grid, method=method, photons=10000, lambda_=60, gap=1e-3, iterations=40,
                             return_info=True)
    info.plot(axes[1])
    print(f"{method}: gap {info.relative_gap:.1e}, stopped by {info.stopped_by}")
axes[1].legend(("OS-FISTA", "FISTA", "SPDHG"))
axes[1].set_title("reconstruction, the same minimum")

# The value of the result and the bound below it, of the last run.
history = info.history
axes[2].plot(history["passes"], history["primal"], label="value")
axes[2].plot(history["passes"], history["dual"], label="lower bound")
axes[2].set(xlabel="passes", title="SPDHG", ylim=(0, 2 * history["primal"][-1]))
axes[2].legend()
plt.show()
