"""LEAP (leapct): CUDA, or processors."""
import numpy as np

from ..peer import Adaptor, Job, LeftOut
from ..scan import SDD, SID


class Peer(Adaptor):
    name, package = "LEAP", "leapct"

    def start(self):
        self.arrays = self.place.arrays()  # loads the CUDA libraries
        import leapctype
        self.leap = leapctype.tomographicModels()
        if self.leap.libprojectors is None:
            raise LeftOut("its library is not beside leapctype.py")

    def version(self):
        return str(self.leap.version())

    def _set(self, scan, on_host=False):
        """The geometry; arrays in host memory may be computed on the GPU all the same."""
        if not scan.circular:
            raise LeftOut("scans here are circular ones")
        leap, (views, rows, columns) = self.leap, scan.shape
        detector = views, rows, columns, scan.pixel[1], scan.pixel[0], 0.5 * (rows - 1), 0.5 * (columns - 1)
        phis = np.ascontiguousarray(np.degrees(scan.angles) + TURN, np.float32)
        if scan.kind == "parallel":
            leap.set_parallelbeam(*detector, phis)
        else:
            (leap.set_fanbeam if scan.kind == "fan" else leap.set_conebeam)(*detector, phis, SID, SDD)
        leap.set_volume(scan.n, scan.n, scan.slices, scan.spacing, scan.spacing)
        leap.set_diameterFOV(scan.n * scan.spacing)  # a larger one breaks its projector on processors
        leap.set_gpu(0 if self.place.on_gpu else -1)
        return leap

    def _product(self, scan, forward):
        volume = self.arrays.array(scan.world(scan.volume)) if forward else self.arrays.zeros(scan.grid.shape)
        stack = self.arrays.zeros(scan.shape) if forward else self.arrays.array(scan.analytic)
        self._set(scan)

        def run():
            leap = self._set(scan)
            (leap.project if forward else leap.backproject)(stack, volume)
            self.arrays.wait()

        result = lambda: self.arrays.host(stack) if forward else scan.world(self.arrays.host(volume))
        return Job(run, result, group="footprint", name="SF", arrays=self.arrays.kind)

    def forward(self, scan):
        return [self._product(scan, True)]

    def adjoint(self, scan):
        return [self._product(scan, False)]

    def fdk(self, scan):
        kept = []
        self._set(scan)

        def run():
            kept[:] = [self._set(scan).FBP(np.array(scan.analytic, np.float32))]

        return [Job(run, lambda: scan.world(np.asarray(kept[-1])), name="FBP")]

    def iterative(self, scan):
        self._set(scan)
        return [self._solver(scan, *each) for each in (("sirt", "SIRT", ()), ("cgls", "LS", ()), ("os-sart", "SART", (10,)))]

    def _solver(self, scan, method, name, extra):
        kept = []

        def run(iterations):
            volume = np.zeros(scan.grid.shape, np.float32)
            kept[:] = [getattr(self._set(scan), name)(np.array(scan.projections, np.float32), volume, iterations, *extra)]

        return Job(run, lambda: scan.world(np.asarray(kept[-1])), group=method, name=name)

    def denoise(self, problem):
        self.place.require_gpu()
        kept = []

        def run(iterations):
            kept[:] = [self.leap.TV_denoise(problem.f.copy(), 0.0, 1 / problem.alpha, iterations, 1.0)]

        return [Job(run, lambda: np.asarray(kept[-1]), name="TV_denoise", setting=100, note="anisotropic")]


TURN = 90  # its angle 0 against that of the source on +x, degrees
