#!/usr/bin/env python3
"""Time to equal energy of halocline on the CPU and of what Python's package index has for total variation in 3D.

All get the same volume (two balls with white noise), the same strength and the same cores, and are judged by the same
objective, 1/2 ||u - f||^2 + TV(u) / alpha, evaluated in double precision. Its minimum is bracketed by a long run of halocline with its
certificate. For each target the number of iterations that a method needs is looked for first; then all methods
are timed in turns, several times, and the best time of each counts. Times are from an array in memory to an array in memory: of
halocline the stage `denoise` of its report (noise estimate, transfers and evaluations of the gap included, starting the program
and files not; the whole process is shown beside it).

Peers (each is left out, by name, where it is not installed):
  scikit-image       denoise_tv_chambolle: Chambolle 2004, n-dimensional
  scikit-image       denoise_tv_bregman: split Bregman, but in 2D: another objective for a volume
  pyproximal         TV.prox: Beck & Teboulle 2009, fast gradient projection of the dual
  pyunlocbox         norm_tv.prox: the same method
  itk-totalvariation ProxTVImageFilter (proxTV): anisotropic variation, another objective
Those with another objective are shown with the energy that they come to with the same strength after some iterations.

  python3 -m venv peers; peers/bin/pip install scikit-image pyproximal pyunlocbox itk-totalvariation
  peers/bin/python benchmarks/peers_denoise.py --halocline build/release/bin/halocline
"""
import argparse
import contextlib
import importlib
import importlib.metadata
import io
import os
import platform
import sys
import tempfile
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--halocline", help="the command; default: on the path, or built here")
    parser.add_argument("--size", type=int, default=128, help="voxels along each edge (default %(default)s)")
    parser.add_argument("--noise", type=float, default=0.1, help="standard deviation (default %(default)s)")
    parser.add_argument("--alpha", type=float, default=15, help="1 / strength of the variation (default %(default)s)")
    parser.add_argument("--targets", type=float, nargs="+", default=[1e-3, 1e-4],
                        help="energies above the certified minimum, relative (default %(default)s)")
    parser.add_argument("--cores", type=int, default=2, help="for everybody (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="of which the best counts (default %(default)s)")
    parser.add_argument("--budget", type=float, default=60, help="seconds that one run may take, and all repeats of it together")
    parser.add_argument("--peers", nargs="*", help="some of the names in the first column; default: all")
    parser.add_argument("--device", default="cpu", help="for halocline (default %(default)s)")
    options = parser.parse_args()
    if options.size < 8 or options.cores < 1 or options.repeats < 1 or min(options.targets) < 1e-5:
        parser.error("expected --size from 8, --cores and --repeats from 1, --targets from 1e-5")
    return options


OPTIONS = arguments()
# Before numpy and the peers are loaded: threads and cores.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:OPTIONS.cores])
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
             "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"):
    os.environ[name] = str(OPTIONS.cores)

try:
    import numpy as np
except ImportError:
    sys.exit("No module named 'numpy': this script needs it (Debian: python3-numpy)")

from harness import Halocline, energy, markdown, read_mha, log, two_balls, write_mha  # noqa: E402


class Ours:
    """halocline denoise --method pdu, by iterations or by its certificate."""

    exact = True

    def __init__(self, halocline, path, folder, by_gap):
        self.halocline, self.path, self.by_gap = halocline, path, by_gap
        self.name = "halocline pdu, by its certificate" if by_gap else "halocline pdu"
        self.output = os.path.join(folder, "ours.mha")

    def __call__(self, setting):
        how = ["--gap", setting, "--iterations", 5000] if self.by_gap else ["--gap", 1e-9, "--iterations", setting]
        report, self.process = self.halocline.report("denoise", "-i", self.path, "--method", "pdu", "--alpha", OPTIONS.alpha,
                                                     *how, "-o", self.output)
        self.iterations = report["results"]["iterations"]
        return report["seconds"]["denoise"], read_mha(self.output)[0]


class Peer:
    """run(f, strength, iterations) -> u. fixed: so many iterations of a method with another objective."""

    def __init__(self, name, package, make, fixed=None):
        self.name, self.fixed, self.iterations, self.process = name, fixed, 0, float("nan")
        self.exact = fixed is None
        self.make, self.package = make, package

    def load(self, f):
        self.f = f
        self.run = self.make()
        self.name += " " + importlib.metadata.version(self.package)

    def __call__(self, iterations):
        self.iterations = iterations
        with contextlib.redirect_stdout(io.StringIO()):
            start = time.perf_counter()
            u = self.run(self.f, 1 / OPTIONS.alpha, iterations)
            seconds = time.perf_counter() - start
        return seconds, np.asarray(u, np.float32).reshape(self.f.shape)


def chambolle():
    run = importlib.import_module("skimage.restoration").denoise_tv_chambolle
    return lambda f, strength, n: run(f, weight=strength, eps=0, max_num_iter=n)


def bregman():
    run = importlib.import_module("skimage.restoration").denoise_tv_bregman
    return lambda f, strength, n: run(f, weight=1 / (2 * strength), eps=0, max_num_iter=n)


def pyproximal():
    variation = importlib.import_module("pyproximal").TV
    return lambda f, strength, n: variation(f.shape, sigma=1.0, niter=n, rtol=0).prox(f.ravel(), strength)


def pyunlocbox():
    functions = importlib.import_module("pyunlocbox.functions")
    return lambda f, strength, n: functions.norm_tv(dim=3, tol=0, maxit=n, verbosity="NONE").prox(f, strength)


def prox_tv():
    itk = importlib.import_module("itk")

    def run(f, strength, n):
        image = itk.image_from_array(f)
        proximal = itk.ProxTVImageFilter[type(image), type(image)].New(image)
        proximal.SetWeights(itk.FixedArray[itk.D, 3]([strength] * 3))
        proximal.SetMaximumNumberOfIterations(n)
        proximal.Update()
        return itk.array_from_image(proximal.GetOutput())

    return run


PEERS = [
    Peer("scikit-image chambolle", "scikit-image", chambolle),
    Peer("pyproximal TV", "pyproximal", pyproximal),
    Peer("pyunlocbox norm_tv", "pyunlocbox", pyunlocbox),
    Peer("scikit-image bregman (2D)", "scikit-image", bregman, fixed=40),
    Peer("itk ProxTV (anisotropic)", "itk-totalvariation", prox_tv, fixed=20),
]


def above(u, f, minimum):
    return energy(u, f, 1 / OPTIONS.alpha) / minimum - 1


def iterations_for(method, target, f, minimum, tried):
    """(iterations, seconds, energy above the minimum) of a run that is just good enough, or the best within the budget.

    tried: iterations: (seconds, above) of earlier runs of the method. The energy falls like a power of the iterations: secants in
    log-log, until 3 % fewer iterations are known to be too few.
    """

    def attempt(n):
        if n not in tried:
            seconds, u = method(n)
            tried[n] = (seconds, above(u, f, minimum))
            log(f"  {method.name}: {n} iterations, {seconds:.2f} s, energy {tried[n][1]:.2e} above")
        return tried[n]

    low, n = 0, max([10] + [each for each, (_, excess) in tried.items() if excess > target])
    while True:
        seconds, excess = attempt(n)
        if excess <= target:
            break
        per_iteration = seconds / n
        rate = 1.0
        if low > 0 and tried[low][1] > excess > 0:
            rate = np.log(tried[low][1] / excess) / np.log(n / low)
        wanted = int(np.ceil(n * min(4.0, max(1.2, 1.02 * (excess / target) ** (1 / max(rate, 0.3))))))
        if wanted * per_iteration > OPTIONS.budget:
            wanted = int(OPTIONS.budget / per_iteration)
        if wanted <= n:
            return n, seconds, excess
        low, n = n, wanted
    high = n
    for _ in range(6):
        if high - low <= max(1, 0.03 * high):
            break
        middle = (low + high) // 2
        if low > 0:
            (_, a), (_, b) = tried[low], tried[high]
            share = np.log(a / target) / np.log(a / b) if 0 < b < a else 0.5
            middle = int(round(low * (high / low) ** min(0.9, max(0.1, share))))
        middle = min(high - 1, max(low + 1, middle))
        if attempt(middle)[1] <= target:
            high = middle
        else:
            low = middle
    return high, *tried[high]


def main():
    halocline = Halocline(OPTIONS.halocline, OPTIONS.device)
    with tempfile.TemporaryDirectory() as folder:
        clean, _ = read_mha(two_balls(halocline, OPTIONS.size, folder))
        noise = np.random.default_rng(1).standard_normal(clean.shape)
        f = (clean + OPTIONS.noise * noise).astype(np.float32)
        path = os.path.join(folder, "f.mha")
        write_mha(path, f)
        log("certified minimum")
        certified, _ = halocline.report("denoise", "-i", path, "--method", "pdu", "--alpha", OPTIONS.alpha, "--gap", 1e-6,
                                        "--iterations", 5000, "-o", os.path.join(folder, "minimum.mha"))
        minimum = certified["results"]["dual"]
        reached = above(read_mha(os.path.join(folder, "minimum.mha"))[0], f, minimum)

        methods = [Ours(halocline, path, folder, False), Ours(halocline, path, folder, True)]
        left_out = []
        for peer in PEERS:
            if OPTIONS.peers is not None and not any(peer.name.startswith(each) for each in OPTIONS.peers):
                continue
            try:
                peer.load(f)
                methods.append(peer)
            except ImportError as error:
                left_out.append(f"{peer.name}: {error}")

        runs = []  # of one method for one target
        for method in methods:
            tried = {}
            for target in OPTIONS.targets if method.exact else OPTIONS.targets[:1]:
                if isinstance(method, Ours) and method.by_gap:
                    seconds, u = method(target)
                    setting, excess = target, above(u, f, minimum)
                elif method.exact:
                    setting, seconds, excess = iterations_for(method, target, f, minimum, tried)
                else:
                    setting = method.fixed
                    seconds, u = method(setting)
                    excess = above(u, f, minimum)
                repeats = max(1, min(OPTIONS.repeats, int(OPTIONS.budget / seconds)))
                runs.append({"method": method, "target": target, "setting": setting, "excess": excess, "repeats": repeats,
                             "times": [], "process": []})

        before = os.getloadavg()
        for turn in range(OPTIONS.repeats):
            for run in runs:
                if turn >= run["repeats"]:
                    continue
                seconds, u = run["method"](run["setting"])
                run["times"].append(seconds)
                run["process"].append(run["method"].process)
                run["iterations"] = run["method"].iterations
        after = os.getloadavg()

        print(f"Two balls, {OPTIONS.size}^3 voxels, noise {OPTIONS.noise:g}, alpha {OPTIONS.alpha:g}, {OPTIONS.cores} cores of "
              f"{platform.processor() or platform.machine()}; load {before[0]:.1f} before and {after[0]:.1f} after the timing.\n"
              f"The minimum is at least {minimum:.6g} (certified); the long run came within {reached:.1e} of it.\n")
        for target in OPTIONS.targets:
            here = [run for run in runs if run["target"] == target or not run["method"].exact]
            ours = min(min(run["times"]) for run in here if run["method"] is methods[0])
            rows = []
            for run in here:
                best = min(run["times"])
                arrived = run["excess"] <= target
                process = min(run["process"])
                rows.append([run["method"].name, run["iterations"], f"{run['excess']:.1e}", f"{best:.3f} ({len(run['times'])})",
                             "" if np.isnan(process) else f"{process:.3f}",
                             f"{best / ours:.1f}" if arrived else f"over {best / ours:.1f}: not reached in {OPTIONS.budget:g} s"
                             if run["method"].exact else "another objective"])
            print(f"Energy within {target:g} of the minimum:\n")
            print(markdown(["method", "iterations", "energy above the minimum", "s, best of (runs)", "s, whole process",
                            "times ours"], rows))
            arrived = [min(run["times"]) for run in here if isinstance(run["method"], Peer) and run["excess"] <= target]
            if arrived:
                print(f"halocline is {min(arrived) / ours:.1f} times faster than the fastest of the others, "
                      f"{min(arrived):.3f} s against {ours:.3f} s.\n")
        for each in left_out:
            print(f"left out: {each}")


if __name__ == "__main__":
    main()
