"""scikit-image, on processors."""
import numpy as np

from ..peer import Adaptor, Job, LeftOut


class Peer(Adaptor):
    name, package = "scikit-image", "scikit-image"

    def start(self):
        self.place.require_cpu()
        from skimage import restoration, transform
        self.restoration, self.transform = restoration, transform

    def forward(self, scan):
        if scan.kind != "parallel" or scan.slices > 1 or scan.columns != scan.n or abs(scan.pixel[0] / scan.spacing - 1) > 0.1:
            raise LeftOut("radon() has a parallel beam with pixels of the slice's size")
        kept = []
        resampled = self._to_detector(scan)

        def run():
            kept[:] = [self.transform.radon(resampled, scan.degrees, circle=True)]

        return [Job(run, lambda: kept[-1].T[:, None] * scan.pixel[0], group="joseph", name="radon",
                    note="" if scan.n % 2 else "its axis lies half a pixel aside")]

    def _to_detector(self, scan):
        """The slice with pixels as large as the detector's, outside of the clock."""
        at = (np.arange(scan.n) - 0.5 * (scan.n - 1)) * scan.pixel[0] / scan.spacing + 0.5 * (scan.n - 1)
        places = np.meshgrid(at, at, indexing="ij")
        return self.transform.warp(scan.volume[0], np.array(places), order=1)

    def denoise(self, problem):
        strength = 1 / problem.alpha
        chambolle, bregman = self.restoration.denoise_tv_chambolle, self.restoration.denoise_tv_bregman
        return [self._job("denoise_tv_chambolle", lambda n: chambolle(problem.f, weight=strength, eps=0, max_num_iter=n)),
                self._job("denoise_tv_bregman", lambda n: bregman(problem.f, weight=1 / (2 * strength), eps=0, max_num_iter=n), setting=40,
                          note="2D")]

    def _job(self, name, call, **keywords):
        kept = []

        def run(iterations):
            kept[:] = [call(iterations)]

        return Job(run, lambda: np.asarray(kept[-1], np.float32), name=name, **keywords)
