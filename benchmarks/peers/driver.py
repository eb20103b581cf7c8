"""The same works by Halocline and by other packages, on the same device, in the same run, in turns.

A peer that is not installed, or does not run, is named with its reason. Errors of all are from the same reference, so that a fast wrong
result is seen. The page begins with every row where a peer is ahead. With --json FILE it is written in the form of
benchmarks/results, of which benchmarks/write_results.py makes pages.
"""
import argparse
import contextlib
import os
import shlex
import sys

from .errors import refuse


def comma_list(kind, lowest=None):
    def parse(text):
        values = [kind(word) for word in text.split(",") if word]
        if not values or lowest is not None and min(values) < lowest:
            below = "" if lowest is None else f", or one below {lowest}"
            raise argparse.ArgumentTypeError(f"'{text}' has no values{below}")
        return values
    return parse


def from_one(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return value


def parser():
    from . import adaptors
    from .scan import KINDS
    from .works import all_works
    result = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = result.add_argument
    add("--peers", type=comma_list(str), help=f"some of {','.join(adaptors.names())}; default: all. Halocline always takes part")
    add("--work", type=comma_list(str), help=f"some of {','.join(all_works())}; default: all")
    add("--size", type=comma_list(int, 8), help="voxels along each edge, with commas between; default: by work and device")
    add("--views", type=from_one, help="default: by work and size")
    add("--scans", type=comma_list(str), help=f"some of {','.join(KINDS)}; default: by work")
    add("--slices", type=comma_list(int, 1),
        help="of parallel beams and fans; of the work matrix several counts. Default: 1, matrix on GPUs 32,1")
    add("--detector", type=from_one, help="pixels of a detector row of the work matrix; default: 512 on GPUs, 2 x size on processors")
    add("--device", help="as halocline takes it, one device; default: its own")
    add("--runs", type=from_one, default=5, help="of each job, in turns (default %(default)s)")
    add("--iterations", type=from_one, default=20, help="of iterative, descent: the longer run (default %(default)s)")
    add("--fewer", type=from_one, default=5, help="the shorter run (default %(default)s)")
    add("--noise", type=float, default=0.1, help="of denoise: standard deviation (default %(default)s)")
    add("--alpha", type=float, default=15, help="of denoise: 1 / strength of the variation (default %(default)s)")
    add("--targets", type=comma_list(float, 1e-5), default=[1e-3],
        help="of denoise: energies above the minimum, relative (default 1e-3)")
    add("--budget", type=float, default=60, help="of denoise: seconds that one run may take (default %(default)s)")
    add("--cores", type=from_one, help="processor cores for everybody; default: all")
    add("--halocline", help="the command, for the limits; default: on the path, or built here")
    add("--json", metavar="FILE", help="write the page there, as benchmarks/results/NAME.json are")
    return result


class Settings:
    """Options, with defaults by work and device."""

    def __init__(self, options):
        self.__dict__.update(vars(options))
        self.size, self.given_kinds = options.size, options.scans
        self.several_slices = options.slices is not None
        self.slices = options.slices or [1]

    def sizes(self, work, place):
        return self.size or work.sizes[place.on_gpu]

    def kinds(self, work):
        if not self.given_kinds:
            return work.kinds
        found = [kind for kind in self.given_kinds if kind in work.scans()]
        if not found:
            refuse(f"--scans: {work.name} has {','.join(work.scans())}")
        return found


def limit_cores(count):
    """Before NumPy and the peers are loaded."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
                 "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"):
        os.environ[name] = str(count)


def chosen(asked, known, option):
    unknown = [name for name in asked or () if name not in known]
    if unknown:
        refuse(f"{option} has '{unknown[0]}'; expected some of {','.join(known)}")
    return [name for name in known if asked is None or name in asked]


@contextlib.contextmanager
def peers_on_stderr():
    """Sends to stderr what peers print on stdout, also from C, so that stdout is the page."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def shown(words):
    """The command, without the file of --json and without --halocline, whose paths are of this computer."""
    kept, paths = [], ("--json", "--halocline")
    for before, word in zip(["", *words], words):
        if before not in paths and word.split("=")[0] not in paths:
            kept.append(word)
    return " ".join(["python3 -m benchmarks.peers", *map(shlex.quote, kept)])


def command_of(path, device):
    from ..harness import Halocline
    try:
        return Halocline(path, device)
    except SystemExit:
        if path:
            raise
        return None


def measured(works, adaptors, place, settings, absent, save):
    """Calls save(rows, left_out) after each problem, so that what was measured outlives what comes after it."""
    from .comparison import compare
    rows, left_out = [], [(name, "all", reason) for name, reason in absent]
    for work in works:
        without = [adaptor.name for adaptor in adaptors if not adaptor.does(work.name)]
        if without:
            left_out.append((", ".join(without), work.name, "its adaptor has no such work"))
        for problem in work.problems(settings, place):
            found, reasons = compare(work, problem, adaptors, place, settings.runs)
            rows += found
            left_out += [(name, f"{work.name}, {problem.short}", reason) for name, reason in reasons]
            save(rows, left_out)
    return rows, left_out


def main(words):
    early = argparse.ArgumentParser(add_help=False)
    early.add_argument("--cores", type=int)
    cores = early.parse_known_args(words)[0].cores
    if cores:
        limit_cores(cores)
    try:
        options = parser().parse_args(words)
    except ImportError as error:
        raise SystemExit(f"{error}: needs numpy, and Halocline's Python package (PYTHONPATH=build/release/python/package)") from None
    if options.fewer >= options.iterations:
        parser().error("expected --fewer below --iterations")
    from . import adaptors as registry
    from ..harness import log
    from ..write_results import LONGEST_PAGE, json_text
    from .comparison import start
    from .page import page_of, text_of
    from .place import Place
    from .scan import KINDS
    from .works import all_works
    works = all_works()
    names = chosen(options.work, list(works), "--work")
    peers = chosen(options.peers, registry.names(), "--peers")
    chosen(options.scans, list(KINDS), "--scans")
    place = Place(options.device, options.cores, None, options.iterations, options.fewer).look()
    place.command = command_of(options.halocline, place.device)
    with peers_on_stderr():
        adaptors, absent = start(["halocline", *[name for name in peers if name != "halocline"]], registry.adaptor, place)
    if not adaptors or not adaptors[0].own:
        raise SystemExit(f"Halocline itself does not run: {absent[0][1]}")
    command = shown(words)

    def save(rows, left_out):
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(json_text(page_of(rows, left_out, works, place, command)))

    with peers_on_stderr():
        found = measured([works[name] for name in names], adaptors, place, Settings(options), absent, save)
    save(*found)
    text = text_of(page_of(*found, works, place, command))
    if options.json and text.count("\n") > LONGEST_PAGE:
        log(f"{options.json} makes more than the {LONGEST_PAGE} lines that a page of results may have: choose fewer --work for a page")
    print(text, end="")
    return 0
