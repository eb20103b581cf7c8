"""Ends of the program."""
import sys


def refuse(reason):
    """Ends the program as argparse does for a wrong option."""
    print(f"benchmarks.peers: error: {reason}", file=sys.stderr)
    raise SystemExit(2)
