"""KernelKit (astra-kernelkit): CuPy."""
import numpy as np

from ..peer import Adaptor, Job, LeftOut


class Peer(Adaptor):
    name, package = "KernelKit", "astra-kernelkit"

    def start(self):
        self.place.require_gpu()
        self.arrays = self.place.arrays("cupy")
        import kernelkit
        self.kit = kernelkit

    def _geometry(self, scan, bounds=None, shape=None):
        if scan.kind == "parallel":
            raise LeftOut("scans here are cones")
        detector = self.kit.Detector(*scan.shape[1:], *scan.pixel[::-1])
        rays = [self.kit.ProjectionGeometry(row[:3], row[3:6], detector, row[6:9] / np.linalg.norm(row[6:9]),
                                            row[9:] / np.linalg.norm(row[9:])) for row in scan.vectors]
        across, along = scan.half
        lower, upper = bounds or ((-across, -across, -along), (across, across, along))
        k, j, i = shape or scan.grid.shape
        return rays, self.kit.VolumeGeometry((i, j, k), (scan.spacing,) * 3, lower, upper)

    def _product(self, scan, forward, bounds=None, shape=None):
        operator = self.kit.XrayTransform(*self._geometry(scan, bounds, shape), volume_axes=(2, 1, 0))
        given = self.arrays.array(scan.world(scan.volume) if forward else scan.analytic)
        out = self.arrays.zeros(scan.shape if forward else shape or scan.grid.shape)
        call = operator if forward else operator.T

        def run():
            call(given, out)
            self.arrays.wait()

        result = lambda: self.arrays.host(out) if forward else scan.world(self.arrays.host(out))
        return Job(run, result, group="joseph" if forward else "voxel", name="XrayTransform", arrays="device")

    def forward(self, scan):
        return [self._product(scan, True)]

    def adjoint(self, scan):
        return [self._product(scan, False)]

    def patches(self, scan):
        return [self._product(scan, False, scan.bounds, scan.edges)]

    def fdk(self, scan):
        if not scan.circular or scan.kind == "short":
            raise LeftOut("fdk() is of full circles alone")
        rays, volume = self._geometry(scan)
        kept = []

        def run():
            kept[:] = [self.kit.fdk(scan.analytic, rays, volume)]

        return [Job(run, lambda: scan.world(kept[-1].transpose(2, 1, 0)), name="fdk")]

    def iterative(self, scan):
        rays, volume = self._geometry(scan)
        kept = []

        def run(iterations):
            kept[:] = [self.kit.sirt(scan.projections, rays, volume, iterations, verbose=False)]

        return [Job(run, lambda: scan.world(np.asarray(kept[-1]).transpose(2, 1, 0)), group="sirt", name="sirt")]
