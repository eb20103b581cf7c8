#!/usr/bin/env python3
"""The same jobs in Python packages side by side: lines of code and seconds on one computer, for FDK, CGLS, SIRT and TV denoising.

Needs the package `halocline` and numpy; of astra-toolbox (with CUDA), itk-rtk and scikit-image, those that are there take part. A job is the source of one function below, from an array and a geometry to an array; its lines are counted without blanks, imports and
its first line. Seconds are the least of --runs after one that does not count.

  benchmarks/python_peers.py --size 64 --json peers.json
"""
import argparse
import inspect
import json
import time
import warnings

import numpy as np

import halocline as hc
from harness import markdown, log

warnings.simplefilter("ignore")
SID, SDD, PIXEL = 600.0, 1200.0, 400.0


def fdk_halocline(y, angles, n):
    geometry = hc.Geometry.circular(SID, SDD, angles, (n, n), PIXEL / n)
    return hc.fdk(y, geometry, hc.Grid((n, n, n), 160 / n))


def cgls_halocline(y, angles, n):
    geometry = hc.Geometry.circular(SID, SDD, angles, (n, n), PIXEL / n)
    return hc.reconstruct(y, geometry, hc.Grid((n, n, n), 160 / n), method="cgls", iterations=10)


def os_sart_halocline(y, angles, n):
    geometry = hc.Geometry.circular(SID, SDD, angles, (n, n), PIXEL / n)
    return hc.reconstruct(y, geometry, hc.Grid((n, n, n), 160 / n), method="os-sart", iterations=3)


def fista_halocline(y, angles, n):
    geometry = hc.Geometry.circular(SID, SDD, angles, (n, n), PIXEL / n)
    return hc.reconstruct(y, geometry, hc.Grid((n, n, n), 160 / n), method="fista", iterations=20, lambda_=0.05, gap=0)


def denoise_halocline(f):
    return hc.denoise(f, method="pdu", alpha=100, iterations=100, gap=0)


def scan_of_rtk(y, angles, n):
    import itk
    from itk import RTK as rtk
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
    for angle in angles:
        geometry.AddProjection(SID, SDD, float(angle))
    stack = itk.image_view_from_array(y)
    stack.SetSpacing([PIXEL / n, PIXEL / n, 1])
    stack.SetOrigin([-PIXEL / n * (n - 1) / 2, -PIXEL / n * (n - 1) / 2, 0])
    image = itk.Image[itk.F, 3]
    volume = rtk.ConstantImageSource[image].New(Size=[n] * 3, Spacing=[160 / n] * 3, Origin=[-160 / n * (n - 1) / 2] * 3)
    return geometry, stack, image, volume


def fdk_rtk(y, angles, n):
    import itk
    from itk import RTK as rtk
    geometry, stack, image, volume = scan_of_rtk(y, angles, n)
    fdk = rtk.FDKConeBeamReconstructionFilter[image].New(Geometry=geometry)
    fdk.SetInput(0, volume.GetOutput())
    fdk.SetInput(1, stack)
    fdk.Update()
    return itk.array_from_image(fdk.GetOutput())


def cgls_rtk(y, angles, n):
    import itk
    from itk import RTK as rtk
    geometry, stack, image, volume = scan_of_rtk(y, angles, n)
    cg = rtk.ConjugateGradientConeBeamReconstructionFilter[image].New(NumberOfIterations=10)
    cg.SetInput(0, volume.GetOutput())
    cg.SetInput(1, stack)
    cg.SetGeometry(geometry)
    cg.Update()
    return itk.array_from_image(cg.GetOutput())


def os_sart_rtk(y, angles, n):
    import itk
    from itk import RTK as rtk
    geometry, stack, image, volume = scan_of_rtk(y, angles, n)
    sart = rtk.SARTConeBeamReconstructionFilter[image, image].New(NumberOfIterations=3, NumberOfProjectionsPerSubset=len(angles) // 10)
    sart.SetInput(0, volume.GetOutput())
    sart.SetInput(1, stack)
    sart.SetGeometry(geometry)
    sart.Update()
    return itk.array_from_image(sart.GetOutput())


def fdk_astra(y, angles, n):
    return of_astra("FDK_CUDA", 1, y, angles, n)


def cgls_astra(y, angles, n):
    return of_astra("CGLS3D_CUDA", 10, y, angles, n)


def of_astra(algorithm, iterations, y, angles, n):
    import astra
    if not astra.use_cuda():
        raise ImportError("ASTRA's cone beams need CUDA")
    scan = astra.create_proj_geom("cone", PIXEL / n, PIXEL / n, n, n, np.radians(angles), SID, SDD - SID)
    room = astra.create_vol_geom(n, n, n, -80, 80, -80, 80, -80, 80)
    stack = astra.data3d.create("-proj3d", scan, np.ascontiguousarray(y.transpose(1, 0, 2)))
    volume = astra.data3d.create("-vol", room)
    job = astra.astra_dict(algorithm)
    job["ProjectionDataId"], job["ReconstructionDataId"] = stack, volume
    number = astra.algorithm.create(job)
    astra.algorithm.run(number, iterations)
    found = astra.data3d.get(volume)
    astra.algorithm.delete(number)
    astra.data3d.delete([stack, volume])
    return found


def denoise_scikit_image(f):
    from skimage.restoration import denoise_tv_chambolle
    return denoise_tv_chambolle(f, weight=0.01, max_num_iter=100, eps=0)


def lines_of(function):
    """Those of what it calls here count as its own; the call itself and what such a helper returns do not."""
    helper = next((each for each in (scan_of_rtk, of_astra) if each.__name__ + "(" in inspect.getsource(function)), None)
    source = inspect.getsource(function).splitlines()[1:]
    if helper is not None:
        source = [line for line in source if helper.__name__ not in line]
        source += inspect.getsource(helper).splitlines()[1:] if helper is of_astra else inspect.getsource(helper).splitlines()[1:-1]
    apart = ("import", "from", "if not astra.use_cuda", "raise")
    return sum(1 for line in source if line.strip() and not line.strip().startswith(apart))


def measured(function, runs, *inputs):
    try:
        function(*inputs)
    except ImportError:
        return None
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        function(*inputs)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    n = options.size
    angles = np.arange(0, 360, 360 / (2 * n))
    volume = hc.phantom("shepp-logan", hc.Grid((n, n, n), 160 / n))
    y = hc.project(volume, hc.Geometry.circular(SID, SDD, angles, (n, n), PIXEL / n)).array
    f = volume.array + np.random.default_rng(1).normal(0, 0.002, volume.shape).astype(np.float32)
    rows = []
    for job, functions in {"FDK": (fdk_halocline, fdk_astra, fdk_rtk), "CGLS, 10 iterations": (cgls_halocline, cgls_astra, cgls_rtk),
                           "OS-SART, 3 passes": (os_sart_halocline, os_sart_rtk), "FISTA-TV, 20 passes": (fista_halocline,),
                           "TV denoising, 100 iterations": (denoise_halocline, denoise_scikit_image)}.items():
        for function in functions:
            seconds = measured(function, options.runs, *((f,) if "denoise" in function.__name__ else (y, angles, n)))
            if seconds is not None:
                name = function.__name__.split("_", 1 if not function.__name__.startswith("os_sart") else 2)[-1].replace("_", "-")
                rows.append({"job": job, "package": name, "lines": lines_of(function), "seconds": seconds})
                log(str(rows[-1]))
    print(markdown(["job", "package", "lines", "s"], [[r["job"], r["package"], r["lines"], f"{r['seconds']:.3g}"] for r in rows]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
