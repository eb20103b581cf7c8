"""Back-projection of one row or many to a box of voxels, from arrays on the device to an array there, as a layer of a network."""
import numpy as np

from ..scan import Scan, fitted
from ..work import Work


class PatchScan(Scan):
    """A fan beam of n columns and a patch of n^2 pixels, or a cone beam and a patch of n^3 voxels, beside the middle.

    box: the patch's Grid. first: its first voxel (k, j, i) of the scan's grid.
    """

    def __init__(self, kind, n, views):
        super().__init__(kind, 2 * n, views, 1, n if kind == "fan" else 2 * n)
        edge = n if kind == "cone" else 1
        self.first, self.edges = (0 if edge == 1 else n // 2, n // 3, n // 2), (edge, n, n)
        parts = tuple(slice(begin, begin + size) for begin, size in zip(self.first, self.edges))
        self.box = self.geometry.grid_of(self.grid)[parts]
        self.patch = self.backprojection[parts]

    @property
    def label(self):
        k, j, i = self.edges
        return f"{self.kind}, {self.shape[0]} views of {self.shape[1]} x {self.shape[2]} to {i} x {j} x {k}"

    @property
    def bounds(self):
        """Lower and upper ends of the patch in the world (x, y, z), mm; y grows against j."""
        (k, j, i), (nk, nj, ni) = self.first, self.edges
        lower = np.array([i, self.n - j - nj, k]) * self.spacing
        upper = lower + np.array([ni, nj, nk]) * self.spacing
        half = np.array([self.half[0], self.half[0], self.half[1]])
        return lower - half, upper - half


class Patches(Work):
    name = "patches"
    title = "Back-projection to a patch"
    note = "Unfiltered, by voxels. Errors as of back-projection. Graas et al. (2024) have 250 x 250 from 1000 views."
    sizes = (32,), (50, 250)
    kinds = ("fan", "cone")

    def problems(self, options, place):
        for size in options.sizes(self, place):
            for kind in options.kinds(self):
                n = size if kind == "fan" or options.size else max(8, size // 3)
                yield PatchScan(kind, n, options.views or (1000 if place.on_gpu else 4 * size))

    def judged(self, values, scan):
        error, factor = fitted(np.asarray(values), scan.patch)
        return {"error": error, "detail": f"factor {factor:.3g}"}


WORKS = [Patches()]
