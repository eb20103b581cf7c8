"""The work of the module, without Slicer."""
