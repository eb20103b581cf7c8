#!/usr/bin/env python3
"""Times calls of the Python package that a network or a solver makes again and again: patches from new projections,
resident slices, an iteration of CGLS stated and replayed, and a layer of PyTorch beside ASTRA's projectors.

Needs the package `halocline`, numpy and pyopencl; with torch, the layer; with astra-toolbox (CUDA), ASTRA's. Microseconds from the
call to the result on the device, median and least of --runs, in turns where two are compared.

  benchmarks/python_latency.py --runs 200 --json latency.json
"""
import argparse
import json
import time
import warnings

import numpy as np

import halocline as hc
from halocline import arrays
from harness import log

warnings.simplefilter("ignore")


def microseconds(runs, *works):
    """{median, least} of each work, in turns."""
    times = [[] for _ in works]
    for work in works:
        for _ in range(3):
            work()
    for _ in range(runs):
        for n, work in enumerate(works):
            begin = time.perf_counter()
            work()
            times[n].append(1e6 * (time.perf_counter() - begin))
    return [{"median": round(float(np.median(each)), 1), "least": round(min(each), 1)} for each in times]


def queue_on_gpu():
    import pyopencl
    devices = [each for platform in pyopencl.get_platforms() for each in platform.get_devices()]
    devices.sort(key=lambda each: each.type != pyopencl.device_type.GPU)
    return pyopencl.CommandQueue(pyopencl.Context(devices[:1]))


def scan(views, detector):
    """The scans of `halocline bench patches`: a circle of 600 mm, the detector at 900 mm."""
    rows, columns = detector
    return hc.Geometry.circular(sid=600, sdd=900, angles=np.arange(views) * 360 / views, detector=(rows, columns), pixel=1.0)


def patches_of(queue, views, detector, shape, boxes=1, planes=False):
    import pyopencl.array
    geometry = scan(views, detector)
    grid = hc.Grid(shape, 2 / 3)
    y = pyopencl.array.to_device(queue, np.random.default_rng(1).random(geometry.shape, dtype=np.float32))
    patches = hc.Patches(geometry, grid, like=y)
    middle = [size // 2 for size in shape]
    if planes:
        patches.set_boxes([patches.grid[middle[0]], patches.grid[:, middle[1]], patches.grid[:, :, middle[2]]])
    else:
        patches.set_boxes([patches.grid] * boxes)
    return patches, y


def latency_of_patches(queue, runs):
    import pyopencl.array
    problems = {"50^2, 1000 views": ((1, 50), (1, 50, 50), 1000, 1, False),
                "250^2, 1000 views": ((1, 250), (1, 250, 250), 1000, 1, False),
                "64 of 50^2, 1000 views": ((1, 512), (1, 50, 50), 1000, 64, False),
                "three planes of 400 x 600, 75 views": ((600, 400), (400, 400, 400), 75, 1, True)}
    result = {}
    for name, (detector, shape, views, boxes, planes) in problems.items():
        patches, y = patches_of(queue, views, detector, shape, boxes, planes)
        out = pyopencl.array.empty(queue, (patches.voxels,), np.float32)
        back = pyopencl.array.empty(queue, patches.geometry.shape, np.float32)
        result[name], result[name + ", adjoint"] = microseconds(
            runs, lambda: patches.backproject(y, out), lambda: patches.project(out, back))
    return result


def latency_of_slices(queue, runs):
    import pyopencl.array
    geometry = scan(75, (600, 400))
    y = np.random.default_rng(2).random(geometry.shape, dtype=np.float32)
    result = {}
    for name, given in {"NumPy": y, "PyOpenCL": pyopencl.array.to_device(queue, y)}.items():
        try:
            slices = hc.Slices(given, geometry, hc.Grid((400,) * 3, 2 / 3))
        except (TypeError, hc.InputError) as error:
            log(str(error))
            continue
        planes = [slices.grid[200], slices.grid[:, 200], slices.grid[:, :, 200]]
        result[f"three planes of 75 resident views of 400 x 600, to {name}"], = microseconds(runs, lambda: slices.reconstruct(planes))
    return result


class Cgls:
    def __init__(self, A, b):
        self.A, self.b, self.r, self.p = A, b, 1 * b, A.T(b)
        self.x = 0 * self.p
        self.gamma = arrays.dot(self.p, self.p)

    def stated(self):
        """As one would write it: the host waits for two sums."""
        q = self.A(self.p)
        alpha = self.gamma / arrays.dot(q, q)
        self.x = self.x + alpha * self.p
        self.r = self.r - alpha * q
        s = self.A.T(self.r)
        new = arrays.dot(s, s)
        self.p = s + (new / self.gamma) * self.p
        self.gamma = new


class Remembered:
    """The iteration with A^T r of the one before, so that a replay has the projections of a stated one."""

    def __init__(self, A, b):
        self.A, self.r, self.s = A, 1 * b, A.T(b)
        self.x, self.p = 0 * self.s, 1 * self.s

    def iterate(self):
        gamma, q = arrays.dot(self.s, self.s), self.A(self.p)
        alpha = gamma / arrays.dot(q, q)
        self.x.assign(self.x + alpha * self.p)
        self.r.assign(self.r - alpha * q)
        self.s.assign(self.A.T(self.r))
        self.p.assign(self.s + arrays.dot(self.s, self.s) / gamma * self.p)


def iterations(runs, sizes):
    """Microseconds of an iteration of CGLS, of ten in a row."""
    result = {}
    for size in sizes:
        geometry = hc.Geometry.circular(sid=600, sdd=1200, angles=np.arange(size) * 360 / size, detector=(size, size), pixel=512 / size)
        on = hc.Context(geometry, hc.Grid((size,) * 3, 200 / size))
        b = on.array(np.random.default_rng(3).random(geometry.shape, dtype=np.float32), on.projections)
        stated, replayed = Cgls(on.operator, b), Remembered(on.operator, b)
        job = on.record(replayed.iterate)

        def ten(work):
            def run():
                for _ in range(10):
                    work()
                on.wait()
            return run

        found = microseconds(max(3, runs * 64 // size**2), ten(stated.stated), ten(job.replay))
        for name, each in zip(("stated", "replayed"), found):
            result[f"CGLS {size}^3, {name}"] = {key: value / 10 for key, value in each.items()}
    return result


def layers(runs):
    """Forward and backward of a layer of PyTorch: projections on the GPU to a slice of 250 x 250 and back, and the line
    integrals of a volume of 64^3. ASTRA's run by its direct interface, on tensors."""
    import torch
    gpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    done = torch.cuda.synchronize if gpu.type == "cuda" else lambda: None
    result = {}

    def both(name, function, x):
        x = x.to(gpu).requires_grad_()

        def run():
            x.grad = None
            function(x).sum().backward()
            done()
        return name, run

    flat, cube = scan(1000, (1, 250)), scan(64, (96, 96))
    patches = hc.Patches(flat, hc.Grid((1, 250, 250), 2 / 3))
    patches.set_boxes([patches.grid])
    A = hc.Operator(cube, hc.Grid((64,) * 3, 2 / 3))
    random = torch.Generator().manual_seed(1)
    y, x = torch.rand(flat.shape, generator=random), torch.rand((64,) * 3, generator=random)
    works = [both("250^2 from 1000 views, halocline", hc.to_autograd(patches), y), both("A of 64^3, halocline's Operator", hc.to_autograd(A), x),
             both("A of 64^3, halocline's Context", hc.to_autograd(hc.Context(cube, hc.Grid((64,) * 3, 2 / 3)).operator), x)]
    try:
        works += [both("250^2 from 1000 views, astra", astra_layer(flat, (1, 250, 250), adjoint=True), y),
                  both("A of 64^3, astra", astra_layer(cube, (64,) * 3), x)]
    except Exception as error:  # no CUDA, or not installed
        log(f"no ASTRA: {error}")
    for (name, _), found in zip(works, microseconds(runs, *[run for _, run in works])):
        result[f"layer, {name}"] = found
    return result


def astra_layer(geometry, shape, adjoint=False):
    import astra
    import astra.experimental
    import torch
    if not astra.use_cuda():
        raise RuntimeError("ASTRA has no CUDA here")
    views, rows, columns = geometry.shape
    half = [size / 3 for size in shape]  # of voxels of 2 / 3 mm
    room = astra.create_vol_geom(shape[1], shape[2], shape[0], -half[2], half[2], -half[1], half[1], -half[0], half[0])
    angles = np.arange(views) * 2 * np.pi / views
    projector = astra.create_projector("cuda3d", astra.create_proj_geom("cone", 1.0, 1.0, rows, columns, angles, 600.0, 300.0), room)

    def project(x):
        y = torch.empty((rows, views, columns), device=x.device)
        astra.experimental.direct_FP3D(projector, x.contiguous(), y)
        return y

    def backproject(y):
        x = torch.empty(shape, device=y.device)
        astra.experimental.direct_BP3D(projector, x, y.contiguous())
        return x

    there, back = (backproject, project) if adjoint else (project, backproject)

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            return there(values.detach().reshape((rows, views, columns) if adjoint else shape))

        @staticmethod
        def backward(ctx, gradient):
            return back(gradient).reshape((views, rows, columns) if adjoint else shape)

    return Layer.apply


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 64, 256], help="of the volumes of CGLS")
    parser.add_argument("--json", help="write the figures there")
    options = parser.parse_args()
    queue = queue_on_gpu()
    result = {"device": queue.device.name}
    for part in (lambda runs: latency_of_patches(queue, runs), lambda runs: latency_of_slices(queue, runs),
                 lambda runs: iterations(runs, options.sizes), layers):
        try:
            found = part(options.runs)
        except ImportError as error:
            log(str(error))
            continue
        result.update(found)
        for name, figures in found.items():
            log(f"{name}: {figures['median']:g} us, least {figures['least']:g}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
