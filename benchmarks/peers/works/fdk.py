"""FDK from projections in host memory to the volume in host memory."""
from ..scan import CONES, MU, Scan, rms
from ..work import Work


class Fdk(Work):
    name = "fdk"
    title = "FDK, host to host"
    note = "Errors: root mean squares from the phantom within 0.6 of its radius, over its value."
    sizes = (64,), (256,)
    kinds = ("cone",)
    counts_lines = True

    def scans(self):
        return tuple(CONES)

    def problems(self, options, place):
        for size in options.sizes(self, place):
            for kind in options.kinds(self):
                yield Scan(kind, size, options.views or 2 * size)

    def judged(self, values, scan):
        inside = scan.inside(0.6)
        return {"error": rms(values[inside], scan.volume[inside], MU)}


WORKS = [Fdk()]
