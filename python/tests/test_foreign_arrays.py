"""Arrays whose memory belongs to somebody else."""

import weakref

import numpy as np
import pytest

import halocline as hc


class Owner:
    """Of the memory, as an itk.Image is."""


class View(np.ndarray):
    """An array that keeps its owner, as those of itk.array_view_from_image() do."""


def test_an_image_keeps_the_owner_of_its_memory():
    owner = Owner()
    view = np.arange(24, dtype=np.float32).reshape(2, 3, 4).view(View)
    view.owner = owner
    alive = weakref.ref(owner)
    image = hc.Image(view)
    assert np.shares_memory(image.array, view)
    assert type(image.array) is np.ndarray
    del owner, view
    array = image.array
    del image
    assert alive() is not None
    assert array[1, 2, 3] == 23
    del array
    assert alive() is None


def test_an_image_of_itk_outlives_it():
    itk = pytest.importorskip("itk")
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    original = itk.image_from_array(values)
    original.SetSpacing([0.5, 0.75, 1.25])
    original.SetOrigin([1, 2, 3])
    image = hc.Image.from_itk(original)
    assert image.grid.spacing == (1.25, 0.75, 0.5)
    assert image.grid.origin == (1, 2, 3)
    del original
    others = [itk.image_from_array(-values) for _ in range(100)]
    assert np.array_equal(image.array, values)
    assert len(others) == 100
    back = image.to_itk()
    assert list(back.GetSpacing()) == [0.5, 0.75, 1.25]
    assert np.array_equal(itk.array_view_from_image(back), values)
