"""What the module does, without Slicer."""
