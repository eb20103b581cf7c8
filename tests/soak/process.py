"""Runs of the command in folders of their own, with limits, signals and failing OpenCL calls."""
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HALOCLINE_BUILD", ROOT / "build" / "release"))
FOLDER = ROOT / "build" / "soak"
COMMAND = BUILD / "bin" / "halocline"
CACHE = FOLDER / "cache"
FINDINGS = FOLDER / "findings"
LONGEST = 300  # seconds, of a job that takes one or two; more is a hang
ENVIRONMENT = {"HALOCLINE_CACHE_DIR": str(CACHE), "CLFFT_CACHE_PATH": str(FOLDER / "clfft"),
               "POCL_CACHE_DIR": str(FOLDER / "pocl"), "HALOCLINE_POISON_MEMORY": "1", "TMPDIR": str(FOLDER / "tmp")}
_NEW_MOUNTS = 0x20000  # CLONE_NEWNS of unshare(2)


def prepare(device):
    """An empty build/soak, the devices of all jobs, and mounts of this process alone, which go away with it."""
    ENVIRONMENT["HALOCLINE_DEVICE"] = device
    for needed in (COMMAND, BUILD / "tests" / "fault_layer.so", BUILD / "python" / "package" / "halocline"):
        if not needed.exists():
            sys.exit(f"scripts/soak: {needed} is not there; scripts/test builds it")
    shutil.rmtree(FOLDER, ignore_errors=True)
    for folder in ("cache", "clfft", "pocl", "tmp", "findings"):
        (FOLDER / folder).mkdir(parents=True)
    if os.geteuid() == 0 and ctypes.CDLL(None).unshare(_NEW_MOUNTS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)


@dataclass
class Disturbance:
    """moment: seconds until the signal. fault: as in tests/support/fault_layer.hpp. file_size: bytes of a file at most."""

    moment: float = 0
    signal: int = 0
    fault: str = ""
    file_size: int = 0


@dataclass
class Ran:
    """code: negative: ended by that signal; None: it hung."""

    code: int | None
    said: str
    seconds: float
    words: list


class Running:
    def __init__(self, words, disturbance=None):
        self.disturbance = disturbance or Disturbance()
        self.words = [str(COMMAND), *map(str, words), "--quiet", "--no-tune", "--device", ENVIRONMENT["HALOCLINE_DEVICE"]]
        environment = dict(os.environ, **ENVIRONMENT)
        if self.disturbance.fault:
            environment |= {"OPENCL_LAYERS": str(BUILD / "tests" / "fault_layer.so"),
                            "HALOCLINE_FAULT": self.disturbance.fault}
        self.start = time.monotonic()
        self.child = subprocess.Popen(self.words, env=environment, preexec_fn=self._limit, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace")

    def _limit(self):
        size = self.disturbance.file_size
        if size:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def wait(self):
        said, hung = "", False
        try:
            try:
                said, _ = self.child.communicate(timeout=self.disturbance.moment if self.disturbance.signal else LONGEST)
            except subprocess.TimeoutExpired:
                if not self.disturbance.signal:
                    raise
                self.child.send_signal(self.disturbance.signal)
                said, _ = self.child.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            hung = True
            self.child.kill()
            said, _ = self.child.communicate()
        return Ran(None if hung else self.child.returncode, said, time.monotonic() - self.start, self.words)


def run(words, disturbance=None):
    return Running(words, disturbance).wait()
