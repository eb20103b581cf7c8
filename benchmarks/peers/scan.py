"""A scan of the Shepp-Logan phantom, its projections, and errors of what comes of them."""
import functools

import numpy as np

import halocline as hc

DIAMETER, MU, SID, SDD = 120, 0.02, 600.0, 1200.0
# Columns of Geometry.from_views beside the angle: out-of-plane 3, in-plane 4, source offset 5, 6, detector offset 7, 8.
CONES = {"cone": {}, "tilted": {3: 4, 4: 3}, "offset": {7: 6, 8: -4, 5: 5}, "short": {}, "short-tilted": {3: 2, 4: 2}, "displaced": {7: 40}}
SLICES = ("parallel", "fan")
KINDS = (*CONES, *SLICES)
SHORT_ARC = 220


class Scan:
    """kind: one of KINDS. Cones have n^3 voxels and n^2 pixels; beams of slices n^2 pixels of each of `slices`, and a detector row on each.

    columns: of beams of slices, with `wide`, the detector's width in diameters of the phantom, and `first`, their first angle in degrees.
    grid, geometry: Halocline's. vectors: ASTRA's, 12 a view. Volumes are (k, j, i); world() gives (z, y, x) with growing coordinates, which
    is how packages whose axis is z store them.
    """

    def __init__(self, kind, n, views, slices=1, columns=None, wide=1.2, first=5.7):
        self.kind, self.n, self.slices = kind, n, n if kind in CONES else slices
        self.spacing = 1.1 * DIAMETER / n
        arc = SHORT_ARC if "short" in kind else 180 if kind == "parallel" else 360
        self.degrees = (0.0 if kind in CONES else first) + np.arange(views) * arc / views
        rows = np.zeros((views, 9))
        rows[:, 0], rows[:, 1], rows[:, 2] = SID, 0 if kind == "parallel" else SDD, self.degrees
        for column, value in CONES.get(kind, {}).items():
            rows[:, column] = value
        self.columns = columns or n
        margin = 1.1 if kind in ("cone", "short") else 1.45  # pixels at the axis are as large as voxels, or the detector has room to move
        width = 2 * margin * DIAMETER if kind in CONES else wide * DIAMETER * (2 if kind == "fan" else 1)
        self.pixel = width / self.columns, self.spacing if kind in SLICES else width / self.columns  # columns, rows
        self.geometry = hc.Geometry.from_views(rows, (self.slices, self.columns), self.pixel[::-1])
        self.grid = hc.Grid((self.slices, n, n), self.spacing)
        self.vectors = np.asarray(self.geometry.to_astra()["Vectors"])
        self.circular = kind in ("cone", "short", *SLICES)

    @property
    def label(self):
        size = f"{self.n}^3" if self.kind in CONES else f"{self.n}^2" + (f" x {self.slices}" if self.slices > 1 else "")
        return f"{self.kind}, {size}, {len(self.degrees)} views of {self.slices} x {self.columns}"

    @property
    def short(self):
        return f"{self.kind} {self.n}"

    @property
    def shape(self):
        """Views, rows, columns."""
        return self.geometry.shape

    @property
    def half(self):
        """Half of the volume's edge across the axis and along it, mm."""
        return 0.5 * self.n * self.spacing, 0.5 * self.slices * self.spacing

    @property
    def angles(self):
        """Radians from +x to the source, counter-clockwise."""
        return np.radians(self.degrees - 90)

    @staticmethod
    def world(volume):
        return np.ascontiguousarray(volume[:, ::-1])

    @functools.cached_property
    def volume(self):
        return hc.phantom("shepp-logan-hc", self.grid, phantom_size=DIAMETER, mu=MU).array

    @functools.cached_property
    def analytic(self):
        """The phantom's exact line integrals."""
        found = hc.run("project", phantom="shepp-logan-hc", phantom_size=DIAMETER, mu=MU, geometry=self.geometry, output=True)
        return found.outputs["output"].array

    @functools.cached_property
    def projections(self):
        """Line integrals of the voxels, by Joseph's projector."""
        return hc.project(self.volume, self.geometry, self.grid, projector="joseph")

    @functools.cached_property
    def backprojection(self):
        """Sum of the views at each voxel, interpolated linearly."""
        return hc.backproject(self.analytic, self.geometry, self.grid, projector="voxel")

    def _places(self):
        at = lambda count: (np.arange(count) - 0.5 * (count - 1)) * self.spacing
        return np.meshgrid(at(self.slices), at(self.n), at(self.n), indexing="ij", sparse=True)

    def inside(self, share):
        """Voxels nearer to the middle than `share` of the phantom's radius."""
        k, j, i = self._places()
        return k**2 + j**2 + i**2 < (share * 0.5 * DIAMETER) ** 2

    def cylinder(self):
        """1 within the slices' inner circle, else 0: some packages leave the corners out."""
        _, j, i = self._places()
        return (j**2 + i**2 < self.half[0] ** 2).astype(np.float32)

    def residual(self, volume):
        """||A x - b|| / ||b|| by Joseph's projector."""
        found = hc.project(np.ascontiguousarray(volume, np.float32), self.geometry, self.grid, projector="joseph")
        return relative(found, self.projections)


def relative(found, expected):
    """||found - expected|| / ||expected||."""
    return float(np.linalg.norm((found - expected).astype(np.float64)) / np.linalg.norm(expected.astype(np.float64)))


def rms(found, expected, scale):
    """Root mean square of the difference, over `scale`."""
    return float(np.sqrt(np.mean((found.astype(np.float64) - expected) ** 2)) / scale)


def fitted(found, expected):
    """The error of found times the factor that fits best, and that factor: packages weigh back-projections differently."""
    a, b = found.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    factor = float(a @ b / max(a @ a, 1e-300))
    return rms(factor * a, b, np.abs(b).max()), factor
