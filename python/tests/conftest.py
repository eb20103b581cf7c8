"""A small scan, and the command of the same build if HALOCLINE_COMMAND names it."""

import os
import subprocess

import numpy as np
import pytest

import halocline as hc


@pytest.fixture(scope="session")
def geometry():
    return hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 9.0), detector=(40, 52), pixel=(2.0, 1.8))


@pytest.fixture(scope="session")
def grid():
    return hc.Grid((25, 28, 30), (1.6, 1.5, 1.4))


@pytest.fixture(scope="session")
def volume(grid):
    x = np.zeros(grid.shape, np.float32)
    x[5:14, 8:22, 6:19] = 0.02
    x[9:20, 3:10, 15:27] += 0.01
    return x


@pytest.fixture(scope="session")
def projections(volume, geometry, grid):
    return hc.project(volume, geometry, grid)


@pytest.fixture(scope="session")
def command():
    path = os.environ.get("HALOCLINE_COMMAND")
    if not path:
        pytest.skip("HALOCLINE_COMMAND names no command")

    def run(*words):
        done = subprocess.run([path, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
