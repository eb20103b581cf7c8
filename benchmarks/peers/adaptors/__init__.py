"""A file for each package. `Peer` in it is the adaptor."""
import importlib
import pkgutil


def names():
    return sorted(each.name for each in pkgutil.iter_modules(__path__))


def adaptor(name):
    return importlib.import_module(f"{__name__}.{name}").Peer
