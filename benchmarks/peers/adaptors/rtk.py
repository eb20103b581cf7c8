"""RTK: ITK's filters on processors, or those with CUDA of its CUDA wheels."""
import os
import tempfile

import numpy as np

from ..peer import Adaptor, Job, LeftOut


class Peer(Adaptor):
    name = "RTK"

    def start(self):
        if self.place.on_gpu:
            self.place.arrays()  # loads the CUDA libraries
        import itk
        from itk import RTK as rtk
        self.itk, self.rtk, self.host = itk, rtk, itk.Image[itk.F, 3]
        if self.place.on_gpu and not hasattr(itk, "CudaImage"):
            raise LeftOut("itk-rtk is there without CUDA; install itk-rtk-cuda124")
        self.image = itk.CudaImage[itk.F, 3] if self.place.on_gpu else self.host
        self.cuda = "Cuda" if self.place.on_gpu else ""

    def version(self):
        import importlib.metadata
        found = [each for each in importlib.metadata.distributions() if (each.metadata["Name"] or "").startswith("itk-rtk")]
        return found[0].version if found else ""

    def _geometry(self, scan):
        if scan.kind in ("parallel", "fan"):
            raise LeftOut("scans here are cones")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "g.xml")
            scan.geometry.write(path)
            reader = self.rtk.ThreeDCircularProjectionGeometryXMLFileReader.New()
            reader.SetFilename(path)
            reader.GenerateOutputInformation()
            return reader.GetOutputObject()

    def _image(self, values, spacing):
        """An image that is centred; on the GPU it copies to it when a filter reads it."""
        found = self.itk.image_from_array(np.ascontiguousarray(values, np.float32))
        found.SetSpacing(spacing)
        size = values.shape[::-1]
        found.SetOrigin([-0.5 * (n - 1) * step for n, step in zip(size, spacing)])
        return self.itk.cuda_image_from_image(found) if self.place.on_gpu else found

    def _stack(self, values, scan):
        found = self._image(values, (*scan.pixel, 1.0))
        origin = found.GetOrigin()
        found.SetOrigin([origin[0], origin[1], 0.0])
        return found

    def _volume(self, values, scan):
        """Its y is along the axis."""
        return self._image(values.transpose(1, 0, 2), (scan.spacing,) * 3)

    def _array(self, image):
        """The values in host memory, also of an image with CUDA."""
        if self.place.on_gpu:
            stream = self.itk.StreamingImageFilter[self.host, self.host].New()
            stream.SetInput(image)
            stream.Update()
            image = stream.GetOutput()
        return self.itk.array_from_image(image)

    def _filter(self, name):
        """Those with CUDA have one type or none."""
        kind, projects = getattr(self.rtk, self.cuda + name), "Projection" in name
        if self.cuda:
            return kind[self.image].New() if projects else kind.New()
        return kind[(self.image,) * (2 if projects else 1)].New()

    def _product(self, scan, name, first, second, result, group, label):
        product = self._filter(name)
        product.SetInput(0, first)
        product.SetInput(1, second)
        product.SetGeometry(self._geometry(scan))
        product.InPlaceOff()

        def run():
            product.Modified()
            product.Update()

        return Job(run, lambda: result(self._array(product.GetOutput())), group=group, name=label)

    def forward(self, scan):
        name = "ForwardProjectionImageFilter" if self.cuda else "JosephForwardProjectionImageFilter"
        stack = self._stack(np.zeros(scan.shape, np.float32), scan)
        label = "ray casting" if self.cuda else "Joseph"
        return [self._product(scan, name, stack, self._volume(scan.volume, scan), lambda values: values, "joseph", label)]

    def adjoint(self, scan):
        volume = self._volume(np.zeros(scan.grid.shape, np.float32), scan)
        back = lambda values: values.transpose(1, 0, 2)
        return [self._product(scan, "BackProjectionImageFilter", volume, self._stack(scan.analytic, scan), back, "voxel", "voxel-based")]

    def _reconstructed(self, scan, make, values, group="", name=""):
        geometry, kept = self._geometry(scan), []

        def run(iterations=None):
            volume, stack = self._volume(np.zeros(scan.grid.shape, np.float32), scan), self._stack(values, scan)
            last, parts = make(volume, stack, geometry, iterations)
            last.Update()
            kept[:] = [self._array(last.GetOutput()), parts]

        return Job(run, lambda: kept[0].transpose(1, 0, 2), group=group, name=name)

    def fdk(self, scan):
        def make(volume, stack, geometry, _):
            displaced = self._filter("DisplacedDetectorImageFilter")
            displaced.SetInput(stack)
            displaced.SetGeometry(geometry)
            displaced.SetPadOnTruncatedSide(True)
            parker = self._filter("ParkerShortScanImageFilter")
            parker.SetInput(displaced.GetOutput())
            parker.SetGeometry(geometry)
            parker.InPlaceOff()
            fdk = self._filter("FDKConeBeamReconstructionFilter")
            fdk.SetInput(0, volume)
            fdk.SetInput(1, parker.GetOutput())
            fdk.SetGeometry(geometry)
            fdk.GetRampFilter().SetTruncationCorrection(0)
            return fdk, (displaced, parker)

        return [self._reconstructed(scan, make, scan.analytic, name="FDK")]

    def iterative(self, scan):
        views = len(scan.degrees)
        make = lambda name, subset: lambda *given: self._solver(name, subset, *given)
        return [self._reconstructed(scan, make("ConjugateGradient", 0), scan.projections, "cgls", "ConjugateGradient"),
                self._reconstructed(scan, make("SART", views), scan.projections, "sirt", "SART of all views"),
                self._reconstructed(scan, make("SART", max(1, views // 10)), scan.projections, "os-sart", "SART of 10 subsets")]

    def _solver(self, name, subset, volume, stack, geometry, iterations):
        kind = getattr(self.rtk, name + "ConeBeamReconstructionFilter")
        solver = kind[(self.image,) * (2 if subset else 1)].New()
        if subset:
            solver.SetNumberOfProjectionsPerSubset(subset)
            solver.SetLambda(1)
        solver.SetInput(0, volume)
        solver.SetInput(1, stack)
        solver.SetGeometry(geometry)
        project = "FP_CUDARAYCAST" if self.cuda else "FP_JOSEPH"
        back = "BP_CUDAVOXELBASED" if self.cuda else "BP_JOSEPH"
        solver.SetForwardProjectionFilter(getattr(solver, f"ForwardProjectionType_{project}"))
        solver.SetBackProjectionFilter(getattr(solver, f"BackProjectionType_{back}"))
        solver.SetDisableDisplacedDetectorFilter(True)
        solver.SetNumberOfIterations(iterations)
        return solver, ()
