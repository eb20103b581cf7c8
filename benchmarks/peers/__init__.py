"""Halocline beside other packages: the same works, on the same device, in the same run, in turns.

adaptors/ holds a file for each package, works/ one for each work. Run as `python3 -m benchmarks.peers`.
"""
