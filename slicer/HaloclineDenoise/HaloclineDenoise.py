"""A module of 3D Slicer that denoises volumes with the Python package halocline."""

import ctk
import numpy
import qt
import slicer
import vtk
from slicer.ScriptedLoadableModule import (ScriptedLoadableModule, ScriptedLoadableModuleLogic,
                                           ScriptedLoadableModuleWidget)

from HaloclineDenoiseLib.denoise_run import METHODS, METHODS_WITH_ALPHA, Cancelled, DenoiseRun, grid_of, options_of

PACKAGE, PACKAGE_WITH_DRIVER = "halocline", "halocline[cpu]"
TITLE = "Halocline denoise"


class HaloclineDenoise(ScriptedLoadableModule):
    def __init__(self, parent):
        ScriptedLoadableModule.__init__(self, parent)
        parent.title = TITLE
        parent.categories = ["Filtering.Denoising"]
        parent.dependencies = []
        parent.contributors = ["The Halocline developers"]
        parent.helpText = ("Denoises a volume by total variation, non-local means, a median or a Gaussian on any "
                           "OpenCL device. The strength of total variation is chosen by the noise unless it is given.")
        parent.acknowledgementText = "Halocline, Apache-2.0."


class HaloclineDenoiseLogic(ScriptedLoadableModuleLogic):
    """Nodes to arrays and back; the work itself is DenoiseRun."""

    @staticmethod
    def package():
        """The package halocline, or None where it is not installed."""
        try:
            import halocline
        except ImportError:
            return None
        return halocline

    def ready(self, ask):
        """The package with a device to run on. What is missing is installed if ask(question) answers yes; None where it
        does not."""
        package = self.package()
        if package is None:
            if not ask(f"This module needs the Python package '{PACKAGE}'. Install it from the internet into Slicer's "
                       "Python?"):
                return None
            slicer.util.pip_install(PACKAGE)
            package = self.package()
            if package is None:
                raise RuntimeError(f"'{PACKAGE}' was installed and cannot be imported; restart Slicer")
        if package.devices():
            return package
        if ask("There is no OpenCL device: no driver of a GPU was found. Install one for the processor from the "
               "internet into Slicer's Python?"):
            slicer.util.pip_install(PACKAGE_WITH_DRIVER)
            raise RuntimeError("A driver for the processor was installed; restart Slicer")
        return None

    @staticmethod
    def run(package, node, method, alpha=None, weights_node=None, device=""):
        """A DenoiseRun of a volume node, which has not begun."""
        matrix = vtk.vtkMatrix4x4()
        node.GetIJKToRASMatrix(matrix)
        array = numpy.array(slicer.util.arrayFromVolume(node))  # a copy: the scene may change meanwhile
        weights = None
        if weights_node is not None:
            weights = numpy.array(slicer.util.arrayFromVolume(weights_node))
        ijk_to_ras = [[matrix.GetElement(row, column) for column in range(4)] for row in range(4)]
        return DenoiseRun(package, array, grid_of(package, array.shape, ijk_to_ras),
                          **options_of(method, alpha, weights, device))

    @staticmethod
    def put(result, node, input_node):
        """The result into a volume node, where the input lies, shown as the input is."""
        matrix = vtk.vtkMatrix4x4()
        input_node.GetIJKToRASMatrix(matrix)
        node.SetIJKToRASMatrix(matrix)
        node.SetAndObserveTransformNodeID(input_node.GetTransformNodeID())
        slicer.util.updateVolumeFromArray(node, result)
        if node.GetDisplayNode() is None:
            node.CreateDefaultDisplayNodes()


class HaloclineDenoiseWidget(ScriptedLoadableModuleWidget):
    def setup(self):
        ScriptedLoadableModuleWidget.setup(self)
        self.logic = HaloclineDenoiseLogic()
        self.denoise_run = self.input_node = self.output_node = None
        self.timer = qt.QTimer()
        self.timer.setInterval(100)
        self.timer.connect("timeout()", self.on_tick)
        self._add_volumes()
        self._add_method()
        self._add_buttons()
        self.layout.addStretch(1)
        self.on_change()

    def cleanup(self):
        """Slicer closes the panel."""
        self.timer.stop()
        if self.denoise_run is not None:
            self.denoise_run.cancel()
            self.denoise_run.wait(10)
            self.denoise_run = None

    def _section(self, title):
        section = ctk.ctkCollapsibleButton()
        section.text = title
        self.layout.addWidget(section)
        return qt.QFormLayout(section)

    def _selector(self, tip, none=False, new=False):
        selector = slicer.qMRMLNodeComboBox()
        selector.nodeTypes = ["vtkMRMLScalarVolumeNode"]
        selector.showChildNodeTypes = False  # labels and colours
        selector.noneEnabled = none
        selector.addEnabled = selector.removeEnabled = selector.renameEnabled = new
        if new:
            selector.baseName = "Denoised"
        selector.setMRMLScene(slicer.mrmlScene)
        selector.setToolTip(tip)
        selector.connect("currentNodeChanged(vtkMRMLNode*)", self.on_change)
        return selector

    def _add_volumes(self):
        form = self._section("Volumes")
        self.input = self._selector("The volume that is denoised")
        self.output = self._selector("The volume that takes the result, as float32; it may be the input", none=True,
                                     new=True)
        form.addRow("Input volume:", self.input)
        form.addRow("Output volume:", self.output)

    def _add_method(self):
        form = self._section("Method")
        self.method = qt.QComboBox()
        for name, title in METHODS.items():
            self.method.addItem(title, name)
        self.method.connect("currentIndexChanged(int)", self.on_change)
        self.automatic = qt.QCheckBox("chosen by the noise")
        self.automatic.checked = True
        self.automatic.connect("toggled(bool)", self.on_change)
        self.alpha = qt.QDoubleSpinBox()
        self.alpha.decimals = 8
        self.alpha.minimum, self.alpha.maximum, self.alpha.value = 1e-8, 1e8, 1.0
        self.alpha.setToolTip("1 / lambda, in 1/(grey value mm): more smooths less. What a run has chosen is put here")
        self.weights = self._selector("The noise's variance at every voxel, up to a factor; none: it is estimated",
                                      none=True)
        self.device = qt.QComboBox()
        self.device.addItem("Default (the first GPU)", "")
        self.device.addItem("All devices", "all")
        self._list_devices(self.logic.package())
        form.addRow("Method:", self.method)
        form.addRow("Strength:", self.automatic)
        form.addRow("Alpha:", self.alpha)
        form.addRow("Noise variance:", self.weights)
        form.addRow("Device:", self.device)

    def _list_devices(self, package):
        if package is None or self.device.count > 2:
            return
        for device in package.devices():
            self.device.addItem(device.name, str(device.index))

    def _add_buttons(self):
        self.apply = qt.QPushButton("Apply")
        self.apply.connect("clicked(bool)", self.on_apply)
        self.cancel = qt.QPushButton("Cancel")
        self.cancel.connect("clicked(bool)", self.on_cancel)
        self.progress = qt.QProgressBar()
        self.progress.maximum = 1000
        self.status = qt.QLabel()
        self.status.wordWrap = True
        for widget in (self.apply, self.cancel, self.progress, self.status):
            self.layout.addWidget(widget)

    def on_change(self, *_):
        """Enables what can be used."""
        running = self.denoise_run is not None
        method = self.method.currentData
        with_alpha = method in METHODS_WITH_ALPHA
        self.automatic.enabled = with_alpha and not running
        self.alpha.enabled = with_alpha and not self.automatic.checked and not running
        self.weights.enabled = method == "spdu" and not running
        for widget in (self.input, self.output, self.method, self.device):
            widget.enabled = not running
        self.apply.enabled = not running and self.input.currentNode() is not None
        self.cancel.enabled = running and not self.denoise_run.cancelled

    def on_apply(self, *_):
        with slicer.util.tryWithErrorDisplay("Denoising could not begin."):
            package = self.logic.ready(lambda question: slicer.util.confirmOkCancelDisplay(question, TITLE))
            if package is None:
                return
            self._list_devices(package)
            self.input_node, self.output_node = self.input.currentNode(), self.output.currentNode()
            method = self.method.currentData
            given = method in METHODS_WITH_ALPHA and not self.automatic.checked
            run = self.logic.run(package, self.input_node, method, self.alpha.value if given else None,
                                 self.weights.currentNode() if method == "spdu" else None, self.device.currentData)
            run.start()
            self.denoise_run = run
            self.status.text = ""
            self.timer.start()
        self.on_change()

    def on_cancel(self, *_):
        if self.denoise_run is not None:
            self.denoise_run.cancel()
            self.status.text = "Ending ..."
        self.on_change()

    def on_tick(self):
        """Ten times a second while a run goes on."""
        run = self.denoise_run
        if run is None:
            return
        if not run.ended:
            self.progress.value = round(1000 * run.state.fraction)
            if not run.cancelled:
                self.status.text = f"{run.state.stage} {run.state.note}".strip()
            return
        self.timer.stop()
        self.denoise_run = None
        self._finish(run)
        self.on_change()

    def _finish(self, run):
        self.progress.value = 0
        self.status.text = ""
        try:
            result = run.result()
        except Cancelled:
            self.status.text = "Cancelled; the output is as it was."
            return
        except Exception as error:  # the package's texts say what is wrong and what to do
            self.status.text = str(error)
            slicer.util.errorDisplay(str(error), TITLE)
            return
        if self.input_node.GetScene() is None:
            self.status.text = "The input volume was removed from the scene; there is no output."
            return
        if self.output_node is None or self.output_node.GetScene() is None:
            name = f"{self.input_node.GetName()} denoised"
            self.output_node = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", name)
            self.output.setCurrentNode(self.output_node)
        self.logic.put(result, self.output_node, self.input_node)
        slicer.util.setSliceViewerLayers(background=self.output_node)
        if run.alpha is not None:
            self.alpha.value = run.alpha
        self.progress.value = 1000
        self.status.text = run.summary()
