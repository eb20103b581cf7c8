"""Times that Nourazar & Goossens (2021) publish in tables 4 and 6, of an RTX 2080 Ti (616 GB/s) and a fan beam, 720 views of 512 pixels."""
from ..peer import Adaptor, Job, LeftOut

# By size, ms a slice and iteration: tensor cores (fragment 8.32.16), cuSPARSE, CGLS of ASTRA. The paper's 0.7 of 64^2 must be a slip of
# the pen for 0.07.
TABLE_4 = {64: (0.07, 0.28, 0.92), 128: (0.11, 0.56, 0.97), 256: (0.22, 1.30, 1.58), 320: (0.29, 1.73, 2.08), 384: (0.38, 2.16, 3.03),
           512: (0.62, 3.12, 4.55)}
# ms of A of one slice: tensor cores with symmetry, cuSPARSE.
TABLE_6 = {64: (0.10, 0.72), 128: (0.19, 0.71), 256: (0.44, 1.13), 320: (0.59, 1.23), 384: (0.78, 1.55), 512: (1.22, 2.10)}
NAMES = "tensor cores, 32 slices", "cuSPARSE, 32 slices", "CGLS of ASTRA, a slice"


class Peer(Adaptor):
    name, published = "Nourazar & Goossens", True

    def matrix(self, scan):
        if (len(scan.degrees), scan.columns) != (720, 512) or scan.n not in TABLE_4:
            raise LeftOut("it has no times of this problem")
        jobs = [Job(lambda ms=ms: 1e-3 * ms * scan.slices, None, name=name, group="A, A^T") for name, ms in zip(NAMES, TABLE_4[scan.n])]
        if scan.slices == 1:
            jobs += [Job(lambda ms=ms: 1e-3 * ms, None, name=name.split(",")[0], group="A") for name, ms in zip(NAMES, TABLE_6[scan.n])]
        return jobs
