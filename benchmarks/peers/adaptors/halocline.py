"""Halocline itself, by its Python package."""
import warnings

import numpy as np

import halocline as hc

from ..peer import Adaptor, Job, LeftOut

MODELS = {"joseph": "joseph", "siddon": "siddon", "distance-driven": "footprint"}


class Peer(Adaptor):
    name, own = "Halocline", True

    def start(self):
        warnings.simplefilter("ignore", hc.HaloclineWarning)
        hc.set_device(self.place.device)

    def version(self):
        return hc.__version__

    def forward(self, scan):
        jobs = []
        for projector, group in MODELS.items():
            on = hc.Context(scan.geometry, scan.grid, projector=projector)
            jobs.append(replayed(on, on.operator, on.array(scan.volume, on.volume), projector, group))
        return jobs

    def adjoint(self, scan):
        matched = []
        for projector, group in MODELS.items():
            on = hc.Context(scan.geometry, scan.grid, projector=projector)
            matched.append(replayed(on, on.operator.T, on.array(scan.analytic, on.projections), projector,
                                    "matched" if projector == "joseph" else group))
        try:
            (y, out), queue = self._on_device(scan.analytic, np.zeros(scan.grid.shape, np.float32))
        except LeftOut as reason:
            return matched, [f"by voxels: {reason}"]

        def by_voxels(name, **options):
            def run():
                hc.backproject(y, scan.geometry, scan.grid, projector="voxel", out=out, **options)
                queue.finish()

            return Job(run, out.get, group="voxel", name=name, arrays="device")

        textures = [by_voxels("voxel, textures", interpolation="hardware")] if self.place.on_gpu else []
        return [*matched, by_voxels("voxel"), *textures]

    def fdk(self, scan):
        kept = []
        return [Job(lambda: keep(kept, hc.fdk(scan.analytic, scan.geometry, scan.grid)), lambda: kept[-1], name="fdk")]

    def iterative(self, scan):
        return [self._solver(scan, method) for method in ("sirt", "cgls", "os-sart")]

    def _solver(self, scan, method):
        kept = []
        run = lambda n: keep(kept, hc.reconstruct(scan.projections, scan.geometry, scan.grid, method=method, iterations=n))
        return Job(run, lambda: kept[-1], group=method, name=method)

    def denoise(self, problem):
        kept = []
        run = lambda n, gap=0: keep(kept, hc.denoise(problem.f, 1.0, alpha=problem.alpha, iterations=n, gap=gap))
        return [Job(run, lambda: kept[-1], name="pdu"),
                Job(lambda gap: run(5000, gap), lambda: kept[-1], name="pdu, by its certificate", setting=problem.target)]

    def descent(self, problem):
        kept = []
        run = lambda n: keep(kept, hc.denoise(problem.f, 1.0, method="tvgd", iterations=n, step=0.005, target_fidelity=1e9))
        return [Job(run, lambda: kept[-1], name="tvgd")]

    def patches(self, scan):
        (y, out), _ = self._on_device(scan.analytic, np.zeros(int(np.prod(scan.edges)), np.float32))
        patches = hc.Patches(scan.geometry, scan.grid, [scan.box], like=y)

        def run():
            patches.backproject(y, out)

        return [Job(run, lambda: out.get().reshape(scan.edges), name="Patches", arrays="device")]

    def _on_device(self, *values):
        """Arrays of PyOpenCL, and their queue."""
        try:
            import pyopencl
            import pyopencl.array
        except ImportError as error:
            raise LeftOut(f"arrays on the device need PyOpenCL: {error}") from None
        devices = [each for platform in pyopencl.get_platforms() for each in platform.get_devices()]
        queue = pyopencl.CommandQueue(pyopencl.Context([next(each for each in devices if self.place.name in each.name)]))
        return [pyopencl.array.to_device(queue, each) for each in values], queue

    def matrix(self, scan):
        jobs, reasons = [], []
        for operator in ("rays", "matrix", "matrix-half", "symmetric"):
            try:
                on = hc.Context(scan.geometry, scan.grid, operator=operator)
            except hc.Error as error:
                reasons.append(f"{operator}: {error}")
                continue
            x = on.array(scan.volume, on.volume)
            jobs.append(replayed(on, on.operator, x, operator, "A"))
            jobs.append(replayed(on, lambda x, A=on.operator: A.T(A(x)), x, operator, "A, A^T"))
        return jobs, reasons


def keep(kept, values):
    kept[:] = [values]


def replayed(on, function, x, name, group):
    """A job of one context's kernels, launched again and again."""
    job = on.record(lambda: function(x))

    def run():
        job.replay()
        on.wait()

    return Job(run, lambda: job.result.get(), name=name, group=group, arrays="device")
