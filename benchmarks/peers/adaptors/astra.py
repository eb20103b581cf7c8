"""ASTRA Toolbox: 3D algorithms with CUDA, 2D projectors on processors."""
import numpy as np

from ..peer import Adaptor, Job, LeftOut
from ..scan import SDD, SID

MODELS = {"parallel": {"linear": "joseph", "line": "siddon", "strip": "footprint"}, "fan": {"line_fanflat": "siddon"}}


class Peer(Adaptor):
    name, package = "ASTRA", "astra-toolbox"

    def start(self):
        if self.place.on_gpu:
            self.arrays = self.place.arrays()  # loads the CUDA libraries
        import astra
        import astra.experimental
        self.astra = astra
        if self.place.on_gpu and not astra.use_cuda():
            raise LeftOut("ASTRA finds no CUDA device")

    def _cone(self, scan, bounds=None, shape=None):
        """Geometries of the volume and the rays, and a projector, which lie with z along the axis."""
        self.place.require_gpu()
        across, along = scan.half
        lower, upper = bounds or ((-across, -across, -along), (across, across, along))
        k, j, i = shape or (scan.slices, scan.n, scan.n)
        grid = self.astra.create_vol_geom(j, i, k, lower[0], upper[0], lower[1], upper[1], lower[2], upper[2])
        if scan.kind == "cone":  # as FDK takes it
            angles = np.radians(scan.degrees)
            rays = self.astra.create_proj_geom("cone", *scan.pixel, *scan.shape[1:], angles, SID, SDD - SID)
        else:
            kind = "parallel3d_vec" if scan.kind == "parallel" else "cone_vec"
            rays = self.astra.create_proj_geom(kind, *scan.shape[1:], scan.vectors)
        return grid, rays, self.astra.create_projector("cuda3d", rays, grid)

    def _product(self, scan, forward, bounds=None, shape=None):
        projector = self._cone(scan, bounds, shape)[2]
        volume = self.arrays.array(scan.world(scan.volume)) if forward else self.arrays.zeros(shape or scan.grid.shape)
        stack = np.swapaxes(scan.analytic, 0, 1)  # row, view, column
        stack = self.arrays.zeros(stack.shape) if forward else self.arrays.array(stack)
        call = self.astra.experimental.direct_FP3D if forward else self.astra.experimental.direct_BP3D

        def run():
            call(projector, volume, stack)
            self.arrays.wait()

        result = lambda: np.swapaxes(self.arrays.host(stack), 0, 1) if forward else scan.world(self.arrays.host(volume))
        return Job(run, result, group="joseph" if forward else "voxel", name="FP3D_CUDA" if forward else "BP3D_CUDA", arrays="device")

    def forward(self, scan):
        return [self._product(scan, True)] if self.place.on_gpu else [self._slice(scan, "FP", model) for model in self._models(scan)]

    def adjoint(self, scan):
        return [self._product(scan, False)] if self.place.on_gpu else [self._slice(scan, "BP", model) for model in self._models(scan)]

    def patches(self, scan):
        return [self._product(scan, False, scan.bounds, scan.edges)]

    def _models(self, scan):
        if scan.kind not in MODELS or scan.slices > 1:
            raise LeftOut("on processors it has 2D projectors alone")
        return MODELS[scan.kind]

    def _slice_geometry(self, scan, model):
        half = scan.half[0]
        grid = self.astra.create_vol_geom(scan.n, scan.n, -half, half, -half, half)
        vectors = np.ascontiguousarray(scan.vectors[:, [0, 1, 3, 4, 6, 7]])
        rays = self.astra.create_proj_geom("fanflat_vec" if scan.kind == "fan" else "parallel_vec", scan.columns, vectors)
        return grid, rays, self.astra.create_projector(model, rays, grid)

    def _slice(self, scan, algorithm, model, values=None, name=""):
        """A 2D algorithm on one core."""
        data, forward = self.astra.data2d, algorithm == "FP"
        grid, rays, projector = self._slice_geometry(scan, model)
        volume = data.create("-vol", grid, scan.volume[0] if forward else 0)
        stack = data.create("-sino", rays, 0 if forward else (scan.analytic if values is None else values)[:, 0])
        config = self.astra.astra_dict(algorithm)
        config.update(ProjectorId=projector, ProjectionDataId=stack)
        config["VolumeDataId" if forward else "ReconstructionDataId"] = volume
        group = MODELS[scan.kind][model] if forward else "matched" if algorithm == "BP" else algorithm.lower()

        def run(iterations=1):
            if not forward:
                data.store(volume, 0)
            job = self.astra.algorithm.create(config)
            self.astra.algorithm.run(job, iterations)
            self.astra.algorithm.delete(job)

        return Job(run, lambda: data.get(stack)[:, None] if forward else data.get(volume)[None], group=group, name=name or model)

    def _algorithm(self, scan, algorithm, values, group=""):
        """A 3D algorithm, host to host."""
        grid, rays, projector = self._cone(scan)
        data, kept = self.astra.data3d, []

        def run(iterations=1):
            stack = data.create("-sino", rays, np.ascontiguousarray(values.transpose(1, 0, 2)))
            volume = data.create("-vol", grid, 0)
            config = self.astra.astra_dict(algorithm)
            config.update(ProjectorId=projector, ProjectionDataId=stack, ReconstructionDataId=volume)
            job = self.astra.algorithm.create(config)
            self.astra.algorithm.run(job, iterations)
            kept[:] = [data.get(volume)]
            self.astra.algorithm.delete(job)
            data.delete([stack, volume])

        return Job(run, lambda: scan.world(kept[-1]), group=group, name=algorithm)

    def fdk(self, scan):
        if scan.kind != "cone":
            raise LeftOut("FDK_CUDA is of full circles alone")
        return [self._algorithm(scan, "FDK_CUDA", scan.analytic)]

    def iterative(self, scan):
        if self.place.on_gpu:
            return [self._algorithm(scan, f"{name}3D_CUDA", scan.projections, name.lower()) for name in ("SIRT", "CGLS")]
        self._models(scan)
        model = "linear" if scan.kind == "parallel" else "line_fanflat"
        return [self._slice(scan, name, model, scan.projections, name) for name in ("SIRT", "CGLS")]

    def matrix(self, scan):
        if not self.place.on_gpu:
            raise LeftOut("on processors its matrix is the sparse peer's")
        direct, projector = self.astra.experimental, self._cone(scan)[2]
        x, y = self.arrays.array(scan.world(scan.volume)), self.arrays.zeros((scan.slices, scan.shape[0], scan.columns))
        z = self.arrays.zeros(scan.grid.shape)

        def forward():
            direct.direct_FP3D(projector, x, y)
            self.arrays.wait()

        def both():
            direct.direct_FP3D(projector, x, y)
            direct.direct_BP3D(projector, z, y)
            self.arrays.wait()

        stack, volume = lambda: np.swapaxes(self.arrays.host(y), 0, 1), lambda: scan.world(self.arrays.host(z))
        return [Job(forward, stack, name="FP3D_CUDA", group="A", arrays="device"),
                Job(both, volume, name="FP3D_CUDA, BP3D_CUDA", group="A, A^T", arrays="device")]
