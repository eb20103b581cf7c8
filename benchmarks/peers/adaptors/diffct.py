"""diffct: PyTorch with Numba's CUDA."""
import numpy as np

from ..peer import Adaptor, Job, LeftOut


class Peer(Adaptor):
    name, package = "diffct", "diffct"

    def start(self):
        if self.place.on_gpu:
            self.place.arrays()  # loads the CUDA libraries
        import torch

        import diffct
        self.torch, self.diffct, self.device = torch, diffct, "cuda" if self.place.on_gpu else "cpu"
        self.arrays = self.place.arrays()

    def _trajectory(self, scan):
        if scan.kind in ("parallel", "fan"):
            raise LeftOut("scans here are cones")
        row = scan.vectors
        unit = lambda step: step / np.linalg.norm(step, axis=1, keepdims=True)
        parts = row[:, :3], row[:, 3:6], unit(row[:, 6:9]), unit(row[:, 9:])
        return tuple(self._tensor(part) for part in parts)

    def _tensor(self, values):
        return self.torch.from_numpy(np.ascontiguousarray(values, np.float32)).to(self.device)

    def _projector(self, scan):
        return self.diffct.Projector(self._trajectory(scan), scan.grid.shape, scan.shape[:0:-1], detector_spacing=scan.pixel,
                                     voxel_spacing=scan.spacing)

    def _run(self, call, result, group, name, arrays):
        kept = []

        def run(*iterations):
            kept[:] = [call(*iterations)]
            self.arrays.wait()

        return Job(run, lambda: result(kept[-1].cpu().numpy()), group=group, name=name, arrays=arrays)

    def forward(self, scan):
        projector, x = self._projector(scan), self._tensor(scan.world(scan.volume))
        return [self._run(lambda: projector.project(x), lambda found: found.transpose(0, 2, 1), "siddon", "Projector", self.arrays.kind)]

    def adjoint(self, scan):
        projector, y = self._projector(scan), self._tensor(scan.analytic.transpose(0, 2, 1))
        return [self._run(lambda: projector.backproject(y), scan.world, "matched", "Projector", self.arrays.kind)]

    def fdk(self, scan):
        if not scan.circular:
            raise LeftOut("fdk() here is of circles")
        trajectory = self._trajectory(scan)

        def call():
            stack = self._tensor(scan.analytic.transpose(0, 2, 1))
            return self.diffct.fdk(stack, trajectory, scan.grid.shape, self._tensor(scan.angles), detector_spacing=scan.pixel,
                                   voxel_spacing=scan.spacing, short_scan="short" in scan.kind).cpu()

        return [self._run(call, scan.world, "", "fdk", "host")]

    def iterative(self, scan):
        projector, y = self._projector(scan), self._tensor(scan.projections.transpose(0, 2, 1))
        sirt = lambda n: self.diffct.sirt(projector, y, n, nonnegative=False).volume
        cgls = lambda n: self.diffct.cgls(projector, y, n, rtol=0).volume
        return [self._run(call, scan.world, name, name, self.arrays.kind) for name, call in (("sirt", sirt), ("cgls", cgls))]
