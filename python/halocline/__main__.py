"""The command: `python -m halocline` and `halocline`."""

from __future__ import annotations

import sys

from . import _drivers

_drivers.find()

from . import _core  # noqa: E402


def main() -> int:
    return int(_core.main(["halocline", *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())
