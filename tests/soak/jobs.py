"""Random scans, and random jobs on them."""
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import process

PENALISED = ["spdhg", "fista", "os-fista"]
PLAIN = ["cgls", "lsqr", "ba-gmres", "fdk", "sirt", "sart", "os-sart", "asd-pocs", "nesterov", "mlem", "osem"]


def _join(numbers):
    return ",".join(f"{number:g}" for number in numbers)


class Scene:
    """A phantom, a scan of it, and a volume of variances in a folder."""

    def __init__(self, dice):
        self.folder = process.FOLDER / "scene"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        size = [dice.choice([1, 7, 13, 24, 31, 40, 57, 61]) if axis == 2 else dice.randrange(5, 62) for axis in range(3)]
        self.grid = ["--size", _join(size), "--spacing", _join(60 / max(size) * dice.uniform(0.7, 1.3) for _ in size)]
        self.detector = ["--detector", _join([dice.randrange(9, 72), dice.randrange(9, 72)]), "--pixel", "2.1,2.3"]
        self.geometry = self.folder / "scan.xml"
        scan = ["--projections", dice.randrange(12, 41), "--sid", 300, "--sdd", dice.choice([450, 600, 0])]
        if scan[-1] == 0 or dice.random() < 0.3:
            scan += ["--arc", 180 if scan[-1] == 0 else 220]
        self._make("geometry", "circular", *scan, output="scan.xml")
        self.volume = self._make("phantom", "--type", "shepp-logan-hc", *self.grid, "--phantom-size", 50,
                                 output="volume.mha")
        self.variance = self._make("phantom", "--type", "two-balls", *self.grid, "--mu", 1, output="variance.mha")
        self.views = self._make("project", "--phantom", "shepp-logan-hc", "--phantom-size", 50, "-g", self.geometry,
                                *self.detector, output="views.mha")

    def _make(self, *words, output) -> Path:
        ran = process.run([*words, "-o", self.folder / output])
        if ran.code != 0:
            raise RuntimeError(f"{' '.join(ran.words)} ended with {ran.code}: {ran.said}")
        return self.folder / output


@dataclass
class Job:
    """words: without the output. kept: it takes --checkpoint."""

    scene: Scene
    words: list
    kept: bool


def _denoise(scene, dice):
    method = dice.choice(["pdu", "pdu", "spdu", "tvgd", "gaussian", "median", "nlm"])
    words = ["denoise", "-i", scene.volume, "--method", method]
    if method in ("gaussian", "median", "nlm"):
        return Job(scene, words, False)
    words += ["--iterations", dice.randrange(2, 40)]
    if method == "tvgd":
        return Job(scene, [*words, "--step", "0.0005"], True)
    words += ["--alpha", dice.choice([200, 2000]), "--gap", dice.choice(["0", "1e-9", "1e-3"])]
    words += dice.choice([[], ["--tv", "anisotropic"], ["--tv", "huber", "--huber-delta", "0.001"], ["--nonnegative"],
                          ["--schedule", "chambolle-pock"], ["--stages", "0"]])
    return Job(scene, words + (["--weights", scene.variance] if method == "spdu" else []), True)


def _fdk(scene, dice):
    words = ["fdk", "-i", scene.views, "-g", scene.geometry, *scene.grid]
    return Job(scene, words + dice.choice([[], ["--window", "hann", "--cutoff", "0.7"], ["--pad", "0.5"], ["--output-type", "float16"]]), True)


def _project(scene, dice):
    projector = dice.choice(["joseph", "siddon", "distance-driven"])
    return Job(scene, ["project", "-i", scene.volume, "-g", scene.geometry, *scene.detector, "--projector", projector], False)


def _backproject(scene, dice):
    projector = dice.choice(["joseph", "siddon", "distance-driven", "voxel"])
    return Job(scene, ["backproject", "-i", scene.views, "-g", scene.geometry, *scene.grid, "--projector", projector], False)


def _reconstruct(scene, dice):
    method = dice.choice(PENALISED + PLAIN)
    words = ["reconstruct", "-i", scene.views, "-g", scene.geometry, *scene.grid, "--method", method, "--iterations",
             dice.randrange(1, 6), "--operator", "rays"]
    return Job(scene, words + (["--lambda", "0.1"] if method in PENALISED else []), True)


def job(scene, dice):
    return dice.choice([_denoise, _denoise, _fdk, _project, _backproject, _reconstruct, _reconstruct])(scene, dice)
