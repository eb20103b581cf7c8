#!/usr/bin/env python3
"""How near a rule of `denoise --alpha` comes to the best alpha found by search, on objects with white noise: as Markdown.

Foam is finely structured all over: ones with round holes of a given radius to twice that, as many as leave 0.4 of it solid. For every
size, radius, noise and seed the command denoises it with the alpha that it chooses (once), and with alphas of a ladder of factors
2^(1/8) around that until the RMSE against the truth has a minimum, which a parabola through the three lowest makes finer. A row has all
seeds of a case.

Phantoms of the command can be taken instead of foam; noise is then in units of the standard deviation of the object's values. With
--views they are scanned with so many views, --photons and the noise of these, reconstructed, and denoised by the --halves of the scan
(--rule halves or auto).

  benchmarks/strength_sweep.py --sizes 48,48,48 64,64,1 --radii 1.5 2.5 --noise 0.05 0.1 0.2 --seeds 5
  benchmarks/strength_sweep.py --phantoms two-balls shepp-logan blade --rule discrepancy --sizes 64,64,64 --noise 0.1 0.2 0.4 --seeds 2
  benchmarks/strength_sweep.py --phantoms two-balls shepp-logan-hc blade --sizes 64,64,64 --views 20 40 60 80 160 360 --seeds 1
"""
import argparse
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit("No module named 'numpy': this script needs it (Debian: python3-numpy)")

from harness import Halocline, markdown, read_mha, log, write_mha

STEP = 2 ** 0.125  # of the search
MOST_STEPS = 24    # to either side: a factor of eight


def foam(size, radius, random):
    """float32 [z, y, x] of 0 and 1; size as x, y, z; radii of `radius` to 2 `radius` voxels."""
    volume = np.ones(size[::-1], np.float32)
    axes = [np.arange(n) for n in volume.shape]
    while volume.mean() > 0.4:
        centre = random.uniform(0, np.subtract(volume.shape, 1))
        near = random.uniform(radius, 2 * radius)
        # within the box that holds the ball
        box = tuple(slice(max(0, int(c - near)), int(c + near) + 2) for c in centre)
        z, y, x = np.ix_(*[(axis[part] - c) ** 2 for axis, part, c in zip(axes, box, centre)])
        volume[box][z + y + x < near ** 2] = 0
    return volume


def phantom(halocline, folder, size, name):
    """One of the command's, divided by the standard deviation of its values."""
    path = os.path.join(folder, "phantom.mha")
    halocline("phantom", "--type", name, "--size", ",".join(map(str, size)), "--spacing", "1,1,1", "-o", path)
    values = read_mha(path)[0]
    return (values / values.std()).astype(np.float32)


def scan(halocline, folder, size, name, views, photons, seed):
    """The truth, 1/mm, of a phantom as wide as the volume that attenuates by e^4 or so; files of its FDK and of the two halves'."""
    path = lambda file: os.path.join(folder, file)
    width = size[0]
    shape = ["--phantom-size", width, "--mu", 4 / width]
    halocline("phantom", "--type", name, "--size", ",".join(map(str, size)), "--spacing", "1,1,1", *shape, "-o", path("truth.mha"))
    halocline("geometry", "circular", "--sid", 6 * width, "--sdd", 9 * width, "--projections", views, "-o", path("g.xml"))
    pixels = width * 5 // 4
    halocline("project", "--phantom", name, *shape, "-g", path("g.xml"), "--detector", f"{pixels},{pixels}", "--pixel", "1.5,1.5", "-o",
              path("p.mha"))
    halocline("noise", "-i", path("p.mha"), "--photons", photons, "--seed", seed, "-o", path("n.mha"))
    halves = path("odd.mha") + "," + path("even.mha")
    halocline("fdk", "-i", path("n.mha"), "-g", path("g.xml"), "--like", path("truth.mha"), "--halves-out", halves, "-o", path("fdk.mha"))
    return read_mha(path("truth.mha"))[0], path("fdk.mha"), halves


class Case:
    """A noisy volume in a file, and how far what the command makes of it is from the truth. `noise` of a scan: views and photons."""

    def __init__(self, halocline, folder, size, thing, noise, seed, words):
        random = np.random.default_rng(seed)
        self.halocline, self.words = halocline, words
        self.source, self.output, self.halves = os.path.join(folder, "noisy.mha"), os.path.join(folder, "denoised.mha"), []
        if isinstance(noise, tuple):
            self.truth, self.source, halves = scan(halocline, folder, size, thing, *noise, seed)
            self.halves = ["--halves", halves]
            return
        self.truth = phantom(halocline, folder, size, thing) if isinstance(thing, str) else foam(size, thing, random)
        write_mha(self.source, self.truth + noise * random.standard_normal(self.truth.shape))

    def denoise(self, alpha):
        """(RMSE, alpha, estimated noise)"""
        halves = self.halves if alpha in ("auto", "halves") else []
        results = self.halocline.report("denoise", "-i", self.source, "--method", "pdu", "--alpha", alpha, *halves, *self.words, "-o",
                                        self.output)[0]["results"]
        change = read_mha(self.output)[0].astype(np.float64) - self.truth
        return float(np.sqrt(np.mean(change * change))), results["alpha"], results.get("noise_sigma")

    def best(self, start):
        """(RMSE, alpha) by search from `start`."""
        errors = {}

        def at(n):
            if n not in errors:
                errors[n] = self.denoise(start * STEP ** n)[0]
            return errors[n]

        lowest = 0
        for side in (1, -1):
            while abs(lowest) < MOST_STEPS and at(lowest + side) < at(lowest):
                lowest += side
        before, here, after = at(lowest - 1), at(lowest), at(lowest + 1)
        bend = before - 2 * here + after
        shift = 0.5 * (before - after) / bend if bend > 0 else 0
        return here - 0.25 * (before - after) * shift, start * STEP ** (lowest + shift)


def row_of(halocline, folder, size, radius, noise, seeds, words, rule):
    above, apart, seen = [], [], []
    text = f"{noise[0]} views" if isinstance(noise, tuple) else f"{noise:g}"
    for seed in seeds:
        case = Case(halocline, folder, size, radius, noise, seed, words)
        error, alpha, sigma = case.denoise(rule)
        best, best_alpha = case.best(alpha)
        above.append(100 * (error / best - 1))
        apart.append(alpha / best_alpha)
        seen.append(sigma / noise if not case.halves else sigma * size[0] / 4)
        log(f"{size} {radius} {text} seed {seed}: {above[-1]:.2f} %, alpha {alpha:.4g}, best {best_alpha:.4g}, "
             f"noise seen {sigma:.4g}")
    numbers = lambda values, form: ", ".join(format(value, form) for value in values)
    return [" x ".join(map(str, size)), str(radius), text, numbers(above, ".2f"), f"{max(above):.2f}", numbers(apart, ".2f"),
            numbers(seen, ".3f")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halocline", help="the command; default: on the path, or built here")
    parser.add_argument("--device", help="as halocline takes it")
    parser.add_argument("--sizes", nargs="+", default=["48,48,48", "64,64,1"], metavar="X,Y,Z", help="default: %(default)s")
    parser.add_argument("--radii", nargs="+", type=float, default=[1.5, 2.5], help="of the smallest holes, voxels (default %(default)s)")
    parser.add_argument("--phantoms", nargs="+", default=[], help="of the command, instead of foam")
    parser.add_argument("--rule", default="auto", help="of --alpha (default %(default)s)")
    parser.add_argument("--noise", nargs="+", type=float, default=[0.05, 0.1, 0.2], help="of a contrast of 1 (default %(default)s)")
    parser.add_argument("--views", nargs="+", type=int, default=[], help="scans with so many views, instead of white noise")
    parser.add_argument("--photons", type=float, default=2e4, help="a pixel, with --views (default %(default)g)")
    parser.add_argument("--seeds", type=int, default=5, help="draws of each case, 1, 2, ... (default %(default)s)")
    parser.add_argument("--gap", type=float, default=1e-3, help="relative duality gap of every run (default %(default)s)")
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes]
    if any(len(size) != 3 or min(size) < 1 for size in sizes):
        parser.error("--sizes: expected X,Y,Z")
    if options.seeds < 1 or min(options.radii) <= 0 or min(options.noise) <= 0:
        parser.error("expected --seeds from 1, and positive --radii and --noise")
    if options.views and (not options.phantoms or min(options.views) < 2 or options.photons <= 0):
        parser.error("--views: expected 2 or more, with --phantoms and positive --photons")
    noises = [(views, options.photons) for views in options.views] or options.noise
    halocline = Halocline(options.halocline, options.device)
    words = ["--gap", options.gap, "--iterations", 1000]
    with tempfile.TemporaryDirectory() as folder:
        rows = [row_of(halocline, folder, size, radius, noise, range(1, options.seeds + 1), words, options.rule)
                for size in sizes for radius in options.phantoms or options.radii for noise in noises]
    header = ["voxels", "object" if options.phantoms else "radius", "noise", "RMSE above the best, % (each seed)", "most", "alpha / the best",
              "noise of the halves / mu" if options.views else "noise seen / true"]
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
