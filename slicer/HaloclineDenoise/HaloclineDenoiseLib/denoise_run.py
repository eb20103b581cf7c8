"""Denoising of an array in a thread of its own, with progress and an end by request.

Nothing here needs Slicer: volumes are arrays (k, j, i), and where they lie is a 4 x 4 matrix.
"""

import threading

METHODS = {
    "pdu": "Total variation (PDU)",
    "spdu": "Total variation, weighted by the noise (S-PDU)",
    "tvgd": "Total variation by gradient descent (TV-GD)",
    "nlm": "Non-local means",
    "median": "Median",
    "gaussian": "Gaussian",
}
METHODS_WITH_ALPHA = ("pdu", "spdu")


class Cancelled(Exception):
    """The run was ended by cancel()."""


class State:
    """How far a run is: `fraction` of its stage, from 0 to 1, and a note such as the gap that was reached."""

    def __init__(self, stage="", fraction=0.0, note=""):
        self.stage, self.fraction, self.note = stage, fraction, note


def grid_of(halocline, shape, ijk_to_ras):
    """The halocline.Grid of a volume of Slicer: shape (k, j, i) and the matrix from indices to RAS, four rows.

    Halocline's world is that of ITK (LPS), whose first two axes point the other way.
    """
    lps = [[-value for value in ijk_to_ras[0]], [-value for value in ijk_to_ras[1]], list(ijk_to_ras[2])]
    spacing = [sum(lps[row][axis] ** 2 for row in range(3)) ** 0.5 for axis in range(3)]
    if not all(length > 0 for length in spacing):
        raise ValueError(f"the volume's spacing is {spacing}; expected positive numbers: mend it in the module Volumes")
    direction = [[lps[row][axis] / spacing[axis] for axis in range(3)] for row in range(3)]
    return halocline.Grid(tuple(shape), tuple(spacing[::-1]), tuple(lps[row][3] for row in range(3)), direction)


def options_of(method, alpha=None, weights=None, device=""):
    """Keywords of halocline.denoise(). alpha: a number, or None for what it chooses by itself. weights: an array of the
    noise's variance for spdu; None: estimated in the volume. device: "" for the default."""
    if method not in METHODS:
        raise ValueError(f"the method is '{method}'; expected one of {', '.join(METHODS)}")
    options = {"method": method}
    if alpha is not None:
        if method not in METHODS_WITH_ALPHA:
            raise ValueError(f"{method} has no strength to give; expected that of {' or '.join(METHODS_WITH_ALPHA)}")
        if not 0 < alpha < float("inf"):
            raise ValueError(f"the strength is {alpha}; expected a positive number")
        options["alpha"] = float(alpha)
    if method == "spdu":
        options["weights"] = "estimate" if weights is None else weights
    elif weights is not None:
        raise ValueError(f"{method} takes no noise variance; leave it out, or take spdu")
    if device:
        options["device"] = device
    return options


class DenoiseRun:
    """One run of halocline.denoise(). Its methods are for the thread that made it.

    halocline: the package. array: is not changed, nor kept from changing. options: see options_of().
    """

    def __init__(self, halocline, array, grid, **options):
        self._halocline, self._array, self._grid, self._options = halocline, array, grid, options
        self._thread = threading.Thread(target=self._work, name="halocline.denoise", daemon=True)
        self._cancelled = threading.Event()
        self._state, self._result, self._info, self._error = State(), None, None, None

    def start(self):
        self._thread.start()

    def cancel(self):
        """Ends the run within an iteration; result() then raises Cancelled."""
        self._cancelled.set()

    @property
    def state(self):
        return self._state

    @property
    def cancelled(self):
        """cancel() was called; the run may still go on for a moment."""
        return self._cancelled.is_set()

    @property
    def ended(self):
        return not self._thread.is_alive()

    def wait(self, seconds=None):
        """Returns True if it ends within so many seconds."""
        self._thread.join(seconds)
        return self.ended

    def result(self):
        """The denoised array, once the run has ended. Raises Cancelled, or what halocline.denoise() raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def alpha(self):
        """The strength that a run which has ended well had; None where its method has none."""
        return self._number("alpha")

    def summary(self):
        """One line about a run that has ended well."""
        texts = {"alpha": "alpha {:.4g}", "relative_gap": "relative gap {:.2g}", "iterations": "{:.0f} iterations"}
        found = {name: self._number(name) for name in texts}
        if self._options["method"] in ("nlm", "median", "gaussian"):
            found["iterations"] = None
        return ", ".join(text.format(found[name]) for name, text in texts.items() if found[name] is not None) or "done"

    def _number(self, name):
        value = getattr(self._info, name, None)
        return value if isinstance(value, (int, float)) and value == value else None

    def _work(self):
        try:
            found = self._halocline.denoise(self._array, self._grid, progress=self._told, return_info=True,
                                            **self._options)
            if self._cancelled.is_set():
                raise Cancelled
            self._result, self._info = found
        except BaseException as error:  # result() raises it in the thread that asks
            self._error = error
        finally:
            self._array = None

    def _told(self, state):
        if self._cancelled.is_set():
            raise Cancelled
        fraction = state.done / state.total if state.total > 0 else 0.0
        self._state = State(state.stage, min(max(fraction, 0.0), 1.0), state.note)
