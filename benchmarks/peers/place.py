"""Where a run takes place: the device of Halocline, and the arrays of PyTorch or CuPy on the same GPU."""
import numpy as np

from .errors import refuse
from .peer import LeftOut


class HostArrays:
    """NumPy's."""

    kind = "host"

    def array(self, values):
        return np.ascontiguousarray(values, np.float32)

    def zeros(self, shape):
        return np.zeros(shape, np.float32)

    def host(self, values):
        return np.asarray(values)

    def wait(self):
        """Until all work on the device has ended."""


class TorchArrays(HostArrays):
    kind = "device"

    def __init__(self):
        import torch
        if not torch.cuda.is_available():
            raise LeftOut("PyTorch finds no CUDA device")
        self.torch = torch

    def array(self, values):
        return self.torch.from_numpy(np.ascontiguousarray(values, np.float32)).cuda()

    def zeros(self, shape):
        return self.torch.zeros(tuple(shape), device="cuda")

    def host(self, values):
        return values.cpu().numpy()

    def wait(self):
        self.torch.cuda.synchronize()


class CupyArrays(HostArrays):
    kind = "device"

    def __init__(self):
        import cupy
        if cupy.cuda.runtime.getDeviceCount() < 1:
            raise LeftOut("CuPy finds no CUDA device")
        self.cupy = cupy

    def array(self, values):
        return self.cupy.asarray(np.ascontiguousarray(values, np.float32))

    def zeros(self, shape):
        return self.cupy.zeros(tuple(shape), self.cupy.float32)

    def host(self, values):
        return self.cupy.asnumpy(values)

    def wait(self):
        self.cupy.cuda.runtime.deviceSynchronize()


class Place:
    """device: as Halocline takes it. command: harness.Halocline, or None. iterations, fewer: of iterative works."""

    def __init__(self, device, cores, command, iterations=20, fewer=5):
        self.device, self.cores, self.command = device, cores, command
        self.iterations, self.fewer = iterations, fewer
        self.name, self.on_gpu = device or "the default device", False

    def look(self):
        """Finds what Halocline runs on."""
        import halocline as hc
        found = hc.devices()
        wanted = [each for each in found if self.device in (None, "", each.type, str(each.index)) or self.device in each.name]
        if not wanted:
            refuse(f"--device {self.device}: there are {', '.join(f'{each.type} {each.name}' for each in found) or 'none'}")
        gpus = [each for each in wanted if each.type == "gpu"]
        chosen = (gpus or wanted)[0]
        self.name, self.on_gpu, self.device = chosen.name, chosen.type == "gpu", str(chosen.index)
        return self

    def require_gpu(self):
        if not self.on_gpu:
            raise LeftOut("needs CUDA")

    def require_cpu(self):
        if self.on_gpu:
            raise LeftOut("runs on processors alone")

    def arrays(self, prefer="torch"):
        """Arrays of the device that peers compute on."""
        if not self.on_gpu:
            return HostArrays()
        try:
            return TorchArrays() if prefer == "torch" else CupyArrays()
        except ImportError as error:
            raise LeftOut(str(error)) from None
