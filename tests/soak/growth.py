"""A Python process that runs the same jobs again and again, failing ones among them: does it grow?"""
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

WARM = 10  # rounds until all kernels are compiled and all pools are filled
PAUSE = 1  # seconds between rounds, in which other jobs run


def start(seed):
    """The process; its rounds go to build/soak/growth.log, a line each."""
    from . import process  # noqa: PLC0415: the child has no package

    python = process.ROOT / "build" / "python-env" / "bin" / "python"
    environment = {**os.environ, **process.ENVIRONMENT, "PYTHONPATH": str(process.BUILD / "python" / "package"),
                   "HALOCLINE_CACHE_DIR": str(process.FOLDER / "growth-cache")}
    log = process.FOLDER / "growth.log"
    with log.open("w") as file, (process.FOLDER / "growth.err").open("w") as errors:
        child = subprocess.Popen([str(python if python.exists() else sys.executable), "-B", __file__, str(seed)],
                                 env=environment, stdout=file, stderr=errors)
    return child, log


def end(loop):
    """Rounds, and what a round adds after the first ones: KiB of memory, handles, threads."""
    child, log = loop
    ended = child.poll()
    child.kill()
    child.wait()
    rounds = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    grown = {"rounds": len(rounds), "jobs": sum(each["jobs"] for each in rounds),
             "wrong": sum(each["wrong"] for each in rounds) + (ended is not None)}
    if len(rounds) > WARM + 1:
        first, last = rounds[WARM], rounds[-1]
        for name in ("memory", "handles", "threads"):
            grown[name] = {"first": first[name], "last": last[name]}
        grown["memory a job"] = round((last["memory"] - first["memory"]) / sum(r["jobs"] for r in rounds[WARM + 1:]), 3)
    return grown


def text(grown):
    if grown["wrong"] and not grown["rounds"]:
        return "a long process: it ended by itself; build/soak/growth.err says why"
    if "memory" not in grown:
        return f"a long process: {grown['rounds']} rounds, too few to see it grow"
    return (f"a long process: {grown['jobs']} jobs in {grown['rounds']} rounds, {grown['wrong']} wrong; "
            + ", ".join(f"{name} {grown[name]['first']} to {grown[name]['last']}" for name in ("memory", "handles", "threads"))
            + f" ({grown['memory a job']} KiB a job)")


def _state():
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {"memory": int(status["VmRSS"].split()[0]), "handles": len(os.listdir("/proc/self/fd")),
            "threads": int(status["Threads"])}


def _jobs(hc, np):
    """Functions that return an array, or the text of the error that they are to end in."""
    grid, small = hc.Grid((25, 31, 29), (2.0, 1.9, 2.1)), hc.Grid((7, 13, 11), (5.0, 5.0, 5.0))
    scan = hc.Geometry.circular(sid=300, sdd=500, angles=np.arange(0, 360, 18.0), detector=(41, 45), pixel=(3.0, 3.0))
    volume = np.random.default_rng(1).normal(0.02, 0.002, grid.shape).astype(np.float32)
    views = hc.project(volume, scan, grid)

    def fails(call, *words, **keywords):
        try:
            call(*words, **keywords)
        except (hc.Error, ValueError) as error:
            return np.frombuffer(str(error).encode(), np.uint8)
        return np.empty(0)

    return [
        lambda: hc.project(volume, scan, grid, projector="siddon"),
        lambda: hc.backproject(views, scan, grid),
        lambda: hc.fdk(views, scan, grid),
        lambda: hc.fdk(views, scan, small, window="hann"),
        lambda: hc.denoise(volume, grid.spacing, alpha=300.0, iterations=6, gap=0),
        lambda: hc.denoise(volume, grid.spacing, alpha=300.0, iterations=6, gap=0, device_memory="250K"),
        lambda: hc.denoise(volume, grid.spacing, method="tvgd", step=1e-4, iterations=4),
        lambda: hc.denoise(volume, grid.spacing, method="median"),
        lambda: hc.reconstruct(views, scan, grid, method="cgls", iterations=2),
        lambda: hc.reconstruct(views, scan, small, lambda_=0.01, iterations=2),
        lambda: fails(hc.denoise, volume, grid.spacing, alpha=-1.0),
        lambda: fails(hc.fdk, views[:, 1:], scan, grid),
        lambda: fails(hc.fdk, views, scan, grid, device_memory="1K"),
    ]


def main(seed):
    import halocline as hc  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    dice, jobs, expected = random.Random(seed), _jobs(hc, np), {}
    while True:
        wrong = 0
        for number in dice.sample(range(len(jobs)), len(jobs)):
            result = np.asarray(jobs[number]()).tobytes()
            wrong += expected.setdefault(number, result) != result
        print(json.dumps({"jobs": len(jobs), "wrong": wrong, **_state()}), flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(int(sys.argv[1]))
