"""Seconds of an iteration of solvers, from the difference of two runs, and what they have reached."""
from ..scan import KINDS, MU, Scan, rms
from ..work import Work


class Iterative(Work):
    name = "iterative"
    title = "Iterative reconstruction, an iteration"
    note = ("Seconds of an iteration: the difference of two runs, over that of their iterations, so that set-up does not count. "
            "Projections are those of the phantom's voxels by Joseph's projector. Errors: root mean squares from these voxels after the "
            "longer run, over the phantom's value; residual: ||A x - b|| / ||b|| by Joseph's projector for all.")
    sizes = (32,), (256,)
    kinds = ("cone", "parallel")
    counts_lines = True

    def scans(self):
        return KINDS

    def problems(self, options, place):
        for size in options.sizes(self, place):
            for kind in options.kinds(self):
                larger = 4 if kind == "parallel" and not options.size else 1
                yield Scan(kind, larger * size, options.views or larger * size, options.slices[0], wide=1.1)

    def prepare(self, job, scan, place):
        job.run(place.iterations)
        values = job.result()
        return {"error": rms(values, scan.volume, MU), "detail": f"residual {scan.residual(values):.2e}", "iterations": place.iterations}

    def counts(self, job, place):
        return [(place.iterations,), (place.fewer,)]


WORKS = [Iterative()]
