"""A x and its adjoint, of arrays where the peer takes them: on the device if it can."""
from ..scan import KINDS, Scan, fitted, rms
from ..work import Work


class Forward(Work):
    name = "forward"
    title = "Forward projection"
    note = ("Errors: root mean squares from the phantom's exact line integrals, over the largest of them. Jobs are compared with ours of "
            "the same ray model.")
    sizes = (64,), (256,)
    kinds = ("cone", "parallel", "fan")

    def scans(self):
        return KINDS

    def problems(self, options, place):
        for size in options.sizes(self, place):
            for kind in options.kinds(self):
                larger = 4 if kind in ("parallel", "fan") and not options.size else 1  # a slice has little work
                yield Scan(kind, larger * size, options.views or larger * size, options.slices[0])

    def judged(self, values, scan):
        return {"error": rms(values, scan.analytic, scan.analytic.max())}


class Adjoint(Forward):
    name = "adjoint"
    title = "Back-projection"
    note = ("Errors: root mean squares from the sum of the views at each voxel with linear interpolation, over its largest value, after "
            "the factor that fits best: packages weigh it differently. Corners of slices do not count. voxel: by voxels; others: the "
            "adjoint of the ray model, matched of interpolating ones.")

    def judged(self, values, scan):
        error, factor = fitted(values * scan.cylinder(), scan.backprojection * scan.cylinder())
        return {"error": error, "detail": f"factor {factor:.3g}"}


WORKS = [Forward(), Adjoint()]
