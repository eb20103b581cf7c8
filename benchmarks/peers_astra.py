#!/usr/bin/env python3
"""Projectors of one slice beside ASTRA's 2D projectors on the CPU: the same slice and rays, values and times.

Needs Python 3.9, numpy and astra-toolbox (pip install astra-toolbox). A slice of the Shepp-Logan phantom is projected along parallel
rays and as a fan. Errors are root mean squares from the phantom's exact line integrals, over the largest of them; the last column is
the difference between the two, likewise. Times are from the slice in memory to the projections in memory, in turns, the best of
--runs after one that is not counted; in brackets the processor's seconds (of halocline: of the command, less those of its start).
ASTRA's projectors run on one core.
"""
import argparse
import os
import tempfile
import time

import numpy as np

from harness import Halocline, read_mha

PAIRS = {"parallel": [("joseph", "linear"), ("siddon", "line"), ("distance-driven", "strip")],
         "fan": [("joseph", "line_fanflat"), ("siddon", "line_fanflat")]}
DIAMETER, MU = 120, 0.02


def vectors(path):
    """ASTRA's 2D vectors of the rows of a 3D file whose axis is z."""
    rows = np.loadtxt(path, ndmin=2)
    return np.ascontiguousarray(rows[:, [0, 1, 3, 4, 6, 7]])


class Astra:
    def __init__(self, astra, kind, table, columns, voxels, spacing):
        self.astra = astra
        half = 0.5 * voxels.shape[0] * spacing
        grid = astra.create_vol_geom(voxels.shape[0], voxels.shape[1], -half, half, -half, half)
        rays = astra.create_proj_geom("fanflat_vec" if "fan" in kind else "parallel_vec", columns, table)
        self.projector = astra.create_projector(kind, rays, grid)
        self.volume = astra.data2d.create("-vol", grid, np.ascontiguousarray(voxels))
        self.sinogram = astra.data2d.create("-sino", rays)
        config = astra.astra_dict("FP")
        config.update(ProjectorId=self.projector, VolumeDataId=self.volume, ProjectionDataId=self.sinogram)
        self.algorithm = astra.algorithm.create(config)

    def run(self):
        """Seconds by the clock and of the processor."""
        start, cpu = time.perf_counter(), time.process_time()
        self.astra.algorithm.run(self.algorithm)
        return time.perf_counter() - start, time.process_time() - cpu

    def values(self):
        return self.astra.data2d.get(self.sinogram)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=512, help="pixels along each edge of the slice, and of the detector")
    parser.add_argument("--views", type=int, default=720)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    import astra

    run = Halocline(options.halocline, options.device)
    n = options.size
    spacing = 1.1 * DIAMETER / n
    print("| beam | halocline, error | ASTRA, error | halocline | ASTRA | ratio | difference |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        run("phantom", "--type", "shepp-logan-hc", "--phantom-size", DIAMETER, "--mu", MU, "--size", f"{n},{n},1",
            "--spacing", ",".join([str(spacing)] * 3), "-o", at("v.mha"))
        slice_ = read_mha(at("v.mha"))[0][0]
        for beam, pairs in PAIRS.items():
            magnification = 2 if beam == "fan" else 1
            pitch = f"{1.2 * DIAMETER / n * magnification}"
            run("geometry", "circular", "--sid", 600, "--sdd", 1200 if beam == "fan" else 0, "--first-angle", 0.1,
                "--projections", options.views, "-o", at("g.xml"))
            run("geometry", "convert", "-i", at("g.xml"), "-o", at("a.txt"), "--to", "astra", "--detector", f"{n},1", "--pixel",
                f"{pitch},{pitch}")
            table = vectors(at("a.txt"))
            detector = ["--geometry", at("g.xml"), "--detector", f"{n},1", "--pixel", f"{pitch},{pitch}"]
            run("project", "--phantom", "shepp-logan-hc", "--phantom-size", DIAMETER, "--mu", MU, "-o", at("e.mha"), *detector)
            exact = read_mha(at("e.mha"))[0][:, 0, :]
            error = lambda found, true: 100 * np.sqrt(np.mean((found - true) ** 2)) / exact.max()
            for ours, theirs in pairs:
                peer = Astra(astra, theirs, table, n, slice_, spacing)
                times = []
                for _ in range(options.runs + 1):
                    report, cpu = run.measured("project", "-i", at("v.mha"), "-o", at("q.mha"), "--projector", ours, *detector)
                    times.append((report["seconds"]["project"], cpu, *peer.run()))
                best = np.min(times[1:], axis=0)
                found, value = read_mha(at("q.mha"))[0][:, 0, :], peer.values()
                print(f"| {beam} | {ours}, {error(found, exact):.3f} % | {theirs}, {error(value, exact):.3f} % "
                      f"| {best[0]:.3f} s ({best[1]:.2f}) | {best[2]:.3f} s ({best[3]:.2f}) | {best[2] / best[0]:.2f} "
                      f"| {error(found, value):.3f} % |", flush=True)


if __name__ == "__main__":
    main()
