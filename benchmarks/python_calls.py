#!/usr/bin/env python3
"""Times the Python package beside the command: seconds of a call without work, of a large denoising against the
command's, and of a user's CGLS in Python against the built-in one.

Needs the package `halocline` and numpy; with pyopencl, jobs on its arrays are timed beside those on NumPy's. Seconds are the least of --runs, in turns. The command's are the total of its report: without
the start of the process, with reading and writing files. CGLS: the difference of two runs over the difference of
their iterations, so that start and set-up do not count.

  benchmarks/python_calls.py --halocline COMMAND --size 192 --json calls.json
"""
import argparse
import json
import os
import tempfile
import time
import warnings

import numpy as np

import halocline as hc
from halocline import arrays
from harness import Halocline, log, write_mha

warnings.simplefilter("ignore")


def least(runs, *works):
    """Seconds of each, in turns."""
    best = [float("inf")] * len(works)
    for _ in range(runs):
        for n, work in enumerate(works):
            start = time.perf_counter()
            said = work()
            best[n] = min(best[n], said if isinstance(said, float) else time.perf_counter() - start)
    return best


def calls(runs):
    geometry = hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 36.0), detector=(8, 8), pixel=2.0)
    grid = hc.Grid((8, 8, 8), 1.5)
    x = np.random.default_rng(1).random(grid.shape, dtype=np.float32)
    y = hc.project(x, geometry, grid)
    works = {"project": lambda: hc.project(x, geometry, grid), "backproject": lambda: hc.backproject(y, geometry, grid),
             "fdk": lambda: hc.fdk(y, geometry, grid), "denoise": lambda: hc.denoise(x, 1.5, alpha=10, iterations=1, gap=0),
             "reconstruct": lambda: hc.reconstruct(y, geometry, grid, method="cgls", iterations=1)}
    return dict(zip(works, [1e3 * seconds for seconds in least(20 * runs, *works.values())]))


def denoising(command, folder, size, iterations, runs):
    f = np.random.default_rng(2).random((size,) * 3, dtype=np.float32)
    path = os.path.join(folder, "f.mha")
    write_mha(path, f, (1, 1, 1))
    options = ["--method", "pdu", "--alpha", 3, "--iterations", iterations, "--gap", 0]

    def by_command():
        return command.report("denoise", "-i", path, *options, "-o", os.path.join(folder, "u.mha"))[0]["seconds"]["total"]

    def by_python():
        hc.denoise(f, alpha=3, iterations=iterations, gap=0)

    by_python()
    by_command()
    return least(runs, by_command, by_python)


def on_the_device(size, iterations, runs):
    """Seconds of denoising and FDK from NumPy and from PyOpenCL's arrays, which stay where they lie."""
    import pyopencl.array
    devices = [each for platform in pyopencl.get_platforms() for each in platform.get_devices()]
    devices.sort(key=lambda each: each.type != pyopencl.device_type.GPU)
    queue = pyopencl.CommandQueue(pyopencl.Context(devices[:1]))
    geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(size) * 360 / size, detector=(size, size), pixel=1.209 * 512 / size)
    random = np.random.default_rng(3)
    f, y = (random.random((size,) * 3, dtype=np.float32) for _ in range(2))
    there = pyopencl.array.to_device(queue, f), pyopencl.array.to_device(queue, y)

    def denoised(values):
        return lambda: hc.denoise(values, alpha=3, iterations=iterations, gap=0)

    def reconstructed(values):
        return lambda: hc.fdk(values, geometry, hc.Grid((size,) * 3, 0.5 * 512 / size))

    works = {"denoise, NumPy": denoised(f), "denoise, PyOpenCL": denoised(there[0]), "fdk, NumPy": reconstructed(y),
             "fdk, PyOpenCL": reconstructed(there[1])}
    for work in works.values():
        work()
    return dict(zip(works, least(runs, *works.values())))


def cgls(on, b, iterations):
    A = on.operator
    x = arrays.zeros(on.volume)
    r, s = b, A.T(b)
    p, gamma = s, arrays.dot(s, s)
    for _ in range(iterations):
        q = A(p)
        alpha = gamma / arrays.dot(q, q)
        x = x + alpha * p
        r = r - alpha * q
        s = A.T(r)
        new = arrays.dot(s, s)
        p = s + (new / gamma) * p
        gamma = new
    return x.get()


def solver(size, runs, few=3, many=13):
    geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(size) * 360 / size, detector=(size, size), pixel=512 / size)
    grid = hc.Grid((size,) * 3, 200 / size)
    volume = hc.phantom("shepp-logan", grid)
    y = hc.project(volume, geometry).array
    on = hc.Context(geometry, grid)
    b = on.array(y, on.projections)
    mine = lambda n: lambda: cgls(on, b, n)
    theirs = lambda n: lambda: hc.reconstruct(y, geometry, grid, method="cgls", iterations=n)
    works = [work(n) for work in (mine, theirs) for n in (few, many)]
    for work in works:
        work()
    found = least(runs, *works)
    return (found[1] - found[0]) / (many - few), (found[3] - found[2]) / (many - few)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--size", type=int, default=192, help="of the volume that is denoised")
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--solver-size", type=int, default=96)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", help="write the figures there")
    options = parser.parse_args()
    result = {"milliseconds of a call": calls(options.runs)}
    log(str(result))
    with tempfile.TemporaryDirectory() as folder:
        command, python = denoising(Halocline(options.halocline), folder, options.size, options.iterations, options.runs)
    result["denoise"] = {"size": options.size, "command": command, "python": python, "ratio": python / command}
    log(str(result["denoise"]))
    try:
        result["s, where arrays lie"] = {"size": options.size, **on_the_device(options.size, options.iterations, options.runs)}
        log(str(result["s, where arrays lie"]))
    except ImportError:
        log("pyopencl is not installed")
    mine, theirs = solver(options.solver_size, options.runs)
    result["cgls, an iteration"] = {"size": options.solver_size, "python": mine, "built-in": theirs, "ratio": mine / theirs}
    log(str(result["cgls, an iteration"]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
