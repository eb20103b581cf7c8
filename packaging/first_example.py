"""A fan-beam scan of a phantom: projected, reconstructed and denoised, each checked against the phantom."""

import time

import numpy as np

import halocline as hc

start = time.perf_counter()
found = hc.devices()
print(found)
assert found, "there is no device"
geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(0, 360, 2.0), detector=(1, 192), pixel=1.0)
grid = hc.Grid((1, 96, 96), 0.8)
truth = hc.phantom("shepp-logan-hc", grid, phantom_size=70.0)
projections = np.asarray(hc.project(truth, geometry))
noisy = projections + np.random.default_rng(1).normal(0, 0.02, projections.shape).astype(np.float32)
volume = hc.fdk(noisy, geometry, grid)
clean = hc.denoise(volume, grid)


def distance(image):
    return float(np.sqrt(np.mean((np.asarray(image) - np.asarray(truth)) ** 2)))


print(f"RMSE: FDK {distance(volume):.5f}, denoised {distance(clean):.5f} 1/mm; {time.perf_counter() - start:.1f} s")
assert 0 < distance(clean) < distance(volume) < 0.2 * float(np.max(truth.array)), "the reconstruction is not near the phantom"
