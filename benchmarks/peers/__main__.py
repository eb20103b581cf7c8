"""`python3 -m benchmarks.peers` and `python3 benchmarks/peers`."""
import os
import sys

if not __package__:  # a folder that is run puts itself first on the path, where its files hide the packages that they adapt
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "benchmarks.peers"

from .driver import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
