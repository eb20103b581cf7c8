#!/usr/bin/env python3
"""FDK and Joseph's projector beside RTK's on the CPU: the same geometry file and projections, values and times.

Needs Python 3.9, numpy and itk-rtk (pip install itk-rtk). Both reconstruct an analytic Shepp-Logan phantom on the same grid;
the difference is taken inside the phantom, where both detectors see it, as a share of its value 1. Times are from projections
in memory to the volume in memory, in turns, the best of --runs; the first run of each, which compiles, is not counted. In brackets
the processor's seconds on all cores (of halocline: of the command, less those of its start), which other work on the machine changes
less.
"""
import argparse
import os
import tempfile
import time

import numpy as np

from harness import Halocline, read_mha

SCANS = {
    "full": [],
    "tilted": ["--out-of-plane", "4", "--in-plane", "3"],
    "offset": ["--proj-offset-x", "6", "--proj-offset-y", "-4", "--source-offset-x", "5"],
    "short": ["--arc", "220"],
    "short tilted": ["--arc", "220", "--out-of-plane", "2", "--in-plane", "2"],
    "displaced": ["--proj-offset-x", "40"],
}
MU, DIAMETER = 0.02, 120


def timed(work):
    """Seconds by the clock and of the processor."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def rtk_geometry(rtk, path):
    reader = rtk.ThreeDCircularProjectionGeometryXMLFileReader.New()
    reader.SetFilename(path)
    reader.GenerateOutputInformation()
    return reader.GetOutputObject()


def rtk_fdk(itk, rtk, geometry, projections, size, spacing):
    image = itk.Image[itk.F, 3]
    source = rtk.ConstantImageSource[image].New()
    source.SetSize([size] * 3)
    source.SetSpacing([spacing] * 3)
    source.SetOrigin([-0.5 * (size - 1) * spacing] * 3)
    displaced = rtk.DisplacedDetectorImageFilter[image].New()
    displaced.SetInput(projections)
    displaced.SetGeometry(geometry)
    displaced.SetPadOnTruncatedSide(True)
    parker = rtk.ParkerShortScanImageFilter[image].New()
    parker.SetInput(displaced.GetOutput())
    parker.SetGeometry(geometry)
    parker.InPlaceOff()
    fdk = rtk.FDKConeBeamReconstructionFilter[image].New()
    fdk.SetInput(0, source.GetOutput())
    fdk.SetInput(1, parker.GetOutput())
    fdk.SetGeometry(geometry)
    fdk.GetRampFilter().SetTruncationCorrection(0)
    seconds = timed(fdk.Update)
    return itk.array_from_image(fdk.GetOutput()), seconds


def rtk_joseph(itk, rtk, geometry, volume, projections):
    image = itk.Image[itk.F, 3]
    source = rtk.ConstantImageSource[image].New()
    source.SetInformationFromImage(projections)
    joseph = rtk.JosephForwardProjectionImageFilter[image, image].New()
    joseph.SetInput(0, source.GetOutput())
    joseph.SetInput(1, volume)
    joseph.SetGeometry(geometry)
    source.Update()
    seconds = timed(joseph.Update)
    return itk.array_from_image(joseph.GetOutput()), seconds


def inside(size, spacing, share):
    """Voxels whose distance from the middle is below `share` of the phantom's radius."""
    at = (np.arange(size) - 0.5 * (size - 1)) * spacing
    z, y, x = np.meshgrid(at, at, at, indexing="ij")
    return x**2 + y**2 + z**2 < (share * 0.5 * DIAMETER) ** 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=96, help="voxels along each edge, detector pixels and views")
    parser.add_argument("--scans", default=",".join(SCANS), help="which, by name")
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    import itk
    from itk import RTK as rtk

    run = Halocline(options.halocline, options.device)
    n = options.size
    spacing = 1.1 * DIAMETER / n
    print("| scan | RMS difference inside | largest | halocline fdk | RTK fdk | ratio | halocline joseph | RTK joseph | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        for scan in options.scans.split(","):
            views = n if "short" not in scan else int(n * 220 / 360)
            run("geometry", "circular", "--sid", 600, "--sdd", 1200, "--projections", 2 * views, "-o", at("g.xml"), *SCANS[scan])
            pitch = str(2.9 * DIAMETER / n)
            detector = ["--geometry", at("g.xml"), "--detector", f"{n},{n}", "--pixel", f"{pitch},{pitch}"]
            run("project", "--phantom", "shepp-logan-hc", "--phantom-size", DIAMETER, "--mu", MU, "-o", at("p.mha"), *detector)
            origin = str(-0.5 * (n - 1) * spacing)
            grid = ["--size", f"{n},{n},{n}", "--spacing", ",".join([str(spacing)] * 3), "--origin", ",".join([origin] * 3),
                    "--direction", "1,0,0,0,1,0,0,0,1"]
            projections = itk.imread(at("p.mha"), itk.F)
            geometry = rtk_geometry(rtk, at("g.xml"))
            ours, theirs, our_rays, their_rays = [], [], [], []
            for _ in range(options.runs + 1):
                report, cpu = run.measured("fdk", "-i", at("p.mha"), "--geometry", at("g.xml"), "-o", at("v.mha"), *grid)
                ours.append((report["seconds"]["fdk"], cpu))
                value, seconds = rtk_fdk(itk, rtk, geometry, projections, n, spacing)
                theirs.append(seconds)
                volume = itk.imread(at("v.mha"), itk.F)
                report, cpu = run.measured("project", "-i", at("v.mha"), "-o", at("q.mha"), *detector)
                our_rays.append((report["seconds"]["project"], cpu))
                their_rays.append(rtk_joseph(itk, rtk, geometry, volume, projections)[1])
            found = read_mha(at("v.mha"))[0]
            mask = inside(n, spacing, 0.6)
            difference = (found - value)[mask] / MU
            best = [np.min(times[1:], axis=0) for times in (ours, theirs, our_rays, their_rays)]
            cell = lambda seconds: f"{seconds[0]:.3f} s ({seconds[1]:.2f})"
            print(f"| {scan} | {100 * np.sqrt(np.mean(difference**2)):.3f} % | {100 * np.abs(difference).max():.3f} % "
                  f"| {cell(best[0])} | {cell(best[1])} | {best[1][0] / best[0][0]:.2f} | {cell(best[2])} | {cell(best[3])} "
                  f"| {best[3][0] / best[2][0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
