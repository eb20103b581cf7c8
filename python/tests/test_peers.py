"""benchmarks/peers with peers that are made up."""

import json
import pathlib
import sys

import numpy as np
import pytest

import halocline as hc

ROOT = str(pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, ROOT)

from benchmarks import write_results  # noqa: E402
from benchmarks.peers import adaptors, driver  # noqa: E402
from benchmarks.peers.peer import Adaptor, Job, LeftOut  # noqa: E402
from benchmarks.peers.scan import SLICES, Scan, fitted, rms  # noqa: E402
from benchmarks.peers.works import all_works  # noqa: E402

sys.path.remove(ROOT)  # its folder itk would pass for the package of that name


class Quick(Adaptor):
    """Says that it takes no time, with right results of a forward projection and wrong ones of FDK."""

    name = "Quick"

    def forward(self, scan):
        return [Job(lambda: 1e-9, lambda: scan.analytic, group="joseph", name="oracle")]

    def fdk(self, scan):
        return [Job(lambda: 1e-9, lambda: 0 * scan.volume, name="nothing")]

    def iterative(self, scan):
        return [Job(lambda n: 1e-9 * n, lambda: scan.volume, group="sirt", name="linear"),
                Job(lambda n: 1.0, lambda: scan.volume, group="cgls", name="constant")]


class Slow(Quick):
    name = "Slow"

    def forward(self, scan):
        return [Job(lambda: 1e3, lambda: scan.analytic, group="joseph", name="oracle")]


class Absent(Adaptor):
    name = "Absent"

    def start(self):
        raise ImportError("No module named 'absent'")


class Broken(Adaptor):
    name = "Broken"

    def forward(self, scan):
        def run():
            raise RuntimeError("the kernel | failed\nto launch")
        return [Job(run, lambda: None, group="joseph")]

    def fdk(self, scan):
        raise LeftOut("it has cones of full circles alone")


class Printed(Quick):
    name, published = "Printed", True


FAKES = {"quick": Quick, "slow": Slow, "absent": Absent, "broken": Broken, "printed": Printed}


@pytest.fixture
def compared(monkeypatch, tmp_path, capfd):
    """The page of a run with fake peers, and what it prints."""
    real = adaptors.adaptor
    monkeypatch.setattr(adaptors, "names", lambda: ["halocline", *FAKES])
    monkeypatch.setattr(adaptors, "adaptor", lambda name: FAKES.get(name) or real(name))
    monkeypatch.setattr(driver, "command_of", lambda path, device: None)

    def run(*words):
        path = tmp_path / "page.json"
        assert driver.main([*words, "--size", "12", "--runs", "2", "--json", str(path)]) == 0
        return json.loads(path.read_text()), capfd.readouterr().out

    return run


def section(page, title):
    return next(each for each in page["sections"] if each["title"] == title)


def rows(part):
    return [dict(zip(part["columns"], row)) for row in part["rows"]]


def test_a_peer_ahead_comes_first(compared):
    page, text = compared("--work", "forward", "--scans", "cone", "--peers", "quick,slow")
    first = page["sections"][0]
    assert first["title"] == "Where a peer is ahead"
    ahead, = rows(first)
    assert ahead["peer"] == "Quick" and float(ahead["times ours"]) < 1e-3 and float(ahead["error"]) == 0
    assert 0 < float(ahead["our error"]) < 0.1
    every = rows(section(page, "Forward projection"))
    assert {row["peer"].split()[0] for row in every} == {"Quick", "Slow", "Halocline"}
    slow = next(row for row in every if row["peer"] == "Slow")
    assert float(slow["best, s"]) == 1000 and float(slow["times ours"]) > 1
    assert text.startswith("## Where a peer is ahead\n")


def test_a_fast_wrong_result_is_seen(compared):
    page, _ = compared("--work", "fdk", "--peers", "quick")
    ahead, = rows(page["sections"][0])
    assert float(ahead["error"]) > 3 * float(ahead["our error"]) > 0


def test_who_takes_no_part_is_named(compared):
    page, _ = compared("--work", "forward,fdk", "--scans", "cone")
    reasons = {(row["peer"], row["reason"]): row["work"] for row in rows(section(page, "Left out"))}
    assert reasons["Absent", "No module named 'absent'"] == "all"
    assert reasons["Broken", "RuntimeError: the kernel | failed to launch"] == "forward, cone 12"
    assert reasons["Broken", "it has cones of full circles alone"] == "fdk, cone 12"
    assert not any("Broken" in row["peer"] for row in rows(section(page, "Forward projection")))


def test_times_of_other_devices_are_not_compared(compared):
    page, _ = compared("--work", "forward", "--scans", "cone", "--peers", "printed")
    assert page["sections"][0]["rows"] == []
    printed, = [row for row in rows(section(page, "Forward projection")) if row["peer"] == "Printed"]
    assert printed["times ours"] == ""


def test_an_iteration_is_the_difference_of_two_runs(compared):
    page, _ = compared("--work", "iterative", "--scans", "cone", "--peers", "quick", "--iterations", "7", "--fewer", "2")
    every = {row["job"]: row for row in rows(section(page, "Iterative reconstruction, an iteration"))}
    assert float(every["linear"]["best, s"]) == pytest.approx(1e-9) and "residual 0.00e+00" in every["linear"]["note"]
    assert every["constant"]["best, s"] == "" and "too short to be timed" in every["constant"]["note"]
    assert [row["job"] for row in rows(page["sections"][0])] == ["linear"]


def test_a_page_of_results_comes_of_it(compared, tmp_path, monkeypatch):
    page, text = compared("--work", "forward,fdk", "--scans", "cone")
    made = write_results.page("page", page)
    assert made.index("## Where a peer is ahead") < made.index("## FDK, host to host") < made.index("## Left out")
    assert "the kernel \\| failed" in made and text in made.replace("\n\n\n", "\n\n")


@pytest.mark.parametrize("work", sorted(all_works()))
def test_halocline_does_every_work(compared, work):
    if work in ("adjoint", "patches"):
        pytest.importorskip("pyopencl")
    page, _ = compared("--work", work, "--peers", "slow", "--iterations", "6", "--fewer", "2", "--targets", "1e-2")
    ours = [row for row in rows(section(page, all_works()[work].title)) if row["peer"].startswith("Halocline")]
    assert len(ours) >= 1 and all(float(row["error"]) < 1 for row in ours)
    left_out = [row for part in page["sections"] if part["title"] == "Left out" for row in rows(part)]
    assert not [row for row in left_out if row["peer"] == "Halocline"]


@pytest.mark.parametrize("words, message", [
    (["--peers", "quick,astro"], "--peers has 'astro'; expected some of halocline,quick,slow"),
    (["--work", "sorting"], "--work has 'sorting'; expected some of"),
    (["--device", "quantum"], "--device quantum: there are"),
    (["--scans", "spiral"], "--scans has 'spiral'; expected some of cone,"),
    (["--work", "patches", "--scans", "tilted"], "--scans: patches has fan,cone"),
])
def test_bad_options(compared, words, message, capfd):
    with pytest.raises(SystemExit) as ended:
        compared(*words)
    assert ended.value.code == 2
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("words, message", [(["--size", "4"], "one below 8"), (["--runs", "0"], "is below 1"),
                                            (["--iterations", "5", "--fewer", "5"], "--fewer below --iterations")])
def test_bad_numbers(words, message, capsys):
    with pytest.raises(SystemExit):
        driver.main(words)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("kind", ("cone", "tilted", "short", *SLICES))
def test_world_frame_of_scans(kind):
    """vectors and world() are what packages with z along the axis take."""
    scan = Scan(kind, 14, 9)
    geometry = scan.geometry
    assert scan.world(scan.volume).shape == scan.grid.shape and scan.shape == geometry.shape
    if scan.circular and kind != "parallel":
        outward = np.stack([np.cos(scan.angles), np.sin(scan.angles)], 1)
        assert np.allclose(scan.vectors[:, :2], 600 * outward)
    exact = hc.project(scan.volume, geometry, scan.grid)
    assert rms(exact, scan.analytic, scan.analytic.max()) < 0.1


def test_the_command_has_no_paths():
    words = ["--work", "fdk", "--json", "/home/x.json", "--halocline=/opt/h", "--size", "64"]
    assert driver.shown(words) == "python3 -m benchmarks.peers --work fdk --size 64"


def test_the_best_factor_is_taken_out():
    values = np.arange(1.0, 31)
    error, factor = fitted(values, 3 * values)
    assert factor == pytest.approx(3) and error < 1e-12
    assert fitted(values[::-1], 3 * values)[0] > 0.1
