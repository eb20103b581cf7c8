"""Denoising with total variation: seconds to equal energy, and steps down the variation."""
import numpy as np

import halocline as hc

from ...harness import energy, log, total_variation
from ..work import Work, timed


class Balls:
    """Two balls of n^3 voxels of 1 mm with white noise; minimum: of 1/2 ||u - f||^2 + TV(u) / alpha, certified from below.

    iterations: those of Halocline to the target.
    """

    def __init__(self, n, noise, alpha, target, budget):
        self.n, self.alpha, self.target, self.budget, self.iterations = n, alpha, target, budget, 0
        clean = hc.phantom("two-balls", hc.Grid((n, n, n), 1.0), phantom_size=n, mu=1, supersampling=1).array
        self.f = (clean + noise * np.random.default_rng(1).standard_normal(clean.shape)).astype(np.float32)
        self.minimum = 0.0

    def certify(self):
        info = hc.denoise(self.f, 1.0, alpha=self.alpha, gap=1e-6, iterations=5000, return_info=True)[1]
        self.minimum = info.dual
        return self

    @property
    def label(self):
        return f"{self.n}^3, alpha {self.alpha:g}" + (f", within {self.target:g} of the minimum" if self.target else "")

    @property
    def short(self):
        return f"{self.n}^3"

    def above(self, u):
        return energy(u.reshape(self.f.shape), self.f, 1 / self.alpha) / self.minimum - 1


class Denoise(Work):
    name = "denoise"
    title = "Denoising with total variation, host to host"
    note = ("Seconds until the energy 1/2 ||u - f||^2 + TV(u) / alpha, in double precision, is so near to its certified minimum; errors: "
            "how far it is above. The count of iterations is looked for before. Peers with another objective have a given count.")
    sizes = (64,), (256,)
    counts_lines = True

    def problems(self, options, place):
        for size in options.sizes(self, place):
            for target in options.targets:
                yield Balls(size, options.noise, options.alpha, target, options.budget).certify()

    def prepare(self, job, problem, place):
        if job.setting is None:
            job.setting = iterations_for(job, problem)
        job.run(job.setting)
        above = problem.above(job.result())
        reached = above <= problem.target
        if job.name == "pdu":
            problem.iterations = job.setting
        counted = job.setting >= 1
        note = "" if reached else "another objective" if job.note else f"not reached in {problem.budget:g} s"
        return {"error": above, "iterations": job.setting if counted else None, "detail": note, "comparable": reached}

    def counts(self, job, place):
        return [(job.setting,)]


def iterations_for(job, problem):
    """The count of a run that is just good enough, within 3 %, or the largest of the budget.

    The energy falls like a power of the count: secants in log-log.
    """
    tried = {}

    def attempt(n):
        if n not in tried:
            seconds = timed(job.run, n)[0]
            tried[n] = seconds, problem.above(job.result())
            log(f"  {job.name}: {n} iterations, {seconds:.2f} s, energy {tried[n][1]:.2e} above")
        return tried[n]

    low, n = 0, 10
    while attempt(n)[1] > problem.target:
        seconds, excess = attempt(n)
        rate = np.log(tried[low][1] / excess) / np.log(n / low) if low and tried[low][1] > excess > 0 else 1.0
        wanted = int(np.ceil(n * min(4.0, max(1.2, 1.02 * (excess / problem.target) ** (1 / max(rate, 0.3))))))
        wanted = min(wanted, int(problem.budget / (seconds / n)))
        if wanted <= n:
            return n
        low, n = n, wanted
    high = n
    while high - low > max(1, 0.03 * high):
        middle = (low + high) // 2
        if low:
            a, b = tried[low][1], max(tried[high][1], 1e-12)
            middle = round(low * (high / low) ** min(0.9, max(0.1, np.log(a / problem.target) / np.log(a / b))))
        middle = min(high - 1, max(low + 1, middle))
        if attempt(middle)[1] <= problem.target:
            high = middle
        else:
            low = middle
    return high


class Descent(Work):
    name = "descent"
    title = "Steps down the total variation, an iteration"
    note = ("Seconds of a step, from the difference of two runs. Errors: the variation that is left after the longer run, over that "
            "before, which depends on the size of steps.")
    sizes = (64,), (256,)

    def problems(self, options, place):
        for size in options.sizes(self, place):
            yield Balls(size, options.noise, options.alpha, 0, options.budget)

    def prepare(self, job, problem, place):
        job.run(place.iterations)
        return {"error": total_variation(job.result()) / total_variation(problem.f), "iterations": place.iterations}

    def counts(self, job, place):
        return [(place.iterations,), (place.fewer,)]


WORKS = [Denoise(), Descent()]
