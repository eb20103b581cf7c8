"""Packages that are adapted, and jobs that are timed."""
import importlib.metadata
import inspect
import re


class LeftOut(Exception):
    """Why a peer takes no part in a work."""


class Job:
    """A piece of work that is prepared.

    run: called with the count of iterations of iterative works, else without arguments; ends when the result is there, and may
    return seconds that it measured itself. result: a function that returns the values of the last run in host memory. group: jobs of
    one group are compared, such as "siddon". name: the method, in the peer's words. arrays: "host" or "device", where a run begins
    and ends. setting: the count of iterations, where a work would look for it. note: what a reader has to know.
    """

    def __init__(self, run, result, *, group="", name="", arrays="host", setting=None, note=""):
        self.run, self.result, self.group, self.name = run, result, group, name
        self.arrays, self.setting, self.note = arrays, setting, note


class Adaptor:
    """A package. It does a work if it has a function of the work's name, which returns its jobs, or raises LeftOut.

    name: in tables. package: the distribution whose version is shown. own: True for Halocline. published: True for times of
    another device, which are shown and not compared. Imports are in start(), so that a package that is absent can be named.
    """

    name = package = ""
    own = published = False

    def __init__(self, place):
        self.place = place
        self.start()

    def start(self):
        """Imports the package. Raises ImportError or LeftOut."""

    def version(self):
        try:
            return importlib.metadata.version(self.package) if self.package else ""
        except importlib.metadata.PackageNotFoundError:
            return ""

    def does(self, work):
        return callable(getattr(self, work, None))

    def lines(self, work):
        """Lines of code of a work, with those of the functions of the adaptor that it calls, without imports and blank lines."""
        counted, waiting, lines = set(), [work], 0
        while waiting:
            name = waiting.pop()
            function = getattr(type(self), name, None)
            if name in counted or not inspect.isfunction(function):
                continue
            counted.add(name)
            source = inspect.getsource(function)
            waiting += re.findall(r"self\.(\w+)\(", source)
            lines += sum(1 for line in source.splitlines()[1:] if line.strip() and not line.strip().startswith(("import ", "from ", '"""')))
        return lines
