"""ITK's module TotalVariation (proxTV), on processors."""
from ..peer import Adaptor, Job


class Peer(Adaptor):
    name, package = "proxTV (ITK)", "itk-totalvariation"

    def start(self):
        self.place.require_cpu()
        import itk
        itk.ProxTVImageFilter  # an AttributeError names it where it is absent
        self.itk = itk

    def denoise(self, problem):
        kept, itk = [], self.itk

        def run(iterations):
            image = itk.image_from_array(problem.f)
            proximal = itk.ProxTVImageFilter[type(image), type(image)].New(image)
            proximal.SetWeights(itk.FixedArray[itk.D, 3]([1 / problem.alpha] * 3))
            proximal.SetMaximumNumberOfIterations(iterations)
            proximal.Update()
            kept[:] = [itk.array_from_image(proximal.GetOutput())]

        return [Job(run, lambda: kept[-1], name="ProxTVImageFilter", setting=20, note="anisotropic")]
