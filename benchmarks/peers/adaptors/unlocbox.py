"""PyUNLocBoX, on processors."""
import contextlib
import io

import numpy as np

from ..peer import Adaptor, Job


class Peer(Adaptor):
    name, package = "PyUNLocBoX", "pyunlocbox"

    def start(self):
        self.place.require_cpu()
        from pyunlocbox import functions
        self.variation = functions.norm_tv

    def denoise(self, problem):
        kept = []

        def run(iterations):
            with contextlib.redirect_stdout(io.StringIO()):
                kept[:] = [self.variation(dim=3, tol=0, maxit=iterations, verbosity="NONE").prox(problem.f, 1 / problem.alpha)]

        return [Job(run, lambda: np.asarray(kept[-1], np.float32), name="norm_tv.prox")]
