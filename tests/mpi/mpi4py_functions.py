"""Functions of the Python package on ranks are jobs of one process each: other work on each rank, with the same bits as on one."""
from mpi4py import MPI
import numpy as np

import halocline as hc

geometry = hc.Geometry.circular(sid=200, sdd=300, angles=np.arange(0, 360, 12.0), detector=(33, 31), pixel=(2.0, 2.0))
grid = hc.Grid((21, 19, 17), (1.5, 1.5, 1.5))


def job(number):
    cube = np.zeros(grid.shape, np.float32)
    cube[5:12, 5:12, 5 + number : 12] = 0.02
    return np.asarray(hc.fdk(hc.project(cube, geometry, grid=grid), geometry, grid=grid))


results = MPI.COMM_WORLD.gather(job(MPI.COMM_WORLD.rank))
if results:
    assert results[0].any() and (results[0] != results[1]).any(), "the ranks had the same work"
    for number, result in enumerate(results):
        assert result.tobytes() == job(number).tobytes(), f"other bits on rank {number}"
    print(f"the same: jobs of {len(results)} ranks")
