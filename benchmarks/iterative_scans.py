#!/usr/bin/env python3
"""Real scans with few views or a short arc: FDK, FDK and PDU, CGLS, OS-SART, ASD-POCS and SPDHG with total variation side by side.

Needs Python 3.9 and numpy, and --data with the scans that docs/references.md names: three acrylic discs of the Helsinki Tomography
Challenge 2022 from every twelfth of 720 views and from arcs of 90 and 60 degrees, tomopy's tooth from every third of 181 views (from
counts, so with weights), a cylinder in a cone beam from 20 of 40 views, and frames of a gel.

All are compared with FDK of all views of the same scan, and with that denoised by PDU: RMSE in the field of view, in percent of the
material's value. FDK of all views is noisy itself, which is a floor of the first figure. "left out" is the RMS difference between the
projections of a result and the measured views that were not used, in percent of the largest of these. Discs are segmented by Otsu's
threshold, too; MCC is Matthews' correlation with the segmentation that was published with them. A method comes with the strength
(alpha, lambda) that it chooses by itself, and as "best" with the one of a ladder, or the number of passes, that has the least RMSE to
the denoised FDK: what one cannot know without it. --pictures writes rows of FDK, PDU, CGLS, SPDHG and the denoised FDK of all views.

  benchmarks/iterative_scans.py --data FOLDER --json scans.json --pictures FOLDER
  benchmarks/iterative_scans.py --data FOLDER --only ta
"""
import argparse
import json
import os
import struct
import tempfile
import zlib

import numpy as np

from harness import Halocline, markdown, read_mha, log, write_mha

DISC_PIXEL, TOOTH_VIEWS = 0.148322, 181


def write_png(path, grey):
    """grey: 2D, from 0 to 1."""
    pixels = np.clip(np.round(255 * grey), 0, 255).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    part = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(rows, 9)) + part(b"IEND", b""))


def side_by_side(images, low, high, gap=4):
    """2D images of one height in a row, values from low to high as 0 to 1."""
    bar = np.ones((images[0].shape[0], gap))
    row = [bar]
    for image in images:
        row += [np.clip((image - low) / (high - low), 0, 1), bar]
    return np.hstack(row[1:-1])


def otsu(values):
    """The threshold with the largest variance between the two classes (Otsu 1979), of 256 bins."""
    counts, edges = np.histogram(values, 256)
    centres = 0.5 * (edges[1:] + edges[:-1])
    below, sum_below = np.cumsum(counts)[:-1], np.cumsum(counts * centres)[:-1]
    all_of, sum_of = counts.sum(), (counts * centres).sum()
    between = (sum_of * below - sum_below * all_of) ** 2 / np.maximum(below * (all_of - below), 1)
    return edges[1:][np.argmax(between)]


def matthews(found, truth):
    """The correlation of two classifications (Matthews 1975)."""
    both, neither = (found & truth).sum(dtype=float), (~found & ~truth).sum(dtype=float)
    more, fewer = (found & ~truth).sum(dtype=float), (~found & truth).sum(dtype=float)
    size = np.sqrt((both + more) * (both + fewer) * (neither + more) * (neither + fewer))
    return (both * neither - more * fewer) / size if size > 0 else 0.0


class Scan:
    """All views of a scan: its files, its reference and where it is judged."""

    def __init__(self, run, folder, name, projections, geometry, views, grid, spacing, radius, slices=None, counts=()):
        self.run, self.folder, self.name, self.views, self.radius = run, folder, name, views, radius
        self.grid = ["--size", ",".join(map(str, grid)), "--spacing", ",".join([str(spacing)] * 3)]
        self.source = ["-i", projections, "--geometry", geometry, *counts, *self.grid]
        self.geometry, self.segmentation = geometry, None
        self.integrals = self.line_integrals(projections, counts)
        self.everything = ["--views", f"0:{views - 1}"]
        run("fdk", *self.source, *self.everything, "--halves-out", self.at("a.mha") + "," + self.at("b.mha"), "-o", self.at("full.mha"))
        run("denoise", "-i", self.at("full.mha"), "--method", "pdu", "--halves", self.at("a.mha") + "," + self.at("b.mha"), "-o",
            self.at("clean.mha"))
        self.full, self.clean = self.voxels("full.mha"), self.voxels("clean.mha")
        y, x = np.ogrid[:grid[1], :grid[0]]
        inside = np.hypot(y - 0.5 * (grid[1] - 1), x - 0.5 * (grid[0] - 1)) * spacing < radius
        self.judged = np.broadcast_to(inside, self.full.shape).copy()
        if slices:
            self.judged[:slices[0]], self.judged[slices[1]:] = False, False
        self.material = self.judged & (self.clean > otsu(self.clean[self.judged]))
        self.mu = float(np.median(self.clean[self.material]))

    def at(self, name):
        return os.path.join(self.folder, name)

    def voxels(self, name):
        return read_mha(self.at(name))[0]

    def line_integrals(self, projections, counts):
        if counts:
            self.run("counts", "-i", projections, *counts[1:], "-o", self.at("integrals.mha"))
            projections = self.at("integrals.mha")
        with open(projections, "rb") as file:
            text = file.read(2000).split(b"ElementDataFile")[0].decode("ascii")
        header = dict(line.split(" = ", 1) for line in text.splitlines())
        size, pixel, origin = (header[key].split()[:2] for key in ("DimSize", "ElementSpacing", "Offset"))
        self.detector = ["--detector", ",".join(size), "--pixel", ",".join(pixel), "--detector-origin", ",".join(origin)]
        return read_mha(projections)[0]

    def rmse(self, voxels, reference):
        return 100 * float(np.sqrt(np.mean((voxels - reference)[self.judged].astype(np.float64) ** 2))) / self.mu


class Part:
    """Some of the views of a scan."""

    def __init__(self, scan, title, first, last, step, arc):
        self.scan, self.run, self.title, self.arc = scan, scan.run, title, arc
        self.source = [*scan.source, "--views", f"{first}:{last}:{step}"]
        self.left_out = np.setdiff1d(np.arange(scan.views), np.arange(first, last + 1, step))
        self.rows, self.kept = [], {}

    def judge(self, name):
        """Figures of a volume in the scan's folder."""
        scan, voxels = self.scan, self.scan.voxels(name)
        figures = {"to_full": scan.rmse(voxels, scan.full), "to_clean": scan.rmse(voxels, scan.clean)}
        if scan.segmentation is not None:
            figures["mcc"] = float(matthews(voxels[0] > otsu(voxels[0]), scan.segmentation))
        return figures

    def prediction(self, name):
        if not len(self.left_out):
            return None
        scan = self.scan
        self.run("project", "-i", scan.at(name), "--geometry", scan.geometry, *scan.detector, "-o", scan.at("predicted.mha"))
        b = scan.integrals[self.left_out]
        return 100 * float(np.sqrt(np.mean((scan.voxels("predicted.mha")[self.left_out] - b) ** 2)) / b.max())

    def add(self, method, name, setting, kept=None):
        """A row for a volume. kept: its name in pictures."""
        row = {"scan": self.scan.name, "views": self.title, "method": method, "setting": setting, **self.judge(name),
               "left_out": self.prediction(name)}
        self.rows.append(row)
        if kept:
            self.kept[kept] = self.scan.voxels(name)
        log(f"{self.scan.name}, {self.title}: {method} ({setting}): " +
             ", ".join(f"{key} {row[key]:.4g}" for key in ("to_full", "to_clean", "mcc", "left_out") if row.get(key) is not None))
        return row

    def best(self, trials):
        """The setting with the least RMSE to the denoised FDK; trials: pairs of it and what makes the volume x.mha."""
        least = None
        for setting, make in trials:
            make()
            error = self.judge("x.mha")["to_clean"]
            if least is None or error < least[0]:
                least = (error, setting)
                os.replace(self.scan.at("x.mha"), self.scan.at("best.mha"))
        return least[1]

    def fdk(self):
        scan = self.scan
        halves = [scan.at("odd.mha") + "," + scan.at("even.mha")]
        incomplete = ["--allow-incomplete-arc"] if self.arc else []
        self.run("fdk", *self.source, *incomplete, "--halves-out", *halves, "-o", scan.at("fdk.mha"))
        self.add("FDK", "fdk.mha", "", "fdk")
        denoise = ["denoise", "-i", scan.at("fdk.mha"), "--method", "pdu"]
        report = self.run.report(*denoise, "--halves", *halves, "-o", scan.at("x.mha"))[0]
        alpha = report["results"]["alpha"]
        self.add("FDK, PDU", "x.mha", f"alpha {alpha:.3g}, chosen")
        trial = lambda each: lambda: self.run(*denoise, "--alpha", each, "-o", scan.at("x.mha"))
        best = self.best([(each, trial(each)) for each in alpha * 2.0 ** np.arange(-5, 3)])
        self.add("FDK, PDU", "best.mha", f"alpha {best:.3g}, best", "pdu")

    def reconstruct(self, *words):
        return self.run.report("reconstruct", *self.source, *words, "-o", self.scan.at("x.mha"))[0]["results"]

    def classical(self):
        for method, title, passes, words in (("cgls", "CGLS", (4, 6, 8, 10, 12, 15, 20, 40), []),
                                             ("os-sart", "OS-SART", (1, 2, 3, 5, 8, 12, 20, 40), ["--nonnegative"]),
                                             ("asd-pocs", "ASD-POCS", (10, 20, 50, 100), ["--nonnegative"])):
            trial = lambda each: lambda: self.reconstruct("--method", method, "--iterations", each, *words)
            best = self.best([(each, trial(each)) for each in passes])
            self.add(title, "best.mha", f"{best} passes, best", method)

    def spdhg(self):
        results = self.reconstruct()
        said = lambda each: f"{each['iterations']:.3g} passes, gap {each['relative_gap']:.2g}"
        chosen = results["lambda"]
        self.add("SPDHG-TV", "x.mha", f"lambda {chosen:.3g}, chosen; {said(results)}", "spdhg")
        trial = lambda each: lambda: self.reconstruct("--lambda", each)
        best = self.best([(each, trial(each)) for each in chosen * 2.0 ** np.arange(-2, 4)])
        self.add("SPDHG-TV", "best.mha", f"lambda {best:.3g}, best")
        bound = 1.25 * self.scan.mu  # beam hardening makes edges brighter than the middle
        results = self.reconstruct("--lambda", chosen, "--maximum", f"{bound:.3g}")
        self.add("SPDHG-TV", "x.mha", f"lambda {chosen:.3g}, at most {bound:.3g} per mm; {said(results)}", "bounded")

    def all(self):
        self.fdk()
        self.classical()
        self.spdhg()
        return self.rows


def discs(run, folder, data, names):
    geometry = os.path.join(folder, "disc.xml")
    run("geometry", "circular", "--sid", 410.66, "--sdd", 553.74, "--projections", 721, "--arc", 360.5, "-o", geometry)
    for name in names:
        stem = os.path.join(data, "fan_htc2022", "htc_" + name)
        scan = Scan(run, folder, name, stem + "_projections.mha", geometry, 720, (512, 512, 1), DISC_PIXEL, 37)
        scan.integrals = scan.integrals[:720]
        scan.segmentation = read_mha(stem + "_reference_segmentation.mha")[0][0] > 0
        scan.mu = float(np.median(scan.full[0][scan.segmentation]))
        yield Part(scan, "60 of 720", 0, 719, 12, False)
        yield Part(scan, "90 degrees", 0, 180, 1, True)
        yield Part(scan, "60 degrees", 0, 120, 1, True)


def tooth(run, folder, data):
    at = lambda name: os.path.join(data, "parallel_tooth", "tooth_" + name + ".mha")
    geometry = os.path.join(folder, "tooth.xml")
    run("geometry", "circular", "--sid", 1000, "--sdd", 0, "--projections", TOOTH_VIEWS, "--arc", 180, "-o", geometry)
    counts = ["--counts", "--flat", at("flats"), "--dark", at("darks")]
    scan = Scan(run, folder, "tooth", at("counts"), geometry, TOOTH_VIEWS, (600, 600, 2), 1, 280, counts=counts)
    yield Part(scan, "61 of 181", 0, 180, 3, False)


def cylinder(run, folder, data):
    geometry = os.path.join(folder, "cylinder.xml")
    run("geometry", "circular", "--sid", 71.6364, "--sdd", 619.7902, "--projections", 40, "-o", geometry)
    scan = Scan(run, folder, "cylinder", os.path.join(data, "cone_cylinder", "cylinder_lineint.mha"), geometry, 40, (65, 65, 80), 0.36986,
                11.3, (12, 78))
    yield Part(scan, "20 of 40", 0, 39, 2, False)
    yield Part(scan, "40 of 40", 0, 39, 1, False)


def picture(part, path):
    scan = part.scan
    names = [name for name in ("fdk", "pdu", "cgls", "spdhg") if name in part.kept]
    middle = scan.full.shape[0] // 2
    images = [part.kept[name][middle] for name in names] + [scan.clean[middle]]
    write_png(path, side_by_side(images, -0.1 * scan.mu, 1.3 * scan.mu))


class Gel:
    """17 frames of 72 views; 128^2 pixels."""

    FRAMES, VIEWS, BEFORE, LATER = 17, 72, 0, 10

    def __init__(self, run, folder, data):
        self.run, self.folder = run, folder
        self.at = lambda name: os.path.join(folder, name)
        run("geometry", "circular", "--sid", 99.9995, "--sdd", 299.99926, "--projections", self.VIEWS, "-o", self.at("gel.xml"))
        run("geometry", "circular", "--sid", 99.9995, "--sdd", 299.99926, "--projections", self.FRAMES * self.VIEWS, "--arc",
            360 * self.FRAMES, "-o", self.at("gel-all.xml"))
        self.file = os.path.join(data, "fan_gel_dynamic", "gel_17x72_projections.mha")
        self.grid = ["--size", "128,128,1", "--spacing", "0.26667,0.26667,0.26667"]
        self.rows, self.series = [], {}

    def each(self, stem, make):
        for n in range(self.FRAMES):
            make(n, self.at(f"{stem}_{n:02d}.mha"))
        return self.read(stem)

    def read(self, stem):
        return np.stack([read_mha(self.at(f"{stem}_{n:02d}.mha"))[0][0] for n in range(self.FRAMES)])

    def frame(self, n):
        return ["-i", self.file, "--geometry", self.at("gel-all.xml"), "--views", f"{n * self.VIEWS}:{(n + 1) * self.VIEWS - 1}", *self.grid]

    def everything(self):
        """Names of methods and their frames."""
        run, at = self.run, self.at
        run("fdk", "-i", self.file, "--geometry", at("gel.xml"), "--views-per-frame", self.VIEWS, *self.grid, "-o", at("f_%02d.mha"))
        frames = [at(f"f_{n:02d}.mha") for n in range(self.FRAMES)]
        yield "FDK", "", self.read("f")
        yield "FDK, PDU of each frame", "chosen", self.each("d", lambda n, out: run("denoise", "-i", frames[n], "--method", "pdu", "-o", out))
        run("denoise", "-i", *frames, "--method", "pdu4d", "--time-weight", 0.3, "-o", at("t_%02d.mha"))
        yield "FDK, pdu4d", "--time-weight 0.3", self.read("t")
        chosen = run.report("reconstruct", *self.frame(8), "-o", at("x.mha"))[0]["results"]["lambda"]
        solve = lambda n, out, *words: run("reconstruct", *self.frame(n), "--lambda", chosen, *words, "-o", out)
        yield "SPDHG-TV of each frame", f"lambda {chosen:.3g}, chosen", self.each("s", solve)
        run("reconstruct", "-i", self.file, "--geometry", at("gel-all.xml"), *self.grid, "--lambda", chosen * np.sqrt(self.FRAMES), "-o",
            at("mean.mha"))
        guided = lambda n, out: solve(n, out, "--reference", at("mean.mha"))
        yield "SPDHG-TV, guided by that of all frames", f"lambda {chosen:.3g}", self.each("g", guided)
        run("denoise", "-i", *[at(f"s_{n:02d}.mha") for n in range(self.FRAMES)], "--method", "pdu4d", "--time-weight", 0.3, "-o",
            at("st_%02d.mha"))
        yield "SPDHG-TV of each frame, pdu4d", "--time-weight 0.3", self.read("st")

    def all(self):
        change = None
        for method, setting, frames in self.everything():
            second = np.abs(frames[:-2] - 2 * frames[1:-1] + frames[2:]) / np.sqrt(6)
            if method == "FDK, pdu4d":
                change = frames[self.LATER] - frames[self.BEFORE] > 0.01
            self.series[method] = frames
            still = frames[:, 56:76, 52:76]  # gel between the straws
            self.rows.append({"method": method, "setting": setting, "flicker": float(np.median(second) / 0.6745),
                              "still": float(np.mean(still.std(axis=(1, 2)))), "frames": frames})
            log(f"gel, {method}: flicker {self.rows[-1]['flicker']:.3g}, noise {self.rows[-1]['still']:.3g}")
        for row in self.rows:
            frames = row.pop("frames")
            row["contrast"] = float((frames[self.LATER] - frames[self.BEFORE])[change].mean())
        return self.rows


def text(value):
    return "" if value is None else f"{value:.4f}" if value < 1 else f"{value:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with fan_htc2022, parallel_tooth, cone_cylinder, fan_gel_dynamic")
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--device", default=None)
    parser.add_argument("--only", nargs="*", help="of solid_disc, ta, tb, tooth, cylinder, gel")
    parser.add_argument("--pictures", help="folder to write pictures to")
    parser.add_argument("--json", help="write the rows there, too")
    options = parser.parse_args()
    run = Halocline(options.halocline, options.device)
    wanted = lambda name: not options.only or name in options.only
    rows, gel = [], []

    def save():
        if options.json:
            with open(options.json, "w") as file:
                json.dump({"scans": rows, "gel": gel}, file, indent=1)

    with tempfile.TemporaryDirectory() as folder:
        parts = [discs(run, folder, options.data, [name for name in ("solid_disc", "ta", "tb") if wanted(name)])]
        parts += [make(run, folder, options.data) for make, name in ((tooth, "tooth"), (cylinder, "cylinder")) if wanted(name)]
        for part in (each for group in parts for each in group):
            rows += part.all()
            if options.pictures:
                stem = f"{part.scan.name}-{part.title}".replace(" ", "-")
                picture(part, os.path.join(options.pictures, stem + ".png"))
                np.savez_compressed(os.path.join(options.pictures, stem + ".npz"), clean=part.scan.clean, full=part.scan.full, **part.kept)
            save()
        if wanted("gel"):
            scan = Gel(run, folder, options.data)
            gel += scan.all()
            if options.pictures:
                names = ("FDK", "FDK, pdu4d", "SPDHG-TV of each frame", "SPDHG-TV, guided by that of all frames")
                panel = [side_by_side(list(scan.series[name][:17:4]), 0, 0.06) for name in names]
                write_png(os.path.join(options.pictures, "gel.png"), np.vstack(panel))
                np.savez_compressed(os.path.join(options.pictures, "gel.npz"), **{name: scan.series[name] for name in names})
            save()
    if rows:
        print(markdown(["scan", "views", "method", "set by", "to FDK of all, %", "denoised, %", "MCC", "left out, %"],
                       [[row["scan"], row["views"], row["method"], row["setting"], text(row["to_full"]), text(row["to_clean"]),
                         text(row.get("mcc")), text(row["left_out"])] for row in rows]))
    if gel:
        print(markdown(["method", "set by", "flicker", "noise", "contrast"],
                       [[row["method"], row["setting"], f"{row['flicker']:.5f}", f"{row['still']:.5f}", f"{row['contrast']:.4f}"]
                        for row in gel]))


if __name__ == "__main__":
    main()
