#!/usr/bin/env python3
"""Passes and seconds that the solvers of `halocline reconstruct` need to come near the minimiser, and how far the methods without a
penalty are from the truth.

Needs Python 3.9 and numpy. Three problems with counts: T2 and T4 of --data (128^2 pixels in a parallel beam, 60 and 20 views; their
minimum is known to eight digits), and a cone beam of 40 x 40 x 24 voxels and 60 views that is made here. All four solvers have one
objective; its minimiser is what spdhg has after --reference passes, and fista's after ten times as many says how sure that is. RMSD is
the root mean square distance from it over the attenuation of water. A solver is run again for every number of passes of a ladder; passes
to a distance are interpolated in between. Seconds are those of the processor on all cores, which other processes disturb least: a line
through all runs of a solver, less what --dry-run takes.

  benchmarks/solver_table.py --data FOLDER --json table.json
"""
import argparse
import json
import os
import tempfile

import numpy as np

from harness import Halocline, markdown, read_mha, log

MU = 0.02  # per mm
GOALS = (1e-2, 3e-3, 1e-3)
# name, options, most passes
SOLVERS = [("spdhg", [], 100), ("spdhg", ["--subsets", "views"], 100), ("os-fista", [], 60), ("fista", [], 400)]
PLAIN = [("cgls", [], (4, 6, 8, 10, 12, 14, 17, 20, 25)), ("sirt", ["--nonnegative"], (20, 50, 100, 200, 400)),
         ("os-sart", ["--nonnegative"], (1, 2, 3, 5, 7, 10, 20)),
         ("mlem", [], (10, 20, 50, 100, 200)), ("osem", [], (1, 2, 3, 5, 10, 20)), ("asd-pocs", ["--nonnegative"], (10, 20, 50, 100)),
         ("nesterov", ["--nonnegative"], (5, 10, 20, 40, 80))]


class Problem:
    def __init__(self, run, folder, name, views, words, penalty, weights, truth):
        self.run, self.name, self.views, self.words, self.penalty = run, name, views, words, penalty
        self.weights, self.truth, self.output = weights, read_mha(truth)[0], os.path.join(folder, "x.mha")

    def solve(self, method, passes, options, penalised):
        """Voxels, results of the report, processor seconds."""
        words = ["reconstruct", *self.words, "--method", method, "--iterations", passes, *self.own(options)]
        if penalised:
            words += [*self.penalty, "--gap", 0]
        if penalised or method in ("cgls", "nesterov"):
            words += self.weights
        report, seconds = self.run.measured(*words, "-o", self.output)
        return read_mha(self.output)[0], report["results"], seconds

    def own(self, options):
        return [str(self.views) if word == "views" else word for word in options]

    def by_default(self):
        """Voxels and results of spdhg as it ends by itself."""
        report, _ = self.run.report("reconstruct", *self.words, *self.penalty, *self.weights, "-o", self.output)
        return read_mha(self.output)[0], report["results"]

    def distance(self, one, other):
        return float(np.sqrt(np.mean((one.astype(np.float64) - other) ** 2))) / MU


def fixture(run, folder, data, name, views):
    geometry = os.path.join(folder, name + ".xml")
    run("geometry", "circular", "--sid", 1000, "--sdd", 0, "--projections", views, "--arc", 180, "-o", geometry)
    at = lambda what: os.path.join(data, "iterative", f"{name}_{what}.mha")
    return Problem(run, folder, f"{name}, {views} views", views, ["-i", at("b"), "--geometry", geometry, "--like", at("truth")],
                   ["--lambda", 1200, "--maximum", 0.1], ["--weights", at("w")], at("truth"))


def cone(run, folder):
    at = lambda name: os.path.join(folder, name)
    grid = ["--size", "40,40,24", "--spacing", "3.2,3.2,3.2"]
    run("geometry", "circular", "--sid", 400, "--sdd", 800, "--projections", 60, "-o", at("cone.xml"))
    run("phantom", "--type", "shepp-logan", "--phantom-size", 120, "--mu", MU, *grid, "-o", at("truth.mha"))
    run("project", "-i", at("truth.mha"), "--geometry", at("cone.xml"), "--detector", "64,36", "--pixel", "5,5", "-o", at("exact.mha"))
    run("noise", "-i", at("exact.mha"), "--photons", 20000, "--seed", 1, "-o", at("noisy.mha"))
    return Problem(run, folder, "cone, 60 views", 60, ["-i", at("noisy.mha"), "--geometry", at("cone.xml"), *grid],
                   ["--lambda", 1200, "--maximum", 0.1], ["--photons", 20000], at("truth.mha"))


def ladder(most):
    passes, each = [], 1.0
    while each <= most:
        if not passes or round(each) > passes[-1]:
            passes.append(round(each))
        each *= 1.18
    return passes


def crossing(runs, goal):
    """Passes at which the distance is `goal`, between two looks on a logarithmic scale; None where it stays above."""
    for (passes, distance), (next_passes, next_distance) in zip(runs, runs[1:]):
        if next_distance <= goal < distance:
            part = np.log(distance / goal) / np.log(distance / next_distance)
            return passes + float(part) * (next_passes - passes)
    return None


def row_of(problem, minimiser, method, options, most):
    runs, times = [], []
    for passes in ladder(most):
        voxels, _, seconds = problem.solve(method, passes, options, True)
        runs.append((passes, problem.distance(voxels, minimiser)))
        times.append((passes, seconds))
        if runs[-1][1] < GOALS[-1]:
            break
    slope, start = np.polyfit(*np.transpose(times), 1) if len(times) > 2 else (times[-1][1] / times[-1][0], 0)
    reached = [crossing(runs, goal) for goal in GOALS]
    name = method if not options else f"{method}, {problem.own(options)[1]} subsets"
    return {"problem": problem.name, "solver": name, "passes": reached, "seconds_a_pass": float(slope),
            "seconds": [None if each is None else float(max(start, 0) + slope * each) for each in reached],
            "nearest": min(distance for _, distance in runs), "most_passes": most}


def passes_text(row):
    cells = []
    for passes, seconds in zip(row["passes"], row["seconds"]):
        cells.append(f"> {row['most_passes']}" if passes is None else f"{passes:.3g} ({seconds:.2g} s)")
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder that holds iterative/T2_b.mha and so on")
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--reference", type=int, default=400, help="passes of spdhg to the minimiser")
    parser.add_argument("--json", help="write the rows there, too")
    options = parser.parse_args()
    run = Halocline(options.halocline, options.device)
    solved, plain, ends = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        problems = [fixture(run, folder, options.data, "T2", 60), fixture(run, folder, options.data, "T4", 20), cone(run, folder)]
        for problem in problems:
            minimiser, results, _ = problem.solve("spdhg", options.reference, [], True)
            other = problem.solve("fista", 10 * options.reference, [], True)[0]
            error = problem.distance(minimiser, problem.truth)
            log(f"{problem.name}: objective {results['primal']:.9g}, fista's minimiser {problem.distance(other, minimiser):.1e} away, "
                 f"{error:.4f} from the truth")
            plain.append({"problem": problem.name, "solver": "minimiser", "error": error, "primal": results["primal"],
                          "agree": problem.distance(other, minimiser)})
            voxels, results = problem.by_default()
            ends.append({"problem": problem.name, "passes": results["iterations"], "gap": results["relative_gap"],
                         "above": results["primal"] / plain[-1]["primal"] - 1, "within": results["projections_within"],
                         "distance": problem.distance(voxels, minimiser)})
            log(f"{problem.name}: {ends[-1]}")
            for method, words, most in SOLVERS:
                solved.append(row_of(problem, minimiser, method, words, most))
                log(f"{problem.name}, {solved[-1]['solver']}: " + ", ".join(passes_text(solved[-1])))
            for method, words, passes in PLAIN:
                errors = {n: problem.distance(problem.solve(method, n, words, False)[0], problem.truth) for n in passes}
                best = min(errors, key=errors.get)
                plain.append({"problem": problem.name, "solver": method, "passes": best, "error": errors[best],
                              "last": passes[-1], "error_at_last": errors[passes[-1]]})
                log(f"{problem.name}, {method}: {errors[best]:.4f} from the truth after {best} passes")
    print(markdown(["problem", "solver", *[f"passes to {goal:g} (processor)" for goal in GOALS], "s a pass", "nearest"],
                   [[row["problem"], row["solver"], *passes_text(row), f"{row['seconds_a_pass']:.3f}", f"{row['nearest']:.1e}"]
                    for row in solved]))
    print(markdown(["problem", "passes", "relative gap", "above the minimum", "projections within", "distance"],
                   [[row["problem"], f"{row['passes']:g}", f"{row['gap']:.2g}", f"{row['above']:.1e}", f"{row['within']:.2g}",
                     f"{row['distance']:.1e}"] for row in ends]))
    print(markdown(["problem", "solver", "passes", "distance from the truth"],
                   [[row["problem"], row["solver"], row.get("passes", ""), f"{row['error']:.4f}"] for row in plain]), end="")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"solvers": solved, "ends": ends, "plain": plain}, file, indent=1)


if __name__ == "__main__":
    main()
