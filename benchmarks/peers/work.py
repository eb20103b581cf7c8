"""Parts that works have in common: problems, errors, seconds of a run."""
import time

from .limits import limit_of


class Work:
    """name: the function of adaptors, and of --work. title, note: of the tables. sizes, kinds: the defaults on (processors, GPUs)."""

    name = title = note = ""
    sizes, kinds = ((64,), (256,)), ()
    counts_lines = False

    def scans(self):
        """Kinds of scans that --scans may name."""
        return self.kinds

    def problems(self, options, place):
        """Problems, one after another; each has a label and a short one."""
        raise NotImplementedError

    def jobs(self, adaptor, problem):
        return getattr(adaptor, self.name)(problem)

    def prepare(self, job, problem, place):
        """Runs the job until it is ready to be timed; returns fields of its row, its error among them."""
        job.run()
        return self.judged(job.result(), problem)

    def judged(self, values, problem):
        raise NotImplementedError

    def counts(self, job, place):
        """Arguments of a run: nothing, a count, or two counts whose difference is timed."""
        return [()]

    def limit(self, problem, place):
        """Seconds that the device needs at least, or None."""
        return limit_of(self.name, problem, place)


def timed(run, *arguments):
    start, cpu = time.perf_counter(), time.process_time()
    said = run(*arguments)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return (said, cpu) if isinstance(said, float) else (seconds, cpu)
