#!/usr/bin/env python3
"""Iterative reconstruction beside ASTRA's (one slice, parallel beam) and RTK's (cone beam) on the CPU: the same projections, and what
each has reached after the same number of iterations.

Needs Python 3.9, numpy, astra-toolbox and itk-rtk (pip install astra-toolbox itk-rtk); without one of the two its scan is left out.
The projections are those of the voxels of a Shepp-Logan phantom by Joseph's projector, without noise. Seconds an iteration are the
difference of two runs, of --iterations and of --fewer, over the difference of their iterations, so that start and set-up do not
count; the best of --runs for each, in turns. In brackets the processor's seconds on all cores. The residual is ||b - A x|| over ||b||
by Joseph's projector of halocline for all, the error the root mean square from the phantom over its value 1. All have --cores cores.
RTK's SART takes all views at once with step 1, which is SIRT with lengths through the volume's box in place of A 1.
"""
import argparse
import json
import os
import tempfile
import time

import numpy as np

from harness import Halocline, markdown, read_mha, log, write_mha
from peers_astra import vectors
from peers_fdk import rtk_geometry

DIAMETER, MU = 120, 0.02


class Scan:
    """Files of a phantom and its projections, and how results are judged."""

    def __init__(self, run, folder, size, slices, views, cone):
        self.run, self.folder, self.size, self.slices = run, folder, size, slices
        self.spacing = 1.1 * DIAMETER / size
        origin = [-0.5 * (size - 1) * self.spacing, -0.5 * (slices - 1) * self.spacing, -0.5 * (size - 1) * self.spacing]
        self.grid = ["--spacing", ",".join([str(self.spacing)] * 3)]
        if cone:  # the axes of the world, as RTK wants them
            self.grid += ["--size", f"{size},{slices},{size}", "--direction", "1,0,0,0,1,0,0,0,1",
                          "--origin", ",".join(str(each) for each in origin)]
        else:
            self.grid += ["--size", f"{size},{size},1"]
        run("geometry", "circular", "--sid", 600, "--sdd", 1200 if cone else 0, "--arc", 360 if cone else 180,
            "--projections", views, "--first-angle", 0.1, "-o", self.at("g.xml"))
        pitch = 2.2 * DIAMETER / size * 1.3 if cone else self.spacing
        self.columns = size if cone else int(np.ceil(size * 2**0.5 / 2)) * 2 + 1
        rows = max(1, slices)
        self.detector = ["--geometry", self.at("g.xml"), "--detector", f"{self.columns},{rows}", "--pixel", f"{pitch},{pitch}"]
        run("phantom", "--type", "shepp-logan-hc", "--phantom-size", DIAMETER, "--mu", MU, *self.grid, "-o", self.at("v.mha"))
        run("project", "-i", self.at("v.mha"), *self.detector, "-o", self.at("p.mha"))
        self.truth, self.b = read_mha(self.at("v.mha"))[0], read_mha(self.at("p.mha"))[0]

    def at(self, name):
        return os.path.join(self.folder, name)

    def judged(self, voxels):
        write_mha(self.at("x.mha"), voxels, like=self.at("v.mha"))
        self.run("project", "-i", self.at("x.mha"), *self.detector, "-o", self.at("q.mha"))
        norm = lambda a: float(np.sqrt((a.astype(np.float64) ** 2).sum()))
        return {"residual": norm(read_mha(self.at("q.mha"))[0] - self.b) / norm(self.b),
                "error": norm(voxels - self.truth) / np.sqrt(voxels.size) / MU}


class Ours:
    def __init__(self, scan, method):
        self.scan, self.method, self.name = scan, method, f"halocline {method}"

    def iterate(self, iterations):
        """Voxels, seconds by the clock and of the processor."""
        scan = self.scan
        report, cpu = scan.run.measured("reconstruct", "-i", scan.at("p.mha"), "--geometry", scan.at("g.xml"), "--method", self.method,
                                        "--iterations", iterations, *scan.grid, "-o", scan.at("o.mha"))
        return read_mha(scan.at("o.mha"))[0], report["seconds"]["reconstruct"], cpu


def timed(work):
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


class Astra:
    def __init__(self, astra, scan, method):
        self.astra, self.name = astra, f"ASTRA {method}"
        scan.run("geometry", "convert", "-i", scan.at("g.xml"), "-o", scan.at("a.txt"), "--to", "astra", *scan.detector[2:])
        half = 0.5 * scan.size * scan.spacing
        grid = astra.create_vol_geom(scan.size, scan.size, -half, half, -half, half)
        rays = astra.create_proj_geom("parallel_vec", scan.columns, vectors(scan.at("a.txt")))
        self.volume = astra.data2d.create("-vol", grid)
        self.config = astra.astra_dict(method)
        self.config.update(ProjectorId=astra.create_projector("linear", rays, grid), ReconstructionDataId=self.volume,
                           ProjectionDataId=astra.data2d.create("-sino", rays, np.ascontiguousarray(scan.b[:, 0, :])))

    def iterate(self, iterations):
        self.astra.data2d.store(self.volume, 0)
        algorithm = self.astra.algorithm.create(self.config)
        seconds = timed(lambda: self.astra.algorithm.run(algorithm, iterations))
        self.astra.algorithm.delete(algorithm)
        return self.astra.data2d.get(self.volume)[None], *seconds


class Rtk:
    def __init__(self, itk, rtk, scan, method):
        self.itk, self.rtk, self.scan, self.method, self.name = itk, rtk, scan, method, f"RTK {method}"
        self.projections, self.geometry = itk.imread(scan.at("p.mha"), itk.F), rtk_geometry(rtk, scan.at("g.xml"))

    def iterate(self, iterations):
        image = self.itk.Image[self.itk.F, 3]
        start = self.rtk.ConstantImageSource[image].New()
        start.SetInformationFromImage(self.itk.imread(self.scan.at("v.mha"), self.itk.F))
        if self.method == "SART":
            solver = self.rtk.SARTConeBeamReconstructionFilter[image, image].New()
            solver.SetNumberOfProjectionsPerSubset(len(self.geometry.GetGantryAngles()))
            solver.SetLambda(1)
        else:
            solver = self.rtk.ConjugateGradientConeBeamReconstructionFilter[image].New()
        solver.SetInput(0, start.GetOutput())
        solver.SetInput(1, self.projections)
        solver.SetGeometry(self.geometry)
        solver.SetForwardProjectionFilter(solver.ForwardProjectionType_FP_JOSEPH)
        solver.SetBackProjectionFilter(solver.BackProjectionType_BP_JOSEPH)
        solver.SetDisableDisplacedDetectorFilter(True)
        solver.SetNumberOfIterations(iterations)
        seconds = timed(solver.Update)
        return self.itk.array_from_image(solver.GetOutput()), *seconds


def measured(solvers, scan, options):
    """A row for each solver."""
    best = {}
    for _ in range(options.runs):
        for solver in solvers:
            for iterations in (options.fewer, options.iterations):
                voxels, *seconds = solver.iterate(iterations)
                key = (solver.name, iterations)
                best[key] = np.minimum(best.get(key, np.inf), seconds)
            if solver.name not in best:
                best[solver.name] = scan.judged(voxels)
    for solver in solvers:
        more, fewer = best[solver.name, options.iterations], best[solver.name, options.fewer]
        wall, cpu = (more - fewer) / (options.iterations - options.fewer)
        yield {"solver": solver.name, "iterations": options.iterations, "seconds": float(wall), "processor_seconds": float(cpu),
               **best[solver.name]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=256, help="pixels along each edge of the slice; its views are 720")
    parser.add_argument("--cone-size", type=int, default=64, help="voxels along each edge of the volume, and views")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--fewer", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--json", help="write the rows there, too")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
    run = Halocline(options.halocline, options.device)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            import astra
        except ImportError:
            log("no astra-toolbox: the slice is left out")
        else:
            scan = Scan(run, folder, options.size, 1, 720, cone=False)
            solvers = [Ours(scan, "sirt"), Astra(astra, scan, "SIRT"), Ours(scan, "cgls"), Astra(astra, scan, "CGLS")]
            rows += [{"scan": f"parallel, {options.size}^2, 720 views", **row} for row in measured(solvers, scan, options)]
        try:
            import itk
            from itk import RTK as rtk
        except ImportError:
            log("no itk-rtk: the cone beam is left out")
        else:
            n = options.cone_size
            scan = Scan(run, folder, n, n, n, cone=True)
            solvers = [Ours(scan, "sirt"), Rtk(itk, rtk, scan, "SART"), Ours(scan, "cgls"), Rtk(itk, rtk, scan, "CG")]
            rows += [{"scan": f"cone, {n}^3, {n} views", **row} for row in measured(solvers, scan, options)]
    print(markdown(["scan", "solver", "iterations", "an iteration", "residual", "error"],
                   [[row["scan"], row["solver"], row["iterations"], f"{row['seconds']:.4f} s ({row['processor_seconds']:.4f})",
                     f"{row['residual']:.3e}", f"{row['error']:.4f}"] for row in rows]), end="")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
