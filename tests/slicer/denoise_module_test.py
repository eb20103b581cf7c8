"""The module of 3D Slicer outside of it: stand-ins for the package halocline, for Slicer and for Qt."""

import ast
import copy
import importlib
import math
import pathlib
import sys
import threading
import time
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "slicer" / "HaloclineDenoise"))

from HaloclineDenoiseLib import denoise_run  # noqa: E402
from HaloclineDenoiseLib.denoise_run import Cancelled, DenoiseRun, grid_of, options_of  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


class Array:
    """As much of an array as the module knows."""

    def __init__(self, values, shape):
        self.values, self.shape = values, shape


class Halocline:
    """The package's functions that the module calls. steps: how often denoise() tells its progress."""

    class InputError(ValueError):
        pass

    def __init__(self, steps=5, pause=0.001, devices=2):
        self.steps, self.pause, self.calls, self.threads = steps, pause, [], []
        self.found = [types.SimpleNamespace(index=n, name=f"Device {n}") for n in range(devices)]

    @staticmethod
    def Grid(shape, spacing=1.0, origin=None, direction=None):
        return types.SimpleNamespace(shape=shape, spacing=spacing, origin=origin, direction=direction)

    def devices(self):
        return self.found

    def denoise(self, volume, grid=None, *, method="pdu", out=None, return_info=False, progress=None, **options):
        self.calls.append((volume, grid, method, options))
        self.threads.append(threading.current_thread())
        if options.get("alpha") == 666:
            raise self.InputError("alpha= is 666; expected another number")
        for step in range(self.steps):
            progress(types.SimpleNamespace(stage="denoise", done=step, total=self.steps, note=f"gap {step}"))
            time.sleep(self.pause)
        own = isinstance(volume, Array)
        result = Array([value / 2 for value in volume.values], volume.shape) if own else volume / 2
        info = types.SimpleNamespace(alpha=3.5, iterations=17, relative_gap=math.nan)
        return (result, info) if return_info else result


RAS = [[2, 0, 0, 10], [0, 3, 0, 20], [0, 0, 4, 30], [0, 0, 0, 1]]


def run_of(package, array=None, **options):
    array = array or Array([2, 4], (1, 1, 2))
    return DenoiseRun(package, array, grid_of(package, array.shape, RAS), **options_of("pdu", **options))


class TheGrid(unittest.TestCase):
    def test_is_in_the_world_of_itk(self):
        grid = grid_of(Halocline, (7, 6, 5), RAS)
        self.assertEqual(grid.shape, (7, 6, 5))
        self.assertEqual(grid.spacing, (4, 3, 2))  # k, j, i
        self.assertEqual(grid.origin, (-10, -20, 30))
        self.assertEqual(grid.direction, [[-1, 0, 0], [0, -1, 0], [0, 0, 1]])

    def test_keeps_a_turn(self):
        c, s = math.cos(0.3), math.sin(0.3)
        grid = grid_of(Halocline, (7, 6, 5), [[2 * c, -3 * s, 0, 0], [2 * s, 3 * c, 0, 0], [0, 0, 4, 0], [0, 0, 0, 1]])
        for found, expected in zip(grid.spacing, (4, 3, 2)):
            self.assertAlmostEqual(found, expected)
        for found, expected in zip(sum(grid.direction, []), (-c, s, 0, -s, -c, 0, 0, 0, 1)):
            self.assertAlmostEqual(found, expected)

    def test_refuses_a_spacing_of_nothing(self):
        with self.assertRaisesRegex(ValueError, "spacing"):
            grid_of(Halocline, (7, 6, 5), [[2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 4, 0], [0, 0, 0, 1]])


class Options(unittest.TestCase):
    def test_are_those_of_the_package(self):
        self.assertEqual(options_of("pdu"), {"method": "pdu"})
        self.assertEqual(options_of("pdu", 3, None, "all"), {"method": "pdu", "alpha": 3.0, "device": "all"})
        self.assertEqual(options_of("spdu"), {"method": "spdu", "weights": "estimate"})
        self.assertEqual(options_of("spdu", weights="w")["weights"], "w")
        for method in ("tvgd", "nlm", "median", "gaussian"):
            self.assertEqual(options_of(method), {"method": method})

    def test_that_do_nothing_are_refused(self):
        for wrong in (dict(method="median", alpha=3), dict(method="pdu", weights="w"), dict(method="mean"),
                      dict(method="pdu", alpha=0), dict(method="pdu", alpha=math.nan)):
            with self.assertRaisesRegex(ValueError, "expected|leave"):
                options_of(**wrong)

    def test_the_package_takes_them(self):
        source = (ROOT / "python" / "halocline" / "verbs.py").read_text()
        function = next(node for node in ast.parse(source).body
                        if isinstance(node, ast.FunctionDef) and node.name == "denoise")
        self.assertEqual([argument.arg for argument in function.args.args], ["volume", "grid"])
        names = {argument.arg for argument in function.args.kwonlyargs}
        self.assertLessEqual({"method", "progress", "return_info"}, names)
        self.assertIsNotNone(function.args.kwarg)
        for name in denoise_run.METHODS:
            self.assertIn(f'"{name}"', (ROOT / "algorithms" / "denoisers" / "registry.cpp").read_text())


class Run(unittest.TestCase):
    def test_works_in_a_thread_of_its_own(self):
        package = Halocline()
        run = run_of(package, alpha=2, device="cpu")
        run.start()
        self.assertTrue(run.wait(10))
        self.assertEqual(run.result().values, [1, 2])
        self.assertIsNot(package.threads[0], threading.current_thread())
        _, grid, method, options = package.calls[0]
        self.assertEqual((grid.spacing, method, options), ((4, 3, 2), "pdu", {"alpha": 2.0, "device": "cpu"}))
        self.assertEqual(run.summary(), "alpha 3.5, 17 iterations")
        self.assertEqual((run.state.stage, run.state.fraction, run.state.note), ("denoise", 0.8, "gap 4"))

    def test_tells_progress_meanwhile(self):
        run = run_of(Halocline(steps=40, pause=0.005))
        run.start()
        seen = set()
        while not run.wait(0.002):
            seen.add(run.state.fraction)
        self.assertGreater(len(seen), 5)
        self.assertLess(max(seen), 1)

    def test_ends_where_it_is_cancelled(self):
        run = run_of(Halocline(steps=100000))
        run.start()
        self.assertFalse(run.wait(0.02))
        self.assertFalse(run.cancelled)
        run.cancel()
        self.assertTrue(run.cancelled)
        self.assertTrue(run.wait(10))
        with self.assertRaises(Cancelled):
            run.result()

    def test_ends_where_it_is_cancelled_at_the_end(self):
        package = Halocline(steps=1, pause=0.2)
        run = run_of(package)
        run.start()
        run.wait(0.1)
        run.cancel()
        with self.assertRaises(Cancelled):
            run.result()

    def test_hands_errors_on(self):
        run = run_of(Halocline(), alpha=666)
        run.start()
        with self.assertRaisesRegex(Halocline.InputError, "alpha= is 666"):
            run.result()

    @unittest.skipIf(numpy is None, "skipped: no numpy")
    def test_takes_arrays_of_numpy(self):
        array = numpy.arange(24, dtype=numpy.int16).reshape(2, 3, 4)
        package = Halocline()
        run = DenoiseRun(package, array, grid_of(package, array.shape, RAS), **options_of("nlm"))
        run.start()
        self.assertTrue((run.result() == array / 2).all())


# ---- the panel


class Widget:
    """A widget of Qt: properties are attributes, other methods do nothing."""

    def __init__(self, *_):
        self.slots, self.items, self.node, self.running = {}, [], None, False

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_: None

    def connect(self, signal, slot):
        self.slots[signal] = slot

    def addItem(self, text, data):
        self.items.append((text, data))
        self.index = 0 if len(self.items) == 1 else self.index

    currentData = property(lambda self: self.items[self.index][1])
    count = property(lambda self: len(self.items))

    def currentNode(self):
        return self.node

    def setCurrentNode(self, node):
        self.node = node

    def start(self):
        self.running = True

    def stop(self):
        self.running = False


class Node:
    def __init__(self, name="CT", array=None, scene=True):
        self.name, self.array, self.scene, self.matrix, self.display = name, array, scene, RAS, None

    def GetIJKToRASMatrix(self, matrix):
        matrix.rows = self.matrix

    def SetIJKToRASMatrix(self, matrix):
        self.matrix = matrix.rows

    def GetName(self):
        return self.name

    def GetScene(self):
        return self.scene

    def GetTransformNodeID(self):
        return "transform 1"

    def SetAndObserveTransformNodeID(self, transform):
        self.transform = transform

    def GetDisplayNode(self):
        return self.display

    def CreateDefaultDisplayNodes(self):
        self.display = "display"


class Matrix:
    def GetElement(self, row, column):
        return self.rows[row][column]


class Shown:
    """slicer.util.tryWithErrorDisplay(): keeps the error."""

    def __init__(self, errors):
        self.errors = errors

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self.errors.append(str(error))
        return True


class Panel(unittest.TestCase):
    def setUp(self):
        self.errors, self.questions, self.installs, self.answer = [], [], [], True
        base = type("Base", (), {"__init__": lambda self, parent=None: setattr(self, "layout", Widget()),
                                 "setup": lambda self: None})
        scripted = types.SimpleNamespace(ScriptedLoadableModule=base, ScriptedLoadableModuleLogic=base,
                                         ScriptedLoadableModuleWidget=base)
        util = types.SimpleNamespace(
            arrayFromVolume=lambda node: node.array,
            updateVolumeFromArray=lambda node, array: setattr(node, "array", array),
            tryWithErrorDisplay=lambda text: Shown(self.errors),
            errorDisplay=lambda text, title: self.errors.append(text),
            confirmOkCancelDisplay=self.ask, pip_install=self.installs.append, setSliceViewerLayers=mock.Mock())
        self.scene = types.SimpleNamespace(AddNewNodeByClass=lambda kind, name: Node(name))
        slicer = types.SimpleNamespace(util=util, mrmlScene=self.scene, qMRMLNodeComboBox=Widget,
                                       ScriptedLoadableModule=scripted)
        widgets = types.SimpleNamespace(**{name: Widget for name in (
            "QTimer", "QFormLayout", "QComboBox", "QCheckBox", "QDoubleSpinBox", "QPushButton", "QProgressBar",
            "QLabel", "ctkCollapsibleButton")})
        modules = {"slicer": slicer, "slicer.ScriptedLoadableModule": scripted, "qt": widgets, "ctk": widgets,
                   "vtk": types.SimpleNamespace(vtkMatrix4x4=Matrix),
                   "numpy": types.SimpleNamespace(array=copy.deepcopy)}
        patch = mock.patch.dict(sys.modules, modules)
        patch.start()
        self.addCleanup(patch.stop)
        sys.modules.pop("HaloclineDenoise", None)
        self.module = importlib.import_module("HaloclineDenoise")

    def ask(self, question, title):
        self.questions.append(question)
        return self.answer

    def panel(self, package):
        sys.modules["halocline"] = package  # None: cannot be imported
        panel = self.module.HaloclineDenoiseWidget()
        panel.setup()
        panel.input.setCurrentNode(Node(array=Array([2, 4], (1, 1, 2))))
        panel.input.currentNode().matrix = [[5, 0, 0, 1]] + RAS[1:]
        panel.on_change()
        return panel

    def finish(self, panel):
        for _ in range(1000):
            if panel.denoise_run is None:
                return
            panel.denoise_run.wait(0.01)
            panel.timer.slots["timeout()"]()
        self.fail("the run does not end")

    def test_denoises_into_a_new_volume(self):
        package = Halocline()
        panel = self.panel(package)
        panel.apply.slots["clicked(bool)"](False)
        self.assertTrue(panel.timer.running)
        self.assertFalse(panel.apply.enabled)
        self.assertTrue(panel.cancel.enabled)
        self.finish(panel)
        self.assertEqual(self.errors, [])
        out = panel.output.currentNode()
        self.assertEqual((out.GetName(), out.array.values, out.transform, out.display),
                         ("CT denoised", [1, 2], "transform 1", "display"))
        self.assertEqual(out.matrix[0], [5, 0, 0, 1])
        self.assertEqual(package.calls[0][1].spacing, (4, 3, 5))
        self.assertIsNot(package.calls[0][0], panel.input.currentNode().array)  # a copy
        self.assertEqual((panel.status.text, panel.alpha.value), ("alpha 3.5, 17 iterations", 3.5))
        self.assertFalse(panel.timer.running)
        self.assertTrue(panel.apply.enabled)
        self.assertEqual((self.questions, self.installs), ([], []))

    def test_hands_over_what_is_chosen(self):
        package = Halocline()
        panel = self.panel(package)
        self.assertEqual([data for _, data in panel.device.items], ["", "all", "0", "1"])
        panel.method.index = list(denoise_run.METHODS).index("spdu")
        panel.automatic.checked = False
        panel.alpha.value = 7.0
        panel.weights.setCurrentNode(Node(array=Array([1, 1], (1, 1, 2))))
        panel.device.index = 2
        panel.on_change()
        self.assertTrue(panel.alpha.enabled and panel.weights.enabled)
        output = Node("Old")
        panel.output.setCurrentNode(output)
        panel.on_apply()
        self.finish(panel)
        _, _, method, options = package.calls[0]
        self.assertEqual((method, options["alpha"], options["device"]), ("spdu", 7.0, "0"))
        self.assertEqual(options["weights"].values, [1, 1])
        self.assertEqual(output.array.values, [1, 2])
        panel.method.index = list(denoise_run.METHODS).index("median")  # takes neither of them
        panel.on_change()
        self.assertFalse(panel.alpha.enabled or panel.weights.enabled or panel.automatic.enabled)
        panel.on_apply()
        self.finish(panel)
        self.assertEqual(package.calls[1][3], {"device": "0"})

    def test_cancels(self):
        panel = self.panel(Halocline(steps=100000))
        output = Node("Old", array="as it was")
        panel.output.setCurrentNode(output)
        panel.on_apply()
        panel.on_tick()
        self.assertIn("denoise", panel.status.text)
        panel.cancel.slots["clicked(bool)"](False)
        self.assertFalse(panel.cancel.enabled)
        self.finish(panel)
        self.assertEqual(output.array, "as it was")
        self.assertIn("Cancelled", panel.status.text)
        self.assertEqual(self.errors, [])

    def test_ends_its_run_when_it_is_closed(self):
        panel = self.panel(Halocline(steps=100000))
        panel.on_apply()
        run = panel.denoise_run
        panel.cleanup()
        self.assertTrue(run.ended)
        self.assertFalse(panel.timer.running)

    def test_shows_errors(self):
        panel = self.panel(Halocline())
        panel.automatic.checked = False
        panel.alpha.value = 666
        panel.on_apply()
        self.finish(panel)
        self.assertEqual(self.errors, ["alpha= is 666; expected another number"])
        self.assertTrue(panel.apply.enabled)

    def test_makes_no_output_of_an_input_that_is_gone(self):
        panel = self.panel(Halocline())
        panel.on_apply()
        panel.input_node.scene = None
        self.finish(panel)
        self.assertIsNone(panel.output.currentNode())
        self.assertIn("removed", panel.status.text)

    def test_installs_the_package_after_asking(self):
        self.answer = False
        panel = self.panel(None)
        panel.on_apply()
        self.assertEqual((len(self.questions), self.installs, panel.denoise_run), (1, [], None))
        self.answer = True

        def install(name):
            self.installs.append(name)
            sys.modules["halocline"] = Halocline()

        sys.modules["slicer"].util.pip_install = install
        panel.on_apply()
        self.finish(panel)
        self.assertEqual((self.installs, self.errors), (["halocline"], []))
        self.assertEqual(panel.device.count, 4)

    def test_installs_a_driver_after_asking(self):
        panel = self.panel(Halocline(devices=0))
        panel.on_apply()
        self.assertEqual(self.installs, ["halocline[cpu]"])
        self.assertIn("restart", self.errors[0])
        self.assertTrue(panel.apply.enabled)


if __name__ == "__main__":
    unittest.main()
