#!/usr/bin/env bash
# A Python program on ranks that mpi4py starts: it runs a command of Halocline twice. HALOCLINE_PYTHON is the interpreter.
exec "$HALOCLINE_PYTHON" -c '
import sys
from mpi4py import MPI
from halocline.__main__ import main
sys.exit(main() or main())' "$@"
