"""Shared parts of the comparison scripts: the command, MetaImage files, the energy in double precision, Markdown.

Needs Python 3.9 and numpy. The scripts use the `halocline` command as anybody would; nothing here knows the library.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

TYPES = {"MET_UCHAR": "<u1", "MET_SHORT": "<i2", "MET_USHORT": "<u2", "MET_FLOAT": "<f4"}


def read_mha(path):
    """Voxels as float32, indexed [z, y, x], and the spacing (x, y, z) in mm of a 3D MetaImage with its data inside."""
    with open(path, "rb") as file:
        content = file.read()
    mark = b"ElementDataFile = LOCAL"
    end = content.index(b"\n", content.index(mark)) + 1
    header = dict(line.split(" = ", 1) for line in content[:end].decode("ascii").splitlines())
    if header["NDims"] != "3" or header.get("BinaryDataByteOrderMSB", "False") != "False":
        raise SystemExit(f"{path}: expected a 3D little-endian MetaImage")
    data = content[end:]
    if header.get("CompressedData", "False") == "True":
        data = zlib.decompress(data)
    size = [int(n) for n in header["DimSize"].split()]
    voxels = np.frombuffer(data, TYPES[header["ElementType"]], size[0] * size[1] * size[2])
    spacing = [float(h) for h in header["ElementSpacing"].split()]
    return voxels.reshape(size[::-1]).astype(np.float32), spacing


def write_mha(path, voxels, spacing=(1, 1, 1), like=None):
    """float32 voxels [z, y, x]; with `like` the origin and direction of that file."""
    header = {"TransformMatrix": "1 0 0 0 1 0 0 0 1", "Offset": "0 0 0"}
    if like is not None:
        with open(like, "rb") as file:
            start = file.read(4096).split(b"ElementDataFile")[0].decode("ascii")
        found = dict(line.split(" = ", 1) for line in start.splitlines())
        header = {key: found.get(key, value) for key, value in header.items()}
        spacing = found["ElementSpacing"].split()
    lines = ["ObjectType = Image", "NDims = 3", "BinaryData = True", "BinaryDataByteOrderMSB = False"]
    lines += [f"{key} = {value}" for key, value in header.items()]
    lines += ["ElementSpacing = " + " ".join(str(h) for h in spacing)]
    lines += ["DimSize = " + " ".join(str(n) for n in voxels.shape[::-1])]
    lines += ["ElementType = MET_FLOAT", "ElementDataFile = LOCAL", ""]
    with open(path, "wb") as file:
        file.write("\n".join(lines).encode("ascii"))
        file.write(np.ascontiguousarray(voxels, "<f4").tobytes())


class Halocline:
    """Runs the command. `device`: what --device gets, or None."""

    def __init__(self, path=None, device=None):
        here = os.path.dirname(os.path.abspath(__file__))
        built = [os.path.join(here, "..", "build", each, "bin", "halocline") for each in ("release", "dev", "")]
        self.path = next((each for each in [path, shutil.which("halocline"), *built] if each and os.path.exists(each)), None)
        if self.path is None:
            raise SystemExit("no halocline command: build it (scripts/demo does) or name it with --halocline")
        self.common = ["--device", device] if device else []

    def __call__(self, *words):
        """Stdout. Ends the script with the command's own message if it fails."""
        words = [self.path, *[str(word) for word in words], *self.common]
        ran = subprocess.run(words, capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"{' '.join(words)}\n{ran.stderr}")
        return ran.stdout

    def report(self, *words):
        """The report (--report) as a dictionary, and the seconds of the whole process by the wall clock."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            start = time.perf_counter()
            self(*words, "--quiet", "--report", path)
            seconds = time.perf_counter() - start
            with open(path) as file:
                return json.load(file), seconds

    def measured(self, *words):
        """The report, and the processor's seconds of the process on all cores, less those of the same with --dry-run: its start."""
        used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before = used()
        self(*words, "--dry-run", "--quiet")
        started = used()
        return self.report(*words)[0], used() - started - (started - before)

    def metrics(self, *words):
        return json.loads(self("metrics", *words, "--json"))

    def methods(self):
        """Names that `denoise --method` takes, from its help."""
        text = " ".join(self("denoise", "--help").split())
        choices = text.split("--method", 1)[1].split("{", 1)[1].split("}", 1)[0]
        return [each.strip() for each in choices.split(",")]


def total_variation(u, spacing=(1, 1, 1)):
    """sum |D u| in double: forward differences divided by the spacing (x, y, z), 0 on the far faces. u: [z, y, x]."""
    total = 0.0
    inverse = 1 / np.asarray(spacing, float)
    for z in range(u.shape[0]):  # a slice at a time: little memory
        here = u[z].astype(np.float64)
        square = np.zeros_like(here)
        square[:, :-1] += (inverse[0] * np.diff(here, axis=1)) ** 2
        square[:-1, :] += (inverse[1] * np.diff(here, axis=0)) ** 2
        if z + 1 < u.shape[0]:
            square += (inverse[2] * (u[z + 1].astype(np.float64) - here)) ** 2
        total += np.sqrt(square).sum()
    return total


def energy(u, f, strength, spacing=(1, 1, 1)):
    """1/2 ||u - f||^2 + strength TV(u), in double."""
    change = u.astype(np.float64) - f
    return 0.5 * float((change * change).sum()) + strength * total_variation(u, spacing)


def two_balls(halocline, size, folder):
    """Path of the noise-free two balls on size^3 voxels of 1 mm: index size/2 on the isocentre, no partial volumes."""
    path = os.path.join(folder, f"two-balls-{size}.mha")
    centre = f"{-size / 2},{-size / 2},{-size / 2}"
    halocline("phantom", "--type", "two-balls", "--size", f"{size},{size},{size}", "--spacing", "1,1,1", "--origin", centre,
              "--phantom-size", size, "--mu", 1, "--supersampling", 1, "-o", path, "--quiet")
    return path


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def log(text):
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)
