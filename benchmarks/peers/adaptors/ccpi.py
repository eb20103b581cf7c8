"""CCPi-Regularisation: total variation with CuPy, or on processors."""
from ..peer import Adaptor, Job


class Peer(Adaptor):
    name, package = "CCPi-Regularisation", "ccpi-regularisation-cupy"

    def start(self):
        if not self.place.on_gpu:
            from ccpi.filters import regularisers
            self.regularisers = regularisers
            return
        self.arrays = self.place.arrays("cupy")
        from ccpi.filters import regularisersCuPy
        self.regularisers = regularisersCuPy

    def denoise(self, problem):
        if self.place.on_gpu:
            return total_variation(self.arrays, problem, self.regularisers.PD_TV, self.regularisers.ROF_TV)
        kept, strength = [], 1 / problem.alpha

        def run(iterations):
            kept[:] = [self.regularisers.PD_TV(problem.f, strength, iterations, 0, 0, 0, 8, "cpu")]

        return [Job(run, lambda: kept[-1], name="PD_TV")]


def total_variation(arrays, problem, primal_dual, descent):
    """Jobs of its two methods from an array on the GPU to an array there."""
    f, strength = arrays.array(problem.f), 1 / problem.alpha

    def job(name, call, *more, **keywords):
        kept = []

        def run(iterations):
            kept[:] = [call(f, strength, iterations, *more)]
            arrays.wait()

        return Job(run, lambda: arrays.host(kept[-1]), name=name, arrays="device", **keywords)

    return [job("PD_TV", primal_dual), job("ROF_TV", descent, 0.0025, note="a smoothed variation")]
