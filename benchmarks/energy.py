#!/usr/bin/env python3
"""Joules of reconstruction: the power is polled while the command runs, as Nourazar & Goossens (2021) did with NVIDIA's cards.

Needs Python 3.9 and numpy. Power comes from nvidia-smi (NVML, the card's), rocm-smi (the card's), or Intel's RAPL counters under
/sys/class/powercap (the processors' packages, without their memory); --source names one, and without it the first that there is.
--meter COMMAND is any other: a program that prints watts, a number a line, until it is killed.

Two runs that differ in --iterations and --fewer are measured in turns, and the difference of their energies over that of their
iterations is the energy of an iteration: reading, kernels that are built and set-up do not count. Watts, seconds and joules in the table
are of all that the difference holds; "above idle" is without what the device takes when it does nothing, measured for --idle seconds
before. An image is a slice: its joules are those of --iterations iterations over the number of slices. Cards average over as much as a
second, so the longer run should take several: choose --iterations so.

The scan is a stack of fans (or with --beam parallel a parallel beam) of --slices slices of --size^2 pixels and --views views of as many
detector pixels, which is the paper's experiment, once by each of --operators. After -- comes a command of your own without its
--iterations and -o, whose images are --slices:

  benchmarks/energy.py --device gpu --size 512 --views 720 --slices 32 --iterations 2000 --fewer 200 --json energy.json
  benchmarks/energy.py --slices 64 -- reconstruct -i projections.mha --geometry scan.xml --method sirt --like volume.mha
"""
import argparse
import glob
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import time

import numpy as np

from harness import Halocline, log, markdown

POWERCAP = "/sys/class/powercap"
FEWEST_SAMPLES = 5  # of a run


class Printed:
    """A program that prints watts line by line; stdbuf makes it print each at once."""

    def __init__(self, name, words):
        self.name, self.words = name, [*(["stdbuf", "-oL"] if shutil.which("stdbuf") else []), *words]

    def poll(self, add, ended):
        with subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True) as program:
            threading.Thread(target=lambda: (ended.wait(), program.kill()), daemon=True).start()
            for line in program.stdout:
                try:
                    add(float(line))
                except ValueError:
                    if line.strip():
                        raise SystemExit(f"{self.name} printed {line.strip()!r}; expected a number of watts a line")


class Rocm:
    """rocm-smi, asked again and again."""

    def __init__(self, card):
        self.name, self.card = f"rocm-smi, card {card}", card

    def poll(self, add, ended):
        while not ended.is_set():
            ran = subprocess.run(["rocm-smi", "-d", str(self.card), "--showpower", "--json"], capture_output=True, text=True, check=True)
            watts = [value for card in json.loads(ran.stdout).values() for name, value in card.items() if "Power (W)" in name]
            if not watts:
                raise SystemExit(f"{self.name} says no power: {ran.stdout.strip()}")
            add(float(watts[0]))


class Rapl:
    """Counters of energy in microjoules, of all packages; they begin again at a maximum."""

    def __init__(self, folders):
        self.name, self.folders = f"RAPL, {len(folders)} packages", folders
        self.most = [self.read(folder, "max_energy_range_uj") for folder in folders]

    @staticmethod
    def read(folder, name):
        with open(os.path.join(folder, name)) as file:
            return int(file.read())

    def poll(self, add, ended):
        before, then = [self.read(folder, "energy_uj") for folder in self.folders], time.perf_counter()
        while not ended.wait(0.05):
            counts, now = [self.read(folder, "energy_uj") for folder in self.folders], time.perf_counter()
            used = sum((count - last) % most for count, last, most in zip(counts, before, self.most))
            add(1e-6 * used / (now - then))
            before, then = counts, now


def nvidia(card):
    if shutil.which("nvidia-smi") is None:
        return None
    words = ["nvidia-smi", f"--id={card}", "--query-gpu=power.draw", "--format=csv,noheader,nounits"]
    tried = subprocess.run(words, capture_output=True, text=True)
    try:
        float(tried.stdout)
    except ValueError:
        return None
    return Printed(f"nvidia-smi, card {card}", [*words, "-lms", "50"])


def rocm(card):
    return Rocm(card) if shutil.which("rocm-smi") else None


def rapl(_):
    packages = [each for each in sorted(glob.glob(os.path.join(POWERCAP, "intel-rapl:*"))) if os.path.basename(each).count(":") == 1]
    return Rapl(packages) if packages and all(os.access(os.path.join(each, "energy_uj"), os.R_OK) for each in packages) else None


SOURCES = {"nvidia-smi": nvidia, "rocm-smi": rocm, "rapl": rapl}


def source_of(options):
    if options.meter:
        return Printed(options.meter, shlex.split(options.meter))
    for name in [options.source] if options.source else SOURCES:
        found = SOURCES[name](options.card)
        if found:
            return found
    raise SystemExit(f"no power to read from {options.source or ', '.join(SOURCES)}: nvidia-smi and rocm-smi need a card that they know, "
                     f"and RAPL readable files {POWERCAP}/intel-rapl:*/energy_uj (root alone can read them on most systems); or give "
                     "--meter COMMAND, which prints watts")


class Meter:
    """Polls a source in a thread. `with` it, then joules() between two times of the clock."""

    def __init__(self, source):
        self.source, self.samples, self.failure, self.ended = source, [], None, threading.Event()
        self.thread = threading.Thread(target=self.poll, daemon=True)

    def poll(self):
        try:
            self.source.poll(lambda watts: self.samples.append((time.perf_counter(), watts)), self.ended)
        except (SystemExit, Exception) as error:  # goes to the thread that asks
            self.failure = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join(5)

    def joules(self, begin, end):
        """Integral of the power, which is taken to be straight between samples."""
        inside = [(at, watts) for at, watts in list(self.samples) if begin <= at <= end]
        if len(inside) < FEWEST_SAMPLES:
            why = f": {self.failure}" if self.failure else f"; expected {FEWEST_SAMPLES} or more: give more --iterations or --idle"
            raise SystemExit(f"{self.source.name} gave {len(inside)} samples in {end - begin:.2f} s{why}")
        at, watts = np.array(inside).T
        grid = np.concatenate([[begin], at, [end]])
        power = np.interp(grid, at, watts)
        return float(np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(grid)))


class Scan:
    """Files of a phantom's scan, and the words of its reconstruction."""

    def __init__(self, run, folder, options):
        at = lambda name: os.path.join(folder, name)
        n, slices = options.size, options.slices
        fan = options.beam == "fan"
        beam = ["--sdd", 2 * 4 * n, "--fan-stack"] if fan else ["--sdd", 0, "--arc", 180]
        run("geometry", "circular", "--sid", 4 * n, *beam, "--projections", options.views, "-o", at("g.xml"))
        pixel = f"{2 if fan else 1},1"
        grid = ["--size", f"{n},{n},{slices}", "--spacing", "1,1,1"]
        run("project", "--phantom", "shepp-logan-hc", "--phantom-size", 0.9 * n, "--geometry", at("g.xml"), "--detector",
            f"{n},{slices}", "--pixel", pixel, "-o", at("p.mha"))
        self.words = ["reconstruct", "-i", at("p.mha"), "--geometry", at("g.xml"), "--method", options.method, *grid]


def measure(run, meter, words, iterations):
    """Iterations, seconds and joules of a whole process."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        report, _ = run.report(*words, "--iterations", iterations, "-o", os.path.join(folder, "o.mha"))
        end = time.perf_counter()
    return report["results"]["iterations"], end - begin, meter.joules(begin, end)


def row_of(name, run, meter, words, idle, options):
    """Figures of the difference of two runs, the medians of --runs. A run before them builds kernels."""
    measure(run, meter, words, options.fewer)
    differences = []
    for _ in range(options.runs):
        fewer = measure(run, meter, words, options.fewer)
        more = measure(run, meter, words, options.iterations)
        differences.append(np.subtract(more, fewer))
    count, seconds, joules = np.median(differences, axis=0)
    if not (count > 0 and seconds > 0):
        raise SystemExit(f"{name}: {count:g} iterations more took {seconds:.3g} s; give more --iterations, and --gap 0 or --tolerance 0 where "
                         "a method ends by itself")
    each, above = joules / count, (joules - idle * seconds) / count
    images = options.iterations / options.slices
    log(f"{name}: {joules / seconds:.4g} W, {each:.4g} J an iteration")
    return {"name": name, "iterations": options.iterations, "fewer": options.fewer, "slices": options.slices, "seconds": float(seconds),
            "watts": float(joules / seconds), "joules": float(joules), "joules_an_iteration": float(each),
            "joules_an_image": float(each * images), "joules_an_image_above_idle": float(above * images), "idle_watts": idle}


def command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halocline", help="the command")
    parser.add_argument("--device", help="what --device gets")
    parser.add_argument("--source", choices=list(SOURCES))
    parser.add_argument("--meter", metavar="COMMAND", help="a program that prints watts, a number a line")
    parser.add_argument("--card", type=int, default=0, help="number of the card, as nvidia-smi and rocm-smi count")
    parser.add_argument("--size", type=int, default=512, help="pixels along each edge of a slice, and of the detector")
    parser.add_argument("--views", type=int, default=720)
    parser.add_argument("--slices", type=int, default=32, help="images that are reconstructed at once")
    parser.add_argument("--beam", choices=["fan", "parallel"], default="fan")
    parser.add_argument("--method", default="cgls")
    parser.add_argument("--operators", nargs="+", choices=["rays", "matrix", "matrix-half", "symmetric"], default=["rays", "matrix"])
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--fewer", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--idle", type=float, default=5, help="seconds to measure the power at rest")
    parser.add_argument("--json", help="write the rows there, too")
    parser.add_argument("command", nargs="*", help="after --: a command of your own, instead of the scan")
    options = parser.parse_args()
    if not 0 < options.fewer < options.iterations:
        parser.error(f"--fewer is {options.fewer}; expected less than --iterations, {options.iterations}, and at least 1")
    return options


def main():
    options = command_line()
    source = source_of(options)
    run = Halocline(options.halocline, options.device)
    rows = []
    with tempfile.TemporaryDirectory() as folder, Meter(source) as meter:
        begin = time.perf_counter()
        time.sleep(options.idle)
        end = time.perf_counter()
        idle = meter.joules(begin, end) / (end - begin)
        log(f"{source.name}: {idle:.4g} W at rest")
        if options.command:
            jobs = [(" ".join(options.command[:1]), options.command)]
        else:
            words = Scan(run, folder, options).words
            jobs = [(f"{options.method}, {operator}", [*words, "--operator", operator]) for operator in options.operators]
        for name, words in jobs:
            rows.append({"source": source.name, **row_of(name, run, meter, words, idle, options)})
    print(f"Power by {source.name}; {idle:.4g} W at rest.\n")
    print(markdown(["job", "W", "s", "J", "J an iteration", "J an image", "J an image, above idle"],
                   [[row["name"], *(f"{row[key]:.4g}" for key in ("watts", "seconds", "joules", "joules_an_iteration", "joules_an_image",
                                                                  "joules_an_image_above_idle"))] for row in rows]), end="")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
