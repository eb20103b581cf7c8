"""A file for a work or two. `WORKS` in it holds them."""
import importlib
import pkgutil


def all_works():
    """Works by name."""
    modules = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    return {work.name: work for module in modules for work in getattr(module, "WORKS", ())}
