"""ToMoBAR: slices of a parallel beam by ASTRA, and total variation, with CuPy."""
import numpy as np

from ..peer import Adaptor, Job, LeftOut
from .ccpi import total_variation


class Peer(Adaptor):
    name, package = "ToMoBAR", "tomobar"

    def start(self):
        self.place.require_gpu()
        self.place.arrays()  # loads the CUDA libraries
        self.arrays = self.place.arrays("cupy")
        from tomobar import regularisersCuPy
        from tomobar.methodsIR_CuPy import RecToolsIRCuPy
        self.tools, self.regularisers = RecToolsIRCuPy, regularisersCuPy

    def iterative(self, scan):
        if scan.kind != "parallel" or abs(scan.pixel[0] / scan.spacing - 1) > 1e-6:
            raise LeftOut("scans are parallel beams with pixels as large as voxels")
        return [self._solver(scan, method) for method in ("sirt", "cgls")]

    def _solver(self, scan, method):
        tools = self.tools(scan.columns, 0, scan.slices, 0.0, np.radians(scan.degrees), scan.n, 0)
        stack, kept = self.arrays.array(np.swapaxes(scan.projections, 0, 1) / scan.spacing), []

        def run(iterations):
            data = {"projection_data": stack, "data_axes_labels_order": ["detY", "angles", "detX"]}
            kept[:] = [getattr(tools, method.upper())(data, {"iterations": iterations, "recon_mask_radius": 2.0, "nonnegativity": False})]
            self.arrays.wait()

        return Job(run, lambda: scan.world(self.arrays.host(kept[-1])), group=method, name=method.upper(), arrays="device")

    def denoise(self, problem):
        return total_variation(self.arrays, problem, self.regularisers.PD_TV_cupy, self.regularisers.ROF_TV_cupy)
