"""A x and A^T y of slices in a parallel beam by a stored system matrix, and by rays: Nourazar & Goossens (2021)."""
import functools

import halocline as hc

from ..scan import Scan, relative
from ..work import Work


class MatrixScan(Scan):
    """Half a turn; the detector is as wide as the slice. Defaults of views and columns are the paper's."""

    def __init__(self, n, views, columns, slices):
        super().__init__("parallel", n, views, slices, columns, wide=1.1, first=0)

    @property
    def projections(self):
        return self.rays[0]

    @functools.cached_property
    def rays(self):
        """A x of the phantom and A^T of that, ray by ray."""
        on = hc.Context(self.geometry, self.grid, projector="joseph")
        y = on.operator(on.array(self.volume, on.volume))
        return y.get(), on.operator.T(y).get()


class Matrix(Work):
    name = "matrix"
    title = "Products with the system matrix"
    note = ("Seconds of A, and of A and A^T together, of all slices. Errors: ||difference|| over the norm, from Joseph's rays in float32. "
            "Published times are an RTX 2080 Ti's, of a fan beam.")
    sizes = (64,), (256, 512)
    kinds = ("parallel",)

    def problems(self, options, place):
        several = options.slices if options.several_slices else [32, 1] if place.on_gpu else [1]
        for size in options.sizes(self, place):
            views, columns = (720, 512) if place.on_gpu else (180, 2 * size)
            for slices in several:
                yield MatrixScan(size, options.views or views, options.detector or columns, slices)

    def prepare(self, job, scan, place):
        if job.result is None:
            return {"error": None}
        job.run()
        return {"error": relative(job.result(), scan.rays[job.group != "A"])}


WORKS = [Matrix()]
