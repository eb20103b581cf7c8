"""Programs that the host compiles for a described GPU, written down by the layer of tests/support/limits_layer.cpp."""
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HALOCLINE_BUILD", ROOT / "build" / "release"))
COMMAND = BUILD / "bin" / "halocline"
CASES = BUILD / "tests" / "oclgrind_kernels"
LAYER = BUILD / "tests" / "limits_layer.so"


@dataclass
class Program:
    """options: of the compiler; by_default: a job of the command runs it without being asked to."""

    file: Path
    options: list
    by_default: bool


SCAN = ["--geometry", "g.xml"]
VOLUME = ["--like", "v.mha", "-o", "out.mha"]
# Jobs of the command as users run them: nothing asks for a form of a kernel.
JOBS = [
    *(["project", "-i", "v.mha", *SCAN, "--detector", "40,24", "--pixel", "3,3", "--projector", each, "-o", "out.mha"]
      for each in ("joseph", "siddon", "distance-driven")),
    *(["backproject", "-i", "p.mha", *SCAN, "--projector", each, *VOLUME]
      for each in ("voxel", "joseph", "siddon", "distance-driven")),
    *(["fdk", "-i", "p.mha", *SCAN, *VOLUME, *each]
      for each in ([], ["--interpolation", "hardware"], ["--interpolation", "half"],
                   ["--variance-out", "w.mha", "--photons", "1000"])),
    ["fdk", "-i", "q.mha", "--geometry", "parallel.xml", *VOLUME, "--algorithm", "gridding"],
    *(["denoise", "-i", "v.mha", "-o", "out.mha", "--iterations", "4", "--method", *each.split()]
      for each in ("pdu --alpha 0.01", "pdu --alpha 0.01 --duals snorm16", "pdu --alpha 0.01 --tv huber --huber-delta 0.01",
                   "spdu --alpha 0.01 --weights v.mha", "tvgd", "tvgd --adaptive-delta 0.01",
                   "tvgd --weights v.mha")),
    *(["denoise", "-i", "v.mha", "-o", "out.mha", "--method", each] for each in ("gaussian", "median", "nlm")),
    *(["reconstruct", "-i", "p.mha", *SCAN, *VOLUME, "--iterations", "2", "--method", each]
      for each in ("spdhg", "fista", "cgls", "lsqr", "sirt", "os-sart", "asd-pocs", "mlem", "fdk")),
]
INPUTS = [
    ["phantom", "--type", "shepp-logan", "--size", "33,31,29", "--spacing", "3,3,3", "--phantom-size", "80", "-o", "v.mha"],
    ["geometry", "circular", "--sid", "500", "--sdd", "900", "--projections", "36", "-o", "g.xml"],
    ["project", "--phantom", "shepp-logan", "--phantom-size", "80", *SCAN, "--detector", "40,24", "--pixel", "5,5", "-o",
     "p.mha"],
    ["geometry", "circular", "--sid", "500", "--sdd", "0", "--arc", "180", "--projections", "36", "-o", "parallel.xml"],
    ["project", "--phantom", "shepp-logan", "--phantom-size", "80", "--geometry", "parallel.xml", "--detector", "40,24",
     "--pixel", "3,3", "-o", "q.mha"],
]


def run(words, limits, folder, may_fail=False):
    environment = dict(os.environ, OPENCL_LAYERS=str(LAYER), HALOCLINE_LIMITS=limits, HALOCLINE_STAGE_TRANSFERS="0",
                       HALOCLINE_CACHE_DIR=str(folder / "cache"))
    done = subprocess.run([str(word) for word in words], env=environment, cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800, check=False)
    if done.returncode != 0 and not may_fail:
        sys.exit(f"scripts/compile-for-gpus: '{' '.join(map(str, words))}' failed with HALOCLINE_LIMITS={limits}:\n"
                 + done.stdout[-3000:])
    return done.stdout


def capture(described, folder):
    """Runs jobs, self-check and cases on the described device; their programs lie in folder/default and folder/all."""
    shutil.rmtree(folder, ignore_errors=True)
    for each in ("default", "all"):
        (folder / each).mkdir(parents=True)
    quiet = ["--quiet", "--no-tune"]
    for words in INPUTS:
        run([COMMAND, *words, *quiet], "gpu=1", folder)
    default, every = (f"{described},programs={folder / each}" for each in ("default", "all"))
    for words in JOBS:
        # some ask for what the described device lacks, and are refused
        run([COMMAND, *words, *quiet], default, folder, may_fail="--interpolation" in words)
    run([COMMAND, "devices", "--check"], every, folder)
    count = int(run([CASES], every, folder))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(lambda case: run([CASES, case], every, folder, may_fail=True), range(count)))


def capture_units(described, folder):
    """Has the described device compile its forms for matrix units, which fails; their programs lie in folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run([CASES, "matrix-units"], f"{described},programs={folder}", folder)
    for file in folder.glob("*.cl"):
        if "-D UNITS_" not in file.read_text().split("\n", 1)[0]:
            file.unlink()


def once(capturing, described, folder):
    """Captures programs into the folder, where those of an earlier run serve while nothing was built since."""
    builds = (COMMAND, CASES, LAYER)
    missing = [str(each) for each in builds if not each.exists()]
    if missing:
        sys.exit(f"scripts/compile-for-gpus: {', '.join(missing)} is missing; run scripts/test or build it first")
    stamp = " ".join([described, *(str(each.stat().st_mtime_ns) for each in builds)])
    complete = folder / "complete"
    if not complete.exists() or complete.read_text() != stamp:
        capturing(described, folder)
        complete.write_text(stamp)


def programs(gpu, described, folder):
    """All programs of the GPU's family, and for its matrix units, each once. folder: where those of earlier runs lie."""
    family, units = folder / gpu.family, folder / f"{gpu.name}-units"
    once(capture, described, family)
    lists = [(family / "default", True), (family / "all", False)]
    if gpu.units:
        once(capture_units, f"{described},{gpu.units}", units)
        lists.append((units, True))
    found = {}
    for place, by_default in lists:
        for file in sorted(place.glob("*.cl")):
            first = file.read_text().split("\n", 1)[0].removeprefix("// options: ")
            found.setdefault(file.name, Program(file, first.split(), by_default))
    return list(found.values())

