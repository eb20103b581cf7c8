"""The verbs: what the command gives, bit for bit, from arrays of any kind."""

import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import halocline as hc

warnings.simplefilter("ignore", hc.HaloclineWarning)


@pytest.fixture()
def files(tmp_path, volume, projections, geometry, grid):
    placed = hc.Grid(grid.shape, grid.spacing, grid.origin, (1, 0, 0, 0, 0, 1, 0, 1, 0))
    hc.write(tmp_path / "x.mha", hc.Image(volume, placed))
    hc.write(tmp_path / "p.mha", hc.Image(projections, geometry.stack()))
    geometry.write(tmp_path / "g.xml")
    return tmp_path


GRID = ["--size", "30,28,25", "--spacing", "1.4,1.5,1.6"]


def test_projections_are_the_commands(command, files, projections):
    command("project", "-i", files / "x.mha", "-g", files / "g.xml", "--detector", "52,40", "--pixel", "1.8,2", "-o", files / "q.mha")
    assert np.array_equal(hc.read(files / "q.mha").array, projections)


@pytest.mark.parametrize("verb, words, call", [
    ("fdk", [], lambda p, g, v: hc.fdk(p, g, v)),
    ("fdk", ["--window", "hann"], lambda p, g, v: hc.fdk(p, g, v, window="hann")),
    ("backproject", [], lambda p, g, v: hc.backproject(p, g, v)),
    ("reconstruct", ["--method", "cgls", "--iterations", "6"], lambda p, g, v: hc.reconstruct(p, g, v, method="cgls", iterations=6)),
    ("reconstruct", ["--method", "spdhg", "--lambda", "0.01", "--iterations", "4", "--nonnegative"],
     lambda p, g, v: hc.reconstruct(p, g, v, iterations=4, nonnegative=True, lambda_=0.01)),
])
def test_reconstructions_are_the_commands(command, files, projections, geometry, grid, verb, words, call):
    command(verb, "-i", files / "p.mha", "-g", files / "g.xml", *GRID, *words, "-o", files / "r.mha")
    assert np.array_equal(hc.read(files / "r.mha").array, call(projections, geometry, grid))


@pytest.mark.parametrize("method, options", [
    ("pdu", {"alpha": 300.0, "iterations": 40}), ("tvgd", {"step": 1e-4, "iterations": 10}), ("median", {"radius": 1}),
    ("gaussian", {"sigma": 1.5}),
])
def test_denoising_is_the_commands(command, files, volume, method, options):
    noisy = volume + np.random.default_rng(1).normal(0, 0.002, volume.shape).astype(np.float32)
    hc.write(files / "n.mha", hc.Image(noisy, hc.Grid(noisy.shape, (1.6, 1.5, 1.4))))
    words = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
    command("denoise", "-i", files / "n.mha", "--method", method, *words, "-o", files / "u.mha")
    found = hc.denoise(noisy, (1.6, 1.5, 1.4), method=method, **options)
    assert np.array_equal(hc.read(files / "u.mha").array, found)


def test_counts_are_the_commands(command, files):
    random = np.random.default_rng(2)
    raw = random.poisson(800, (12, 6, 20)).astype(np.uint16)
    flats, darks = random.poisson(1000, (3, 6, 20)).astype(np.uint16), random.poisson(20, (2, 6, 20)).astype(np.uint16)
    for name, image in (("raw", raw), ("flats", flats), ("darks", darks)):
        hc.write(files / (name + ".mha"), image)
    command("counts", "-i", files / "raw.mha", "--flat", files / "flats.mha", "--dark", files / "darks.mha", "-o", files / "y.mha")
    assert np.array_equal(hc.read(files / "y.mha").array, hc.counts(raw, flats, darks))
    command("counts", "-i", files / "raw.mha", "--flat", files / "flats.mha", files / "darks.mha", "-o", files / "y.mha")
    assert np.array_equal(hc.read(files / "y.mha").array, hc.counts(raw, (flats, darks)))  # before and after


def test_arrays_of_other_types_and_orders(volume):
    expected = hc.denoise(volume, alpha=300.0, iterations=5, gap=0)
    for other in (volume.astype(np.float64), np.asfortranarray(volume), volume.astype(">f4"), volume[::1].copy()):
        assert np.array_equal(hc.denoise(other, alpha=300.0, iterations=5, gap=0), expected)
    read_only = volume.copy()
    read_only.flags.writeable = False
    assert np.array_equal(hc.denoise(read_only, alpha=300.0, iterations=5, gap=0), expected)
    out = np.empty_like(volume)
    assert hc.denoise(volume, alpha=300.0, iterations=5, gap=0, out=out) is out
    assert np.array_equal(out, expected)
    assert hc.denoise(volume[3], alpha=300.0, iterations=5, gap=0).shape == volume.shape[1:]


def test_info_and_outputs(projections, geometry, grid):
    _, info = hc.reconstruct(projections, geometry, grid, iterations=10, gap_map=True, return_info=True, lambda_=0.01)
    assert info.outputs["gap_map"].shape == grid.shape and np.isfinite(info.outputs["gap_map"].array).all()
    assert 0 < info.relative_gap < 1 and info.history["relative_gap"][-1] == pytest.approx(info.relative_gap)
    with pytest.raises(AttributeError, match="relative_gap"):
        info.no_such_result


class Axes:
    """Stands for those of matplotlib."""

    def plot(self, x, y, **style):
        self.x, self.y, self.style = x, y, style

    def set(self, **names):
        self.names = names


def test_history_is_drawn(projections, geometry, grid, volume):
    _, info = hc.reconstruct(projections, geometry, grid, method="cgls", iterations=3, truth=volume, return_info=True)
    axes = Axes()
    assert info.plot(axes) is axes
    assert np.array_equal(axes.x, info.history["passes"]) and np.array_equal(axes.y, info.history["truth_relative"])
    assert axes.names["yscale"] == "log" and axes.style["label"] == "cgls"
    info.plot(axes, x="seconds", y="truth_psnr")
    assert np.allclose(axes.y, 20 * np.log10(volume.max() / info.history["truth_rmse"]), atol=1e-4)
    assert axes.names["yscale"] == "linear"
    with pytest.raises(ValueError, match="y= is 'beauty'.*truth_psnr"):
        info.plot(axes, y="beauty")


def test_gravel_is_the_same_for_a_seed(grid):
    first, again, other = (hc.phantom("gravel", grid, seed=seed).array for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    with pytest.raises(hc.InputError, match="seed"):
        hc.phantom("blade", grid, seed=3)


def test_records_have_the_error_to_a_truth(projections, geometry, grid, volume):
    def rmse(found):
        return np.sqrt(np.mean((found.astype(np.float64) - volume) ** 2))

    found, info = hc.reconstruct(projections, geometry, grid, method="cgls", iterations=4, truth=volume, return_info=True)
    assert info.history["truth_rmse"][-1] == pytest.approx(rmse(found), rel=1e-5) and info.truth_relative < 1
    assert np.all(np.diff(info.history["seconds"]) > 0)
    assert np.array_equal(found, hc.reconstruct(projections, geometry, grid, method="cgls", iterations=4))
    found, info = hc.denoise(found, grid, alpha=300.0, truth=hc.Image(volume, grid), return_info=True)
    assert info.truth_rmse == pytest.approx(rmse(found), rel=1e-5)
    with pytest.raises(hc.InputError, match="truth"):
        hc.denoise(found, grid, alpha=300.0, truth=volume[1:])


def test_halves_choose_the_strength(projections, geometry, grid):
    noisy = projections + np.random.default_rng(3).normal(0, 0.02, projections.shape).astype(np.float32)
    a, b = hc.fdk_halves(noisy, geometry, grid)
    f = hc.fdk(noisy, geometry, grid)
    assert np.abs((a + b) / 2 - f).max() < 0.2 * np.abs(f).max()
    u, info = hc.denoise(f, grid, halves=(a, b), return_info=True)
    assert info.alpha > 0 and np.std(u) < np.std(f)


def test_frames_over_time(volume):
    random = np.random.default_rng(4)
    frames = [volume + random.normal(0, 0.003, volume.shape).astype(np.float32) for _ in range(3)]
    found, info = hc.denoise(frames, 1.5, method="pdu4d", time_weight=1.0, alpha=300.0, iterations=20, gap=0, return_info=True)
    assert info.iterations == 20 and len(found) == 3
    assert all(np.linalg.norm(u - volume) < np.linalg.norm(f - volume) for u, f in zip(found, frames))
    stacked = hc.denoise(np.stack(frames), 1.5, method="pdu4d", time_weight=1.0, alpha=300.0, iterations=20, gap=0)
    assert np.array_equal(stacked, np.stack(found))


def test_noise_keeps_the_pixels(projections, geometry):
    noisy = hc.noise(projections, photons=1e4, seed=3)
    assert isinstance(noisy, np.ndarray) and 0 < np.abs(noisy - projections).max() < 0.5
    image = hc.noise(hc.Image(projections, geometry.stack()), photons=1e4, seed=3)
    assert image.grid.spacing == geometry.stack().spacing and np.array_equal(image.array, noisy)


def test_pixels_that_disagree(projections, geometry, grid):
    with pytest.raises(hc.InputError, match="projections= has pixels of 3 x 3 mm"):
        hc.fdk(hc.Image(projections, hc.Grid(projections.shape, 3.0)), geometry, grid)


def test_lambda_is_a_word_of_python(projections, geometry, grid):
    few = {"iterations": 2, "gap": 0}
    assert np.array_equal(hc.reconstruct(projections, geometry, grid, lambda_=0.01, **few),
                          hc.reconstruct(projections, geometry, grid, **few, **{"lambda": 0.01}))
    with pytest.raises(hc.InputError, match="lambda_="):
        hc.reconstruct(projections, geometry, grid, lambda_="much")


def test_noise_maps(volume, grid):
    random = np.random.default_rng(6)
    a, b = (volume + random.normal(0, 0.004, volume.shape).astype(np.float32) for _ in range(2))
    of_halves, alone = hc.noise_map(halves=(a, b), grid=grid), hc.noise_map(a, grid)
    assert of_halves.shape == alone.shape == volume.shape
    assert np.sqrt(np.median(of_halves)) == pytest.approx(0.004 / np.sqrt(2), rel=0.15)
    assert hc.denoise(a, grid, method="spdu", weights=of_halves, alpha=300.0, iterations=3, gap=0).shape == volume.shape


def test_pixels_that_nobody_knows(volume, projections, geometry, grid):
    bare = hc.Geometry.circular(sid=200, sdd=300, angles=geometry.angles)
    with pytest.raises(hc.InputError, match="pixel="):
        hc.fdk(projections, bare, grid)
    with pytest.raises(hc.InputError, match="detector="):
        hc.project(volume, bare, grid)


def test_numbers_of_numpy(volume):
    few = {"iterations": np.int64(3), "gap": 0}
    assert np.array_equal(hc.denoise(volume, alpha=np.float64(300), **few), hc.denoise(volume, alpha=300.0, iterations=3, gap=0))


def test_a_device_for_a_while():
    with hc.device("nosuch"), pytest.raises(hc.InputError, match="nosuch"):
        hc.denoise(np.ones((2, 3, 4), np.float32), alpha=1.0)


def test_the_axis_is_found(projections, geometry, grid):
    rows = geometry.views.copy()
    rows[:, 7] += 3.6  # the axis then falls two columns aside
    wrong = hc.Geometry.from_views(rows, (40, 52), (2.0, 1.8))
    axis = hc.find_axis(projections, wrong, method="correlation")
    assert axis.shift == pytest.approx(3.6, abs=0.5)
    assert np.abs(axis.geometry.views[:, 7]).max() < 0.5


def test_metrics(volume):
    found = hc.metrics(volume + np.float32(0.001), volume)
    assert found.rmse == pytest.approx(0.001, rel=1e-3)
    with pytest.raises(AttributeError, match="rmse"):
        found.nothing


def test_run_takes_any_verb_by_name(volume, projections, geometry, tmp_path):
    options = dict(alpha=300, iterations=5, gap=0)
    info = hc.run("denoise", input=volume, method="pdu", output=True, **options)
    assert np.array_equal(info.outputs["output"].array, hc.denoise(volume, **options))
    hc.run("slices", input=hc.Image(projections, geometry.stack()), geometry=geometry, size=(9, 8, 7), spacing=(1, 1, 1), plane="axial", output=tmp_path / "s.mha")
    assert hc.read(tmp_path / "s.mha").shape == (1, 8, 9)
    with pytest.raises(hc.InputError, match="no verb 'denose'; there are devices, .*denoise"):
        hc.run("denose")
    with pytest.raises(hc.InputError, match="no verb 'geometry'; there are geometry circular"):
        hc.run("geometry")
    with pytest.raises(hc.InputError, match="there is no option aplha=; there is alpha="):
        hc.run("denoise", aplha=3)


def test_run_places_arrays_as_the_verbs_do(volume, projections, geometry):
    grid = hc.Grid((9, 10, 11), 2)
    expected = hc.fdk(projections, geometry, grid)
    assert np.array_equal(hc.run("fdk", input=projections, geometry=geometry, like=grid, output=True).outputs["output"].array, expected)
    seen = np.asarray(hc.project(volume, geometry))
    assert np.array_equal(hc.run("project", input=volume, geometry=geometry, output=True).outputs["output"].array, seen)


def test_outputs_take_arrays(projections, geometry):
    grid, options = hc.Grid((9, 10, 11), 2), dict(variance_out=True, photons=1e4)
    _, info = hc.fdk(projections, geometry, grid, return_info=True, **options)
    place = np.zeros(grid.shape, np.float32)
    hc.fdk(projections, geometry, grid, **{**options, "variance_out": place})
    assert np.array_equal(place, info.outputs["variance_out"].array) and place.any()
    run = hc.run("fdk", input=projections, geometry=geometry, like=grid, output=True, halves_out=(True, True))
    halves = [run.outputs[f"halves_out_{number}"].array for number in (0, 1)]
    assert all(map(np.array_equal, halves, hc.fdk_halves(projections, geometry, grid)))
    with pytest.raises(hc.InputError, match=r"variance_out= is \(1, 2, 3\)|variance_out= has 6 values"):
        hc.fdk(projections, geometry, grid, **{**options, "variance_out": np.zeros((1, 2, 3), np.float32)})


def test_messages_name_keywords(volume, projections, geometry):
    for call, words in [
        (lambda: hc.fdk(projections, geometry, short_skan=1), "there is no option short_skan="),
        (lambda: hc.fdk(projections, geometry, beam_hardning=1), "there is no option beam_hardning=; there is beam_hardening="),
        (lambda: hc.fdk(projections, geometry, cutoff=volume), "cutoff= is an array of .*; expected"),
        (lambda: hc.fdk(projections, geometry, cutoff=geometry), "cutoff= is a Geometry; expected"),
        (lambda: hc.denoise("missing.mha"), "volume= 'missing.mha' does not exist"),
        (lambda: hc.denoise(volume, out=""), "out= has an empty value"),
        (lambda: hc.denoise(volume, alpha=300, out=np.zeros((1, 2, 3), np.float32)), "^out= "),
        (lambda: hc.counts(projections + 2), r"\(flats=\)"),
    ]:
        with pytest.raises((hc.InputError, TypeError), match=words):
            call()
    assert "mem:" not in hc.run("denoise", input=volume, method="median", output=True).text


def test_output_to_a_file(tmp_path, volume):
    assert hc.denoise(volume, alpha=300.0, iterations=5, gap=0, out=tmp_path / "u.mha") is None
    assert np.array_equal(hc.read(tmp_path / "u.mha").array, hc.denoise(volume, alpha=300.0, iterations=5, gap=0))


@pytest.mark.parametrize("call, kind, words", [
    (lambda v: hc.denoise(v, aplha=3), ValueError, "alpha="),
    (lambda v: hc.denoise(v, alpha="three"), ValueError, "alpha="),
    (lambda v: hc.denoise(v * np.nan, alpha=3), ValueError, "volume="),
    (lambda v: hc.denoise(v, alpha=3, device="nosuch"), ValueError, "nosuch"),
    (lambda v: hc.denoise(v, alpha=3, device_memory="10K"), MemoryError, "device_memory="),
    (lambda v: hc.denoise(v, method="magic"), ValueError, "magic"),
    (lambda v: hc.denoise(np.array(["a"]), alpha=3), TypeError, "numbers"),
    (lambda v: hc.denoise(v[0, 0], alpha=3), ValueError, "axes"),
    (lambda v: hc.denoise(v, alpha=3, out="/nowhere/u.mha"), (ValueError, OSError), "/nowhere"),
    (lambda v: hc.denoise(v, alpha=3, out=np.empty(3)), TypeError, "out="),
    (lambda v: hc.read("/nowhere.mha"), ValueError, "/nowhere.mha"),
    (lambda v: hc.Geometry.circular(600, 300, [0, 1], (4, 4), 1), ValueError, "300"),
    (lambda v: hc.Grid((1, 2), 1), ValueError, "shape="),
    (lambda v: hc.phantom("blade", (20, 20, 20)), TypeError, "grid="),
])
def test_errors(volume, call, kind, words):
    with pytest.raises(kind, match=words):
        call(volume)


def test_projections_of_another_shape(projections, geometry, grid):
    with pytest.raises(hc.InputError, match="projections="):
        hc.fdk(projections[:-1], geometry, grid)


def test_progress_and_cancellation(volume):
    told = []
    hc.denoise(volume, alpha=300.0, iterations=3000, gap=0, progress=told.append)
    assert told and told[-1].done <= told[-1].total

    def stop(state):
        raise ZeroDivisionError("enough")

    start = time.time()
    with pytest.raises(ZeroDivisionError, match="enough"):
        hc.denoise(volume, alpha=300.0, iterations=100000, gap=0, progress=stop)
    assert time.time() - start < 20


def test_two_threads(volume):
    expected = hc.denoise(volume, alpha=300.0, iterations=60, gap=0)
    results, errors = [], []

    def work():
        results.append(hc.denoise(volume, alpha=300.0, iterations=60, gap=0))

    def cancelled():
        try:
            hc.denoise(volume, alpha=300.0, iterations=100000, gap=0, progress=lambda state: 1 / 0)
        except ZeroDivisionError as error:
            errors.append(error)

    threads = [threading.Thread(target=target) for target in (work, cancelled, work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 1 and len(results) == 2
    assert all(np.array_equal(result, expected) for result in results)


def test_ctrl_c(tmp_path):
    script = tmp_path / "long.py"
    script.write_text("import sys, numpy as np, halocline as hc\n"
                      "v = np.random.default_rng(0).random((40, 40, 40), dtype=np.float32)\n"
                      "hc.denoise(v, alpha=3.0, iterations=2, gap=0)\n"
                      "print('ready', flush=True)\n"
                      "try:\n    hc.denoise(v, alpha=3.0, iterations=1000000, gap=0)\n"
                      "except KeyboardInterrupt:\n    hc.denoise(v, alpha=3.0, iterations=2, gap=0)\n    print('stopped', flush=True)\n")
    import signal

    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        start = time.time()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "stopped\n"
        assert time.time() - start < 5
    assert child.returncode == 0


def test_after_fork(volume):
    hc.denoise(volume, alpha=300.0, iterations=1, gap=0)
    child = os.fork()
    if child == 0:
        try:
            hc.denoise(volume, alpha=300.0, iterations=1, gap=0)
        except RuntimeError as error:
            os._exit(0 if "spawn" in str(error) else 2)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_no_leak(volume):
    import resource

    small = volume[:8, :8, :8].copy()
    for _ in range(50):
        hc.denoise(small, alpha=300.0, iterations=1, gap=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1000):
        hc.denoise(small, alpha=300.0, iterations=1, gap=0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20000  # KiB


def test_signatures_name_the_settings():
    import inspect

    names = list(inspect.signature(hc.fdk).parameters)
    assert names[:6] == ["projections", "geometry", "grid", "out", "return_info", "progress"]
    assert {"window", "cutoff", "device_memory", "variance_out"} <= set(names) and not {"output", "quiet", "input"} & set(names)
    assert "lambda_" in inspect.signature(hc.reconstruct).parameters


def test_settings_by_value(volume):
    for wrong, text in (({"alpha": True}, "alpha= is True; expected A"), ({"nonnegative": 3}, "nonnegative= is 3; expected True or False"),
                        ({"method": "pdu", "tv": "round"}, 'tv= is "round"; expected isotropic'), ({"iterations": 2.5}, "iterations= is"),
                        ({"iterations": (1, 2)}, "iterations= is"), ({"alpha": ""}, "alpha= has an empty value")):
        with pytest.raises(hc.InputError, match=text):
            hc.denoise(volume, **wrong)
    with pytest.raises(TypeError, match="input= was given twice"):
        hc.denoise(volume, input=volume)


def test_report(tmp_path, volume):
    u, info = hc.denoise(volume, alpha=300.0, iterations=20, gap=0, return_info=True)
    hc.report(tmp_path / "r.html", before=volume, after=u, info=info)
    text = (tmp_path / "r.html").read_text()
    assert text.lstrip().lower().startswith("<!doctype html") and "before" in text and "relative" in text.lower()
    assert len(text) < 5e6
    assert "<iframe" in hc.Image(volume)._repr_html_()
    with pytest.raises(hc.InputError, match="images"):
        hc.report(tmp_path / "r.html")


def test_plans(geometry, grid):
    assert "slab" in hc.plan.fdk(geometry, grid)
    assert "slab" in hc.plan.denoise(hc.Grid((64, 64, 64)), alpha=3)
    with pytest.raises(hc.PlanError):
        hc.plan.denoise(hc.Grid((64, 64, 64)), alpha=3, device_memory="10K")


def test_warnings_name_the_callers_line(projections, geometry, grid):
    with pytest.warns(hc.HaloclineWarning) as found:
        hc.fdk_halves(projections, geometry, grid)
    assert all(each.filename == __file__ for each in found)


def test_results_are_not_written_over_inputs(volume):
    v = volume.copy()
    with pytest.raises(hc.InputError, match="out="):
        hc.denoise(v, alpha=300.0, iterations=5, out=v)
    with pytest.raises(hc.InputError, match="out="):
        hc.denoise(v, alpha=300.0, iterations=5, out=np.empty(v.shape[::-1], np.float32))


def test_grids_are_grids(projections, geometry):
    for wrong in ((4, 5, 6), 3, {}):
        with pytest.raises(TypeError, match="grid="):
            hc.fdk(projections, geometry, wrong)


def test_an_image_without_a_place_lies_on_the_geometrys_detector(projections, grid):
    aside = hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 9.0), detector=(40, 52), pixel=(2.0, 1.8),
                                 detector_origin=(-38.0, -42.0))
    assert np.array_equal(hc.fdk(hc.Image(projections), aside, grid).array, hc.fdk(projections, aside, grid))


def test_a_daemon_at_the_end_does_no_harm(tmp_path):
    script = tmp_path / "daemon.py"
    script.write_text("import threading, time, numpy as np, halocline as hc\n"
                      "v = np.random.default_rng(0).random((40, 40, 40), dtype=np.float32)\n"
                      "threading.Thread(target=lambda: hc.denoise(v, alpha=3.0, iterations=1000000, gap=0), daemon=True).start()\n"
                      "time.sleep(1)\n")
    assert subprocess.run([sys.executable, str(script)], timeout=60).returncode == 0


def test_files_larger_than_memory_are_named(tmp_path, volume, grid):
    hc.write(tmp_path / "f.mha", (1000 * volume).astype(np.int16), grid)
    found = hc.open(tmp_path / "f.mha")
    assert (found.shape, found.dtype, found.grid.spacing) == (volume.shape, np.int16, grid.spacing)
    assert hc.denoise(found, alpha=3, iterations=2, gap=0, out=tmp_path / "u.mha") is None
    expected = hc.denoise(found.read(), alpha=3, iterations=2, gap=0)
    assert np.array_equal(hc.read(tmp_path / "u.mha").array, expected.array)


def test_volumes_beside_projections_lie_where_the_result_does(projections, geometry, grid, volume):
    placed = hc.Image(volume, geometry.grid_of(grid))
    for call in (lambda reference: hc.fdk(projections, geometry, grid, denoise="pdu", alpha=300, iterations=3, gap=0, reference=reference),
                 lambda reference: hc.reconstruct(projections, geometry, grid, method="fista", iterations=3, lambda_=0.1, gap=0,
                                                  reference=reference)):
        assert np.array_equal(call(volume), call(placed))
    with pytest.raises(hc.InputError, match="init= is"):
        hc.reconstruct(projections, geometry, grid, method="cgls", init=volume[1:])


def test_two_threads_with_one_limit_of_memory(projections, geometry, grid):
    expected, found = hc.fdk(projections, geometry, grid, device_memory="300K"), []

    def work():
        for _ in range(10):
            found.append(hc.fdk(projections, geometry, grid, device_memory="300K"))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 20 and all(np.array_equal(each, expected) for each in found)


def test_checkpoints_of_arrays(projections, geometry, grid, tmp_path):
    options = {"method": "sirt", "iterations": 3, "checkpoint": str(tmp_path / "c"), "out": tmp_path / "u.mha"}
    hc.reconstruct(projections, geometry, grid, **options)
    expected = hc.reconstruct(projections, geometry, grid, method="sirt", iterations=3)
    assert np.array_equal(hc.read(tmp_path / "u.mha").array, expected)


def test_fdk_with_a_filter_of_ones_own(geometry, grid, projections, tmp_path):
    lags = np.arange(-64, 64)
    kernel = np.where(lags % 2 != 0, -1 / (np.pi * np.where(lags == 0, 1, lags)) ** 2, 0)
    kernel[lags == 0] = 0.25
    ramp = np.fft.rfft(np.fft.ifftshift(kernel)).real
    expected = hc.fdk(projections, geometry, grid)
    found = hc.fdk(projections, geometry, grid, filter=ramp)
    assert np.abs(found - expected).max() < 2e-3 * expected.max()
    assert np.array_equal(hc.fdk(projections, geometry, grid, filter=2 * ramp), 2 * found)
    np.savetxt(tmp_path / "ramp.txt", ramp, fmt="%.17g")
    assert np.array_equal(hc.fdk(projections, geometry, grid, filter=tmp_path / "ramp.txt"), found)
    placed = geometry.grid_of(grid)
    assert np.array_equal(hc.Slices(projections, geometry, placed, filter=ramp).reconstruct(placed[7])[0], found[7:8])


@pytest.mark.parametrize("values, words", [([0.5], "one value"), (np.zeros(4), "zeros alone"), ([0, np.nan], "nan"), ([np.inf, 0], "inf"), ("no.txt", "does not exist"),
                                           ([0, "a"], "'a'|\"a\"")])
def test_filters_that_are_none(geometry, grid, projections, values, words):
    with pytest.raises(hc.InputError, match=words):
        hc.fdk(projections, geometry, grid, filter=values)
