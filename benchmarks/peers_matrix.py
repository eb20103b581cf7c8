#!/usr/bin/env python3
"""Products with the system matrix beside ASTRA's projectors on a GPU: tables 4 and 6 of Nourazar & Goossens (2021), from one run.

Needs Python 3.9 and numpy; ASTRA takes part if astra-toolbox (pip install astra-toolbox) and CUDA are there. The beam is parallel over
half a turn, the detector as wide as the slice. Ours is `halocline bench matrix`; of ASTRA, FP3D_CUDA and BP3D_CUDA on arrays that lie on
the GPU, and an iteration of CGLS3D_CUDA, or of CGLS_CUDA for one image: the difference of two runs over that of their iterations. Times
are the best of several runs; ASTRA's are measured after ours for each size. An iteration of ours and of FP + BP is A and A^T, of CGLS all
that it does. The paper's are a fan beam's on an RTX 2080 Ti (616 GB/s): table 4 with its best fragment, 8.32.16, table 6 the forward
projection with symmetry. Its 0.7 ms of 64^2 in table 4 must be a slip of the pen for 0.07.
"""
import argparse
import ctypes
import json
import time

import numpy as np

from harness import Halocline, log, markdown

# By size: table 4, ms an image and iteration: tensor cores, cuSPARSE, CGLS of ASTRA; table 6, ms: tensor cores, cuSPARSE.
PAPER = {64: ((0.07, 0.28, 0.92), (0.10, 0.72)), 128: ((0.11, 0.56, 0.97), (0.19, 0.71)), 256: ((0.22, 1.30, 1.58), (0.44, 1.13)),
         320: ((0.29, 1.73, 2.08), (0.59, 1.23)), 384: ((0.38, 2.16, 3.03), (0.78, 1.55)), 512: ((0.62, 3.12, 4.55), (1.22, 2.10))}
NO_PAPER = ([""] * 3, [""] * 2)
MODES = ["matrix", "matrix-half", "symmetric", "matrix-plain", "slices", "rays"]


class Cuda:
    """Arrays on the GPU by the CUDA runtime that ASTRA has loaded."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            paths = [line.split()[-1] for line in maps if "libcudart" in line]
        if not paths:
            raise ImportError("ASTRA has loaded no libcudart")
        self.library = ctypes.CDLL(paths[0])

    def call(self, name, *arguments):
        error = getattr(self.library, name)(*arguments)
        if error != 0:
            raise SystemExit(f"{name}: CUDA's error {error}")

    def array(self, values):
        pointer = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(values.nbytes))
        self.copy(pointer, ctypes.c_void_p(values.ctypes.data), values.nbytes)
        return pointer

    def values(self, pointer, shape):
        result = np.empty(shape, np.float32)
        self.copy(ctypes.c_void_p(result.ctypes.data), pointer, result.nbytes)
        return result

    def copy(self, to, of, size):
        self.call("cudaMemcpy", to, of, ctypes.c_size_t(size), 4)  # cudaMemcpyDefault

    def wait(self):
        self.call("cudaDeviceSynchronize")

    def free(self, pointer):
        self.call("cudaFree", pointer)


class Astra:
    """ASTRA's projectors. Raises ImportError, which says what is missing."""

    def __init__(self, seconds):
        import astra
        if not astra.use_cuda():
            raise ImportError("ASTRA finds no CUDA device")
        self.astra, self.cuda, self.seconds = astra, Cuda(), seconds

    def measured(self, size, views, columns, slices):
        """Seconds of A, of A^T and of an iteration of CGLS, all slices together."""
        angles = np.pi * np.arange(views) / views
        return (*self.products(size, columns, slices, angles), self.cgls(size, columns, slices, angles))

    def products(self, size, columns, slices, angles):
        astra, cuda = self.astra, self.cuda
        grid = astra.create_vol_geom(size, size, slices)
        rays = astra.create_proj_geom("parallel3d", size / columns, 1.0, slices, columns, angles)
        shape = slices, len(angles), columns
        volume = cuda.array(np.ones((slices, size, size), np.float32))
        stack = cuda.array(np.zeros(shape, np.float32))
        link = lambda kind, geometry, pointer, x, y: astra.data3d.link(
            kind, geometry, astra.data3d.GPULink(pointer.value, x, y, slices, 4 * x))
        data = [link("-vol", grid, volume, size, size), link("-sino", rays, stack, columns, len(angles))]
        forward, adjoint = astra.astra_dict("FP3D_CUDA"), astra.astra_dict("BP3D_CUDA")
        forward.update(VolumeDataId=data[0], ProjectionDataId=data[1])
        adjoint.update(ReconstructionDataId=data[0], ProjectionDataId=data[1])
        jobs = [astra.algorithm.create(forward), astra.algorithm.create(adjoint)]
        astra.algorithm.run(jobs[0])
        edge = max(1, columns // size)  # rays nearer to the edge than a voxel weigh the 0 beyond it
        first = cuda.values(stack, shape)[:, 0, edge:-edge]
        if not np.allclose(first, size, rtol=1e-3):
            raise SystemExit(f"ASTRA's rays along an axis of {size} voxels of 1 have {first.min()} to {first.max()}")
        result = [self.best(lambda: astra.algorithm.run(job)) for job in jobs]
        astra.algorithm.delete(jobs)
        astra.data3d.delete(data)
        cuda.free(volume)
        cuda.free(stack)
        return result

    def best(self, work):
        """Seconds of a call: the least of five runs, each of as many calls as a fifth of --seconds allows."""
        def run(calls):
            self.cuda.wait()
            start = time.perf_counter()
            for _ in range(calls):
                work()
            self.cuda.wait()
            return (time.perf_counter() - start) / calls
        run(1)
        calls = max(1, int(0.2 * self.seconds / run(1)))
        return min(run(calls) for _ in range(5))

    def cgls(self, size, columns, slices, angles, few=5, many=25):
        astra = self.astra
        if slices == 1:
            data, projectors, algorithm = astra.data2d, astra.projector, "CGLS_CUDA"
            grid = astra.create_vol_geom(size, size)
            rays = astra.create_proj_geom("parallel", size / columns, columns, angles)
            projector, shape = astra.create_projector("cuda", rays, grid), (len(angles), columns)
        else:
            data, projectors, algorithm = astra.data3d, astra.projector3d, "CGLS3D_CUDA"
            grid = astra.create_vol_geom(size, size, slices)
            rays = astra.create_proj_geom("parallel3d", size / columns, 1.0, slices, columns, angles)
            projector, shape = astra.create_projector("cuda3d", rays, grid), (slices, len(angles), columns)
        volume, stack = data.create("-vol", grid), data.create("-sino", rays, np.ones(shape, np.float32))
        config = astra.astra_dict(algorithm)
        config.update(ProjectorId=projector, ReconstructionDataId=volume, ProjectionDataId=stack)

        def run(iterations):
            data.store(volume, 0)
            job = astra.algorithm.create(config)
            start = time.perf_counter()
            astra.algorithm.run(job, iterations)
            seconds = time.perf_counter() - start
            astra.algorithm.delete(job)
            return seconds
        run(few)
        best = [min(run(iterations) for _ in range(5)) for iterations in (few, many)]
        data.delete([volume, stack])
        projectors.delete(projector)
        return (best[1] - best[0]) / (many - few)


def measured(run, astra, size, options):
    """Rows for every number of slices: seconds of A and A^T by mode, and ASTRA's."""
    views, columns = options.rays
    words = ["bench", "matrix", "--sizes", size, "--rays", f"{views}x{columns}", "--slices", ",".join(str(n) for n in options.slices),
             "--modes", ",".join(options.modes), "--seconds", options.seconds, "--json"]
    for problem in json.loads(run(*words))["benches"][0]["problems"]:
        row = {"size": size, "slices": problem["slices"], "left_out": problem["left_out"], "modes": problem["modes"],
               "paper": PAPER.get(size, NO_PAPER) if options.rays == [720, 512] else NO_PAPER}
        row["seconds"] = {mode["mode"]: (mode["forward_seconds"], mode["adjoint_seconds"]) for mode in problem["modes"]}
        if astra:
            forward, adjoint, iteration = astra.measured(size, views, columns, problem["slices"])
            row["seconds"]["ASTRA"], row["astra_cgls_seconds"] = (forward, adjoint), iteration
        yield row


def milliseconds(seconds):
    return "" if seconds is None else f"{1e3 * seconds:.3g}"


def table_of_iterations(rows, modes):
    """Table 4: ms a slice and iteration."""
    cells = []
    for row in rows:
        times = {mode: sum(seconds) / row["slices"] for mode, seconds in row["seconds"].items()}
        cgls = row.get("astra_cgls_seconds")
        cells.append([f"{row['size']}^2", row["slices"], *[milliseconds(times.get(mode)) for mode in [*modes, "ASTRA"]],
                      milliseconds(cgls and cgls / row["slices"]), *row["paper"][0]])
    return markdown(["pixels", "at once", *modes, "ASTRA, FP + BP", "ASTRA, CGLS", "paper: tensor cores", "cuSPARSE", "ASTRA, CGLS"],
                    cells)


def table_of_one(rows, modes):
    """Table 6: ms of A, with A^T after the stroke, of one image."""
    cells = []
    for row in rows:
        both = [" / ".join(milliseconds(each) for each in row["seconds"].get(mode, ())) for mode in [*modes, "ASTRA"]]
        cells.append([f"{row['size']}^2", *both, *row["paper"][1]])
    return markdown(["pixels", *modes, "ASTRA", "paper, A: tensor cores", "cuSPARSE"], cells)


def main():
    numbers = lambda text, mark=",": [int(word) for word in text.split(mark)]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--sizes", type=numbers, default=list(PAPER), help="pixels along each edge of the slices, with commas between")
    parser.add_argument("--rays", type=lambda text: numbers(text, "x"), default=[720, 512], help="VIEWSxDETECTOR")
    parser.add_argument("--slices", type=numbers, default=[32, 1], help="how many at once, with commas between")
    parser.add_argument("--modes", type=lambda text: text.split(","), default=MODES, help="of halocline bench matrix")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long each is measured")
    parser.add_argument("--json", help="write the rows there, too")
    options = parser.parse_args()
    run = Halocline(options.halocline, options.device)
    astra = None
    try:
        astra = Astra(options.seconds)
    except ImportError as error:
        log(f"ASTRA is left out: {error}")
    rows = []
    for size in options.sizes:
        log(f"{size}^2")
        rows += measured(run, astra, size, options)
    for reason in sorted({reason for row in rows for reason in row["left_out"]}):
        log(f"left out: {reason}")
    print("ms a slice and iteration:\n")
    print(table_of_iterations([row for row in rows if row["slices"] > 1] or rows, options.modes))
    single = [row for row in rows if row["slices"] == 1]
    if single:
        print("One image, ms of A / A^T:\n")
        print(table_of_one(single, options.modes), end="")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
