#!/usr/bin/env python3
"""All denoising methods side by side, on real volumes at the same distance from the data and on phantoms against the truth.

Real volumes (from the folder --data or $HALOCLINE_TEST_DATA; left out by name where they are absent): every method is brought to the
same ||u - f||, PDU's and S-PDU's alpha by `--target-fidelity`, a filter's width by bisection. Then the time, the energy
1/2 ||u - f||^2 + TV(u) / alpha with PDU's alpha for everyone, the noise in uniform boxes, and the step and the 10-90 % width of three
edges, from an error function fitted to their profiles. S-PDU takes the variances of --weights NAME=FILE, else local ones.
Phantoms: two balls with white noise at a PSNR of 22.8 dB, and the blade with noise that went through FDK; strengths chosen by the
program. SSIM, MSE and PSNR are those of `halocline metrics`.

Markdown on stdout; in --folder pictures of a slice and, where Python has Pillow, a real volume's side by side in one grey window
(NAME-montage.png). Methods that this halocline does not have are left out, and so are those of --skip.

  benchmarks/compare_denoise.py --data /path/to/volumes --folder compare
"""
import argparse
import math
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("No module named 'numpy': this script needs it (Debian: python3-numpy)")

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError:
    Image = None

from harness import Halocline, energy, markdown, read_mha, log, two_balls, write_mha

METHODS = ["pdu", "spdu", "tvgd", "gaussian", "median", "nlm"]

# Boxes and edges in voxels (x, y, z) of the cropped volume, upper ends not included. An edge lies across its axis in the middle of its
# box. rms: the distance from the data, where it is not left to the estimate: on the tooth it is the boxes' own deviation, so that
# runs stay comparable when the estimate changes. window: grey values of the pictures, narrow enough to show the noise.
SCENES = {
    "tooth": {
        "file": "volume_tooth/tooth.mha",
        "crop": ((0, 0, 60), (103, 94, 150)),
        "boxes": [((5, 5, 2), (30, 20, 40)), ((33, 42, 58), (42, 51, 67)), ((54, 33, 55), (63, 42, 64))],
        "edges": [("x", (80, 43, 12), (102, 48, 20)), ("x", (1, 58, 28), (23, 63, 36)), ("y", (40, 14, 30), (56, 35, 36))],
        "rms": 11.4,
        "slice": 60,
        "window": (740, 960),
    },
    "head phantom": {
        "file": "volume_head_phantom/headphantom_bone_YA_crop128x256x256.mha",
        "twin": "volume_head_phantom/headphantom_soft_iDose_UB_crop128x256x256.mha",
        "crop": ((90, 40, 40), (190, 140, 104)),
        "boxes": [((55, 12, 15), (82, 40, 35)), ((22, 59, 15), (40, 82, 35)), ((60, 60, 15), (90, 90, 35))],
        "edges": [("x", (36, 15, 20), (58, 35, 30)), ("x", (79, 15, 20), (100, 35, 30)), ("y", (55, 36, 24), (80, 58, 27))],
        "slice": 25,
        "window": (20, 180),
    },
}


def part(volume, lower, upper):
    return volume[lower[2]:upper[2], lower[1]:upper[1], lower[0]:upper[0]]


def fit_edge(volume, axis, lower, upper):
    """(step, 10-90 % width in voxels) of low + step (1 + erf((x - centre) / (sqrt(2) sigma))) / 2, by Levenberg-Marquardt."""
    box = part(volume, lower, upper).astype(np.float64)
    profile = box.mean(axis=(0, 1) if axis == "x" else (0, 2))
    x = np.arange(profile.size)
    erf = np.vectorize(math.erf)

    def model(p):
        return p[0] + 0.5 * p[1] * (1 + erf((x - p[2]) / (math.sqrt(2) * p[3])))

    p = np.array([profile[:3].mean(), profile[-3:].mean() - profile[:3].mean(), 0.5 * (profile.size - 1), 1.5])
    damping, rest = 1e-3, profile - model(p)
    for _ in range(200):
        t = (x - p[2]) / p[3]
        bell = np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
        slopes = np.stack([np.ones_like(t), 0.5 * (1 + erf(t / math.sqrt(2))), -p[1] / p[3] * bell, -p[1] / p[3] * t * bell])
        normal = slopes @ slopes.T
        change = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), slopes @ rest)
        candidate = p + change
        candidate[3] = max(abs(candidate[3]), 0.05)
        after = profile - model(candidate)
        if after @ after <= rest @ rest:
            small = np.abs(change).max() < 1e-9 * np.abs(p).max()
            p, rest, damping = candidate, after, damping / 10
            if small:
                break
        else:
            damping *= 10
    return p[1], 2 * 1.2815515655 * p[3]


def local_variance(volume, block=8):
    """In blocks of 8^3 voxels the squared median of |f(z) - f(z + 1)|, within 0.25 and 2 times the usual; linear in between."""
    differences = np.abs(np.diff(volume.astype(np.float64), axis=0))
    counts = [max(1, n // block) for n in volume.shape]
    blocks = np.empty(counts)
    for k in range(counts[0]):
        for j in range(counts[1]):
            for i in range(counts[2]):
                here = differences[k * block:(k + 1) * block, j * block:(j + 1) * block, i * block:(i + 1) * block]
                blocks[k, j, i] = np.median(here) ** 2
    usual = np.median(blocks)
    result = np.clip(blocks, 0.25 * usual, 2 * usual)
    for axis, n in enumerate(volume.shape):
        at = (np.arange(n) + 0.5) / block - 0.5
        result = np.apply_along_axis(lambda row: np.interp(at, np.arange(row.size), row), axis, result)
    return result.astype(np.float32)


def montage(path, panels, number, window, spacing):
    """A PNG of slice `number` of every (name, volume), four in a row, black and white at the ends of the window."""
    if Image is None:
        log(f"{path} left out: No module named 'PIL' (Debian: python3-pil)")
        return
    low, high = window
    scale, bar, gap, across = 300 / max(panels[0][1].shape[1:]), 26, 6, 4
    tall, wide = (round(n * scale * h / spacing[0]) for n, h in zip(panels[0][1].shape[1:], (spacing[1], spacing[0])))
    rows = -(-len(panels) // across)
    sheet = Image.new("L", (min(across, len(panels)) * (wide + gap) - gap, rows * (tall + bar)), 255)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(16)
    for n, (name, volume) in enumerate(panels):
        x, y = n % across * (wide + gap), n // across * (tall + bar)
        grey = np.clip((volume[number] - low) / (high - low), 0, 1) * 255
        sheet.paste(Image.fromarray(grey.round().astype(np.uint8)).resize((wide, tall), Image.NEAREST), (x, y + bar))
        draw.text((x + 2, y + 3), name, fill=0, font=font)
    sheet.save(path, optimize=True)


class Runner:
    """Denoises one file, and remembers how each method was set."""

    def __init__(self, halocline, source, folder, repeats):
        self.halocline, self.source, self.folder, self.repeats = halocline, source, folder, repeats
        self.f, self.spacing = read_mha(source)

    def once(self, method, words):
        output = os.path.join(self.folder, f"{method}.mha")
        report, _ = self.halocline.report("denoise", "-i", self.source, "--method", method, *words, "-o", output)
        return report, output

    def __call__(self, method, words):
        """(volume, path, report of the fastest of the runs)"""
        runs = [self.once(method, words) for _ in range(self.repeats)]
        report, output = min(runs, key=lambda run: run[0]["seconds"]["denoise"])
        return read_mha(output)[0], output, report

    def distance(self, method, words):
        return float(np.linalg.norm(read_mha(self.once(method, words)[1])[0].astype(np.float64) - self.f))

    def settle(self, method, target, weights):
        """Words that bring the method to ||u - f|| = target, and a text that says how."""
        if method in ("pdu", "spdu"):
            more = ["--weights", weights] if method == "spdu" else []
            report, _ = self.once(method, [*more, "--target-fidelity", target])
            alpha = report["results"]["alpha"]
            return [*more, "--alpha", alpha], f"alpha {alpha:.4g}"
        if method == "tvgd":
            return ["--target-fidelity", target], "the distance"
        if method == "median":
            radius = min((1, 2, 3), key=lambda n: abs(self.distance(method, ["--radius", n]) - target))
            return ["--radius", radius], f"radius {radius}, the nearest"
        option = "--sigma" if method == "gaussian" else "--strength"
        low, high = 0.02, 20.0
        for _ in range(14):
            middle = math.sqrt(low * high)
            reached = self.distance(method, [option, middle])
            if abs(reached / target - 1) < 2e-3:
                break
            low, high = (middle, high) if reached < target else (low, middle)
        return [option, middle], f"{option[2:]} {middle:.3g}"


def real_table(halocline, name, scene, methods, options):
    path = os.path.join(options.data or "", scene["file"])
    if not options.data or not os.path.exists(path):
        print(f"{name}: left out, there is no {scene['file']} in the folder of --data or HALOCLINE_TEST_DATA\n")
        return
    folder = os.path.join(options.folder, name.replace(" ", "-"))
    os.makedirs(folder, exist_ok=True)
    whole, spacing = read_mha(path)
    f = part(whole, *scene["crop"])
    source = os.path.join(folder, "before.mha")
    write_mha(source, f, spacing)
    weights = dict(each.split("=", 1) for each in options.weights).get(name.split()[0])
    if weights is None:
        weights = os.path.join(folder, "weights.mha")
        write_mha(weights, local_variance(f), spacing)
    twin = os.path.join(options.data, scene.get("twin", "none"))
    twin = part(read_mha(twin)[0], *scene["crop"]) if os.path.exists(twin) else None

    run = Runner(halocline, source, folder, options.repeats)
    if "rms" in scene:
        target, chosen = scene["rms"] * math.sqrt(f.size), "given"
    else:
        target = run.once("pdu", [])[0]["results"]["fidelity"]
        chosen = "that of PDU, whose strength the program chose"
    words, how = run.settle("pdu", target, None)
    alpha = words[-1]
    certified, _ = run.once("pdu", ["--alpha", alpha, "--gap", 1e-5, "--iterations", 3000])
    rois = [word for lower, upper in scene["boxes"] for word in ("--roi", ",".join(map(str, lower + upper)))]
    window = ",".join(map(str, scene["window"]))
    rows, panels = [], []

    def row(method, how, volume, file, seconds):
        measured = halocline.metrics("-i", file, *rois)
        edges = [fit_edge(volume, *edge) for edge in scene["edges"]]
        rows.append([method, how, seconds, f"{energy(volume, f, 1 / alpha, spacing):.6g}",
                     f"{np.linalg.norm(volume.astype(np.float64) - f) / math.sqrt(f.size):.4g}",
                     *[f"{box['std']:.3g}" for box in measured["boxes"]],
                     *[f"{step:.4g} / {width:.3g}" for step, width in edges]])
        if twin is not None:
            rows[-1].append(f"{np.sqrt(np.mean((volume.astype(np.float64) - twin) ** 2)):.4g}")
        panels.append((method if not how else f"{method}, {how}", volume))
        halocline("preview", "-i", file, "--axis", "z", "--slice", scene["slice"], f"--window={window}", "-o",
                  os.path.join(folder, f"{method}.png"), "--quiet")

    row("before", "", f, source, "")
    for method in methods:
        log(f"{name}: {method}")
        if method != "pdu":
            words, how = run.settle(method, target, weights)
        volume, file, report = run(method, words)
        row(method, how, volume, file, f"{report['seconds']['denoise']:.3g}")
    if twin is not None:
        panels.append(("the smooth twin", twin))
    montage(os.path.join(options.folder, f"{name.replace(' ', '-')}-montage.png"), panels, scene["slice"], scene["window"], spacing)
    print(f"{name.capitalize()}, {' x '.join(map(str, f.shape[::-1]))} voxels, ||u - f|| / sqrt(N) = {target / math.sqrt(f.size):.4g} "
          f"({chosen}), energy with alpha {alpha:.4g}, certified minimum {certified['results']['dual']:.6g}:\n")
    header = ["method", "set by", "s", "energy", "RMS change", "noise 1", "noise 2", "noise 3"]
    header += [f"edge {n}, step / voxels" for n in (1, 2, 3)] + (["RMSE to the smooth twin"] if twin is not None else [])
    print(markdown(header, rows))


def quality_row(halocline, method, file, truth, how, seconds):
    m = halocline.metrics("-i", file, "--reference", truth)["reference"]
    return [method, how, seconds, f"{m['ssim']:.4f}", f"{m['mse']:.4g}", f"{m['psnr_db']:.2f}"]


QUALITY = ["method", "chosen by the program", "s", "SSIM", "MSE", "PSNR, dB"]


def chosen(report):
    results = report["results"]
    return f"alpha {results['alpha']:.4g}" if "alpha" in results else str(results.get("chosen_by", ""))


def quality_table(halocline, folder, noisy, truth, methods, options, first, weights=None):
    run = Runner(halocline, noisy, folder, options.repeats)
    rows = [quality_row(halocline, first, noisy, truth, "", "")]
    for method in methods:
        if method == "spdu" and weights is None:
            continue
        log(f"{os.path.basename(folder)}: {method}")
        _, file, report = run(method, ["--weights", weights] if method == "spdu" else [])
        rows.append(quality_row(halocline, method, file, truth, chosen(report), f"{report['seconds']['denoise']:.3g}"))
        halocline("preview", "-i", file, "--montage", "-o", file[:-4] + ".png", "--quiet")
    print(markdown(QUALITY, rows))


def phantom_table(halocline, methods, options):
    folder = os.path.join(options.folder, "two-balls")
    os.makedirs(folder, exist_ok=True)
    truth = two_balls(halocline, options.size, folder)
    clean, _ = read_mha(truth)
    sigma = float(clean.max()) * 10 ** (-options.psnr / 20)
    noise = np.random.default_rng(1).standard_normal(clean.shape)
    noisy = os.path.join(folder, "before.mha")
    write_mha(noisy, clean + sigma * noise, like=truth)
    print(f"Two balls, {options.size}^3 voxels, white noise of {sigma:.4g} (PSNR {options.psnr:g} dB):\n")
    quality_table(halocline, folder, noisy, truth, methods, options, "before")


def blade_table(halocline, methods, options):
    folder = os.path.join(options.folder, "blade")
    os.makedirs(folder, exist_ok=True)
    n, at = options.size, lambda name: os.path.join(folder, name)
    grid = ["--size", f"{n},{n},{n}", "--spacing", ",".join([f"{128 / n:g}"] * 3)]
    counts = ["--photons", 3000, "--electronic", 5]
    log("blade: scan and FDK")
    halocline("phantom", "--type", "blade", *grid, "--phantom-size", 120, "-o", at("truth.mha"), "--quiet")
    halocline("geometry", "circular", "--sid", 600, "--sdd", 1200, "--projections", 2 * n, "-o", at("geometry.xml"), "--quiet")
    halocline("project", "--phantom", "blade", "--phantom-size", 120, "--geometry", at("geometry.xml"), "--detector", f"{2 * n},{2 * n}",
              "--pixel", f"{160 / n:g},{160 / n:g}", "-o", at("projections.mha"), "--quiet")
    halocline("noise", "-i", at("projections.mha"), *counts, "--seed", 1, "-o", at("noisy.mha"), "--quiet")
    halocline("fdk", "-i", at("noisy.mha"), "--geometry", at("geometry.xml"), "--like", at("truth.mha"), "--variance-out",
              at("variance.mha"), *counts, "-o", at("before.mha"), "--quiet")
    print(f"Blade, {n}^3 voxels of {128 / n:g} mm, FDK of {2 * n} views of {2 * n} x {2 * n} pixels, 3000 photons:\n")
    quality_table(halocline, folder, at("before.mha"), at("truth.mha"), methods, options, "FDK", at("variance.mha"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halocline", help="the command; default: on the path, or built here")
    parser.add_argument("--device", help="as halocline takes it")
    parser.add_argument("--data", default=os.environ.get("HALOCLINE_TEST_DATA"), help="folder of the real volumes")
    parser.add_argument("--folder", default="compare-denoise", help="for volumes and pictures (default %(default)s)")
    parser.add_argument("--weights", nargs="*", default=[], metavar="NAME=FILE", help="variances for spdu: tooth=FILE, head=FILE")
    parser.add_argument("--skip", nargs="*", default=[], choices=METHODS, help="methods to leave out")
    parser.add_argument("--only", nargs="*", choices=["tooth", "head", "phantom", "blade"], help="tables; default: all")
    parser.add_argument("--size", type=int, default=128, help="of the phantoms (default %(default)s)")
    parser.add_argument("--psnr", type=float, default=22.8, help="of the two balls before, dB (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts (default %(default)s)")
    options = parser.parse_args()
    if options.repeats < 1 or options.size < 16:
        parser.error("expected --repeats from 1 and --size from 16")
    for each in options.weights:
        if "=" not in each or each.split("=", 1)[0] not in ("tooth", "head"):
            parser.error(f"--weights {each}: expected tooth=FILE or head=FILE")

    halocline = Halocline(options.halocline, options.device)
    offered = halocline.methods()
    methods = [each for each in METHODS if each in offered and each not in options.skip]
    missing = [each for each in METHODS if each not in offered]
    if missing:
        print(f"left out, this halocline does not have them: {', '.join(missing)}\n")
    wanted = options.only or ["tooth", "head", "phantom", "blade"]
    for name, scene in SCENES.items():
        if name.split()[0] in wanted:
            real_table(halocline, name, scene, methods, options)
    if "phantom" in wanted:
        phantom_table(halocline, methods, options)
    if "blade" in wanted:
        blade_table(halocline, methods, options)


if __name__ == "__main__":
    main()
