"""Jobs of all peers for one problem: prepared, timed in turns, and put into rows."""
import dataclasses
import math
import statistics
import traceback
from typing import Any

from ..harness import log
from .peer import Job, LeftOut
from .work import timed


@dataclasses.dataclass
class Entry:
    """A job that takes part. fields: error, and perhaps detail, iterations, comparable."""

    adaptor: Any
    job: Job
    fields: dict
    counts: list  # what runs are called with
    times: list = dataclasses.field(default_factory=list)  # of each run, a pair (by the clock, of the processor) a count

    def seconds(self, over, which=0):
        """over(seconds of all runs), an iteration where two counts are timed."""
        found = [over([run[n][which] for run in self.times]) for n in range(len(self.counts))]
        return found[0] if len(found) == 1 else (found[0] - found[1]) / (self.counts[0][0] - self.counts[1][0])

    @property
    def is_comparable(self):
        """False for another objective, another device, and where the shorter of two runs took longer."""
        return self.fields.get("comparable", True) and not self.adaptor.published and self.seconds(min) > 0

    def deviation(self):
        if len(self.times) < 2:
            return 0.0
        parts = [statistics.stdev([run[n][0] for run in self.times]) for n in range(len(self.counts))]
        return parts[0] if len(parts) == 1 else math.hypot(*parts) / (self.counts[0][0] - self.counts[1][0])


def reason_of(error):
    """One line."""
    text = " ".join(str(error).split()) or "no reason given"
    return text[:200] if isinstance(error, (LeftOut, ImportError)) else f"{type(error).__name__}: {text[:200]}"


def start(names, make, place):
    """Adaptors of these names, and (name, reason) of those that are absent."""
    adaptors, absent = [], []
    for name in names:
        kind = make(name)
        try:
            adaptors.append(kind(place))
        except Exception as error:  # whatever ails a package must not end the run
            absent.append((kind.name or name, reason_of(error)))
            log(f"{kind.name or name} is left out: {reason_of(error)}")
    return adaptors, absent


def entries_of(work, problem, adaptors, place):
    """Jobs that are ready to be timed, and (name, reason) of those that are not."""
    entries, left_out = [], []
    for adaptor in adaptors:
        try:
            found = work.jobs(adaptor, problem)
        except Exception as error:
            left_out.append((adaptor.name, reason_of(error)))
            continue
        jobs, reasons = found if isinstance(found, tuple) else (found, [])
        left_out += [(adaptor.name, reason) for reason in reasons]
        for job in jobs:
            log(f"  {adaptor.name} {job.name}")
            try:
                entries.append(Entry(adaptor, job, work.prepare(job, problem, place), work.counts(job, place)))
            except Exception as error:
                left_out.append((f"{adaptor.name} {job.name}".strip(), reason_of(error)))
                log("".join(traceback.format_exception_only(type(error), error)).strip())
    return entries, left_out


def fastest_of_ours(entries):
    """Entry by group."""
    found = {}
    for entry in entries:
        group = entry.job.group
        if entry.adaptor.own and entry.is_comparable and (group not in found or entry.seconds(min) < found[group].seconds(min)):
            found[group] = entry
    return found


def rows_of(work, problem, entries, limit):
    """Rows, each compared with the fastest of ours in its group; a peer that is faster is ahead."""
    ours = fastest_of_ours(entries)
    for entry in sorted(entries, key=lambda each: (each.job.group, each.seconds(min))):
        job, adaptor, best, our = entry.job, entry.adaptor, entry.seconds(min), ours.get(entry.job.group)
        compared = our is not None and entry.is_comparable
        notes = [job.note, entry.fields.get("detail"), "" if best > 0 else "too short to be timed"]
        yield {"work": work.name, "problem": problem.label, "peer": f"{adaptor.name} {adaptor.version()}".strip(), "job": job.name,
               "group": job.group, "arrays": job.arrays, "iterations": entry.fields.get("iterations"), "best": best,
               "mean": entry.seconds(statistics.mean), "deviation": entry.deviation(), "processor": entry.seconds(min, 1),
               "share": limit / best if limit and best > 0 and not adaptor.published else None,
               "times_ours": best / our.seconds(min) if compared else None,
               "ahead": compared and not adaptor.own and best < our.seconds(min), "error": entry.fields["error"],
               "our_error": our.fields["error"] if compared else None,
               "lines": adaptor.lines(work.name) if work.counts_lines else None, "note": "; ".join(filter(None, notes))}


def compare(work, problem, adaptors, place, runs):
    """Rows of one problem, and (name, reason) of what is left out. Runs take turns, so that all see the same machine."""
    log(f"{work.title}, {problem.label}")
    having = [adaptor for adaptor in adaptors if adaptor.does(work.name)]
    entries, left_out = entries_of(work, problem, having, place)
    for _ in range(runs):
        for entry in list(entries):
            try:
                entry.times.append([timed(entry.job.run, *count) for count in entry.counts])
            except Exception as error:
                entries.remove(entry)
                left_out.append((f"{entry.adaptor.name} {entry.job.name}".strip(), reason_of(error)))
    try:
        limit = work.limit(problem, place) if entries else None
    except (SystemExit, KeyError, IndexError, ZeroDivisionError) as error:  # of the command, or of a form that the device lacks
        log(f"no limit: {reason_of(error)}")
        limit = None
    rows = list(rows_of(work, problem, entries, limit))
    for row in rows:
        log(f"  {row['peer']}, {row['job']}: {row['best']:.4g} s" + (", AHEAD" if row["ahead"] else ""))
    return rows, left_out
