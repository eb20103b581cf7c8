"""`python -m halocline_pocl` prints the path of the driver."""

from . import library

print(library())
