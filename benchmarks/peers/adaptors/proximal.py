"""PyProximal, on processors."""
import numpy as np

from ..peer import Adaptor, Job


class Peer(Adaptor):
    name, package = "PyProximal", "pyproximal"

    def start(self):
        self.place.require_cpu()
        import pyproximal
        self.variation = pyproximal.TV

    def denoise(self, problem):
        kept, f = [], problem.f

        def run(iterations):
            kept[:] = [self.variation(f.shape, sigma=1.0, niter=iterations, rtol=0).prox(f.ravel(), 1 / problem.alpha)]

        return [Job(run, lambda: np.asarray(kept[-1], np.float32).reshape(f.shape), name="TV.prox")]
