#!/usr/bin/env python3
"""Accuracy of reconstructions with the stored system matrix, beside those that follow rays in float32.

Needs the package `halocline`, numpy, and --data with the volumes and fixtures that docs/references.md names. Conjugate gradients: slices
of four volumes are projected by rays, in a parallel beam of as many columns as the slice is wide and 1.4 times as many views, once as they
are and once with the noise of --photons; the error of each slice to the truth, within the circle that all views see, is noted after each of
--iterations iterations. Each should be within 2 % of that of rays, or get to it at most two iterations later: `meets` says in how many
of all slices and iterations it does. Solvers: T2 and T4 (128^2 pixels, 60 and 20 views, with a known minimum) with each method. The
objective of those with a penalty, which the projector itself computes, over the minimum; the distance of the image from that of rays, and
of both from the truth, over the attenuation of water.

  benchmarks/matrix_evidence.py --data FOLDER --json evidence.json
  benchmarks/matrix_evidence.py --data FOLDER --only volume_tooth --slices 4
"""
import argparse
import json
import os
import warnings

import numpy as np

import halocline as hc
from halocline import arrays
from harness import log, markdown

VOLUMES = {"volume_headsq": "headsq.mha", "volume_head_phantom": "headphantom_soft_iDose_UB_crop128x256x256.mha",
           "volume_tooth": "tooth.mha", "volume_engine": "engine.nii.gz"}
VIEWS_A_COLUMN, LARGEST_INTEGRAL = 1.4, 4.0
MOST_EXCESS, MOST_LATER = 1.02, 2
MU = 0.02  # per mm
FIXTURES = {"T2": (60, 12366.14104487), "T4": (20, 8927.7397)}
LAMBDA, MAXIMUM = 1200, 0.1
# passes to the minimum; other methods: passes, options
PENALISED = {"spdhg": 300, "fista": 1500, "os-fista": 300}
PLAIN = {"cgls": (12, {}), "lsqr": (12, {}), "sirt": (100, {}), "nesterov": (20, {}), "osem": (5, {}), "os-sart": (5, {}),
         "asd-pocs": (20, {"nonnegative": True})}


class Slices:
    """Slices of a volume, and their projections."""

    def __init__(self, path, count, photons):
        volume = hc.read(path).array
        ny, nx = volume.shape[1:]
        first, last = len(volume) // 4, 3 * len(volume) // 4
        slices = volume[np.linspace(first, last, count).astype(int)].astype(np.float32)
        slices -= min(slices.min(), 0)
        columns = max(nx, ny)
        angles = np.arange(round(VIEWS_A_COLUMN * columns)) * 180 / round(VIEWS_A_COLUMN * columns)
        self.geometry = hc.Geometry.circular(sid=1000, sdd=0, angles=angles, detector=(count, columns), pixel=(1.0, 1.0))
        self.grid = hc.Grid((count, ny, nx), (1.0, 1.0, 1.0))
        exact = hc.project(slices, self.geometry, self.grid, projector="joseph")
        scale = np.float32(LARGEST_INTEGRAL / exact.max())
        self.truth, self.projections = scale * slices, scale * exact
        if photons:
            self.projections = hc.noise(self.projections, photons=photons, seed=1)
        j, i = np.ogrid[:ny, :nx]
        self.seen = np.hypot(i - 0.5 * (nx - 1), j - 0.5 * (ny - 1)) < 0.5 * columns

    def errors(self, operator, iterations, device):
        """Those of cgls (algorithms/solvers/cgls.cpp) relative to the truth: [iteration, slice]."""
        on = hc.Context(self.geometry, self.grid, projector="joseph", operator=operator, device=device)
        A, r = on.operator, on.array(self.projections, on.projections)
        x, p = arrays.zeros(on.volume), A.T(r)
        gamma = arrays.dot(p, p)
        first = p / arrays.sqrt(gamma)
        found = []
        for _ in range(iterations):
            q = A(p)
            alpha = gamma / arrays.dot(q, q)
            x, r = x + alpha * p, r - alpha * q
            s = A.T(r)
            s = s - arrays.dot(first, s) * first
            before, gamma = gamma, arrays.dot(s, s)
            p = s + (gamma / before) * p
            found.append(self.error(x.get()))
        return np.array(found)

    def error(self, x):
        norm = lambda values: np.sqrt((values[:, self.seen].astype(np.float64) ** 2).sum(axis=1))
        return norm(x - self.truth) / norm(self.truth)


def judged(matrix, rays):
    """Where the error of the matrix is near that of rays, or gets to it in time: [iteration, slice]."""
    ahead = [np.vstack([matrix[n:], np.full((n, matrix.shape[1]), np.inf)]) for n in range(MOST_LATER + 1)]
    return (matrix <= MOST_EXCESS * rays) | (np.min(ahead, axis=0) <= rays)


def conjugate_gradients(options, name, photons):
    of = Slices(os.path.join(options.data, name, VOLUMES[name]), options.slices, photons)
    rays, matrix = (of.errors(form, options.iterations, options.device) for form in ("rays", "matrix"))
    meets, excess = judged(matrix, rays), matrix / rays - 1
    row = {"volume": name, "photons": photons, "slices": options.slices, "views": len(of.geometry), "columns": of.grid.shape[2],
           "meets": float(meets.mean()), "worst_excess": float(excess.max()), "worst_excess_at": int(excess.max(axis=1).argmax()) + 1,
           "rays": rays.mean(axis=1).tolist(), "matrix": matrix.mean(axis=1).tolist()}
    log(f"{name}, {photons or 'no'} photons: {100 * row['meets']:.4g} % meet, excess at most {100 * row['worst_excess']:.3g} % "
        f"(iteration {row['worst_excess_at']}), last error {row['rays'][-1]:.4g} of rays, {row['matrix'][-1]:.4g} of the matrix")
    return row


def solver_rows(options, fixture):
    views, minimum = FIXTURES[fixture]
    image = lambda what: hc.read(os.path.join(options.data, "iterative", f"{fixture}_{what}.mha"))
    b, w, truth = image("b").array, image("w").array, image("truth")
    geometry = hc.Geometry.circular(sid=1000, sdd=0, angles=np.arange(views) * 180 / views, detector=(1, 183), pixel=(2.0, 2.0))
    distance = lambda x, y: float(np.sqrt(np.mean((x.astype(np.float64) - y) ** 2))) / MU
    penalty = {"lambda_": LAMBDA, "maximum": MAXIMUM, "weights": w, "gap": 0}
    methods = {**{each: (passes, penalty) for each, passes in PENALISED.items()}, **PLAIN}
    rows = []
    for method, (passes, words) in methods.items():
        run = lambda form: hc.reconstruct(b, geometry, truth.grid, method=method, iterations=passes, projector="joseph",
                                          operator=form, device=options.device, return_info=True, **words)
        (rays, of_rays), (matrix, of_matrix) = run("rays"), run("matrix")
        above = lambda info: info.results["primal"] / minimum - 1 if method in PENALISED else None
        rows.append({"problem": fixture, "method": method, "passes": passes, "rays_above": above(of_rays),
                     "matrix_above": above(of_matrix), "apart": distance(matrix, rays),
                     "rays_error": distance(rays, truth.array), "matrix_error": distance(matrix, truth.array)})
        log(f"{rows[-1]}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder that holds volume_tooth, iterative and so on")
    parser.add_argument("--only", choices=[*VOLUMES, *FIXTURES], action="append")
    parser.add_argument("--slices", type=int, default=8, help="of each volume")
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--photons", type=float, default=1e5, help="of a pixel, of the scans with noise")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", help="write the rows there, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = lambda names: [each for each in names if each in (options.only or names)]
    gradients = [conjugate_gradients(options, name, photons) for name in wanted(VOLUMES) for photons in (0, options.photons)]
    solvers = [row for fixture in wanted(FIXTURES) for row in solver_rows(options, fixture)]
    share = lambda part: f"{100 * part:.4g} %"
    shown = lambda value: "" if value is None else f"{value:.1e}"
    at = lambda row, n: f"{row['rays'][n]:.4f}, {row['matrix'][n]:.4f}" if n < len(row["rays"]) else ""
    print(markdown(["volume", "photons", "slices", "views x columns", "meets", "largest excess (iteration)",
                    *[f"error at {n}, rays, matrix" for n in (10, 25, 50)]],
                   [[row["volume"], f"{row['photons']:g}", row["slices"], f"{row['views']} x {row['columns']}", share(row["meets"]),
                     f"{share(row['worst_excess'])} ({row['worst_excess_at']})", *[at(row, n - 1) for n in (10, 25, 50)]]
                    for row in gradients]))
    print(markdown(["problem", "method", "passes", "rays above the minimum", "matrix", "apart", "rays from the truth", "matrix"],
                   [[row["problem"], row["method"], row["passes"], shown(row["rays_above"]), shown(row["matrix_above"]),
                     shown(row["apart"]), f"{row['rays_error']:.5f}", f"{row['matrix_error']:.5f}"] for row in solvers]), end="")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"gradients": gradients, "solvers": solvers}, file, indent=1)


if __name__ == "__main__":
    main()
