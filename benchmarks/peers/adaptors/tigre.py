"""TIGRE: CUDA. Version 3.3 takes arrays on the GPU; before, arrays are in host memory."""
import numpy as np

from ..peer import Adaptor, Job, LeftOut
from ..place import HostArrays
from ..scan import SDD, SID

METHODS = {"sirt": "sirt", "cgls": "cgls", "os-sart": "ossart"}


class Peer(Adaptor):
    name, package = "TIGRE", "tigre"

    def start(self):
        self.place.require_gpu()
        self.arrays = self.place.arrays()  # loads the CUDA libraries
        import tigre
        import tigre.algorithms
        from tigre.utilities.gpu import GpuIds
        self.tigre, self.one = tigre, GpuIds()[0]
        major, minor = (self.version() or "0.0").split(".")[:2]
        if (int(major), int(minor)) < (3, 3):
            self.arrays = HostArrays()

    def _geometry(self, scan):
        if not scan.circular or scan.kind == "fan":
            raise LeftOut("scans here are circular ones of cones or parallel beams")
        shape = np.array(scan.grid.shape)
        if scan.kind == "parallel":
            geometry = self.tigre.geometry(mode="parallel", nVoxel=shape)
        else:
            geometry = self.tigre.geometry(mode="cone")
            geometry.DSO, geometry.DSD = SID, SDD
        geometry.nVoxel, geometry.dVoxel = shape, np.full(3, scan.spacing)
        geometry.nDetector, geometry.dDetector = np.array(scan.shape[1:]), np.array(scan.pixel[::-1])
        geometry.sVoxel, geometry.sDetector = geometry.nVoxel * geometry.dVoxel, geometry.nDetector * geometry.dDetector
        geometry.offOrigin, geometry.offDetector, geometry.accuracy = np.zeros(3), np.zeros(2), 0.5
        return geometry, scan.angles.astype(np.float32)

    def _product(self, scan, call, values, name, group, back):
        geometry, angles = self._geometry(scan)
        given, kept = self.arrays.array(values), []

        def run():
            kept[:] = [call(given, geometry, angles, name, gpuids=self.one)]
            self.arrays.wait()

        result = lambda: back(self.arrays.host(kept[-1]))
        return Job(run, result, group=group, name=name, arrays=self.arrays.kind)

    def forward(self, scan):
        models = {"Siddon": "siddon", "interpolated": "joseph"}
        return [self._product(scan, self.tigre.Ax, scan.world(scan.volume), *each, lambda values: values) for each in models.items()]

    def adjoint(self, scan):
        models = {"FDK": "voxel", "matched": "matched"}
        jobs = [self._product(scan, self.tigre.Atb, scan.analytic, *each, scan.world) for each in models.items()]
        for job in jobs:
            job.note = "weighted for FDK" if job.name == "FDK" else ""
        return jobs

    def fdk(self, scan):
        geometry, angles = self._geometry(scan)
        kept = []

        def run():
            kept[:] = [self.tigre.algorithms.fdk(scan.analytic, geometry, angles, gpuids=self.one)]

        return [Job(run, lambda: scan.world(kept[-1]), name="fdk")]

    def iterative(self, scan):
        return [self._solver(scan, method, name) for method, name in METHODS.items()]

    def _solver(self, scan, method, name):
        geometry, angles = self._geometry(scan)
        kept, extra = [], {"blocksize": max(1, len(angles) // 10)} if method == "os-sart" else {}
        call = getattr(self.tigre.algorithms, name)

        def run(iterations):
            kept[:] = [call(scan.projections, geometry, angles, iterations, gpuids=self.one, **extra)]

        return Job(run, lambda: scan.world(kept[-1]), group=method, name=name)

    def denoise(self, problem):
        from tigre.utilities.im_3d_denoise import im3ddenoise
        kept, span = [], float(np.ptp(problem.f))  # it takes grey values from 0 to 1

        def run(iterations):
            kept[:] = [im3ddenoise(problem.f.copy(), iterations, problem.alpha * span, self.one)]

        return [Job(run, lambda: kept[-1], name="im3ddenoise")]

    def descent(self, problem):
        from _minTV import minTV
        kept, step = [], 0.005 * problem.f.size**0.5

        def run(iterations):
            kept[:] = [minTV(problem.f, step, iterations, self.one)]

        return [Job(run, lambda: kept[-1], name="minTV")]
