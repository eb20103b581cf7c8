"""Sparse matrices: SciPy's on processors, cuSPARSE by CuPy on GPUs. Weights are those of ASTRA's linear projector."""
import numpy as np

from ..peer import Adaptor, Job
from .astra import Peer as Astra


class Peer(Adaptor):
    name, package = "SciPy", "scipy"

    def start(self):
        self.astra = Astra(self.place)
        if self.place.on_gpu:
            self.name, self.package = "cuSPARSE (CuPy)", "cupy-cuda13x"
            self.arrays = self.place.arrays("cupy")
            from cupyx.scipy.sparse import csr_matrix
        else:
            self.arrays = self.place.arrays()
            from scipy.sparse import csr_matrix
        self.csr = csr_matrix

    def matrix(self, scan):
        projector = self.astra._slice_geometry(scan, "linear")[2]
        weights = self.astra.astra.matrix.get(self.astra.astra.projector.matrix(projector)).astype(np.float32)
        a, transposed = self.csr(weights.tocsr()), self.csr(weights.T.tocsr())
        x = self.arrays.array(scan.volume.reshape(scan.slices, -1).T)
        size = a.shape[0] // scan.columns, scan.columns
        result = lambda found: self.arrays.host(found).T.reshape(scan.slices, *size).transpose(1, 0, 2)
        back = lambda found: self.arrays.host(found).T.reshape(scan.grid.shape)
        return [self._job(lambda: a @ x, result, "A"), self._job(lambda: transposed @ (a @ x), back, "A, A^T")]

    def _job(self, product, result, group):
        kept = []

        def run():
            kept[:] = [product()]
            self.arrays.wait()

        return Job(run, lambda: result(kept[-1]), name="csr_matrix, float32", group=group, arrays=self.arrays.kind)
