"""Which OpenCL drivers the loader is pointed at."""

import os
import sys

import pytest

from halocline import _drivers, errors


@pytest.fixture()
def places(tmp_path, monkeypatch):
    """An empty system, an empty conda environment and a package that announces a driver."""
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"):
        monkeypatch.setenv(name, "")
    (tmp_path / "system").mkdir()
    (tmp_path / "etc/OpenCL/vendors").mkdir(parents=True)
    monkeypatch.setattr(_drivers, "_SYSTEM", str(tmp_path / "system"))
    monkeypatch.setattr(_drivers, "_NVIDIA", ())
    monkeypatch.setattr(_drivers, "_announced", lambda: ["/announced/libpocl.so.2"])
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def named():
    folder = os.environ["OCL_ICD_VENDORS"]
    return _drivers._named_in(folder) if folder else []


def test_announced_where_the_system_has_none(places):
    _drivers.find()
    assert named() == ["/announced/libpocl.so.2"]


def test_system_comes_first(places):
    (places / "libdriver.so").touch()
    (places / "system" / "a.icd").write_text(str(places / "libdriver.so") + "\n")
    _drivers.find()
    assert named() == []


def test_removed_driver_of_the_system_counts_not(places):
    (places / "system" / "a.icd").write_text("/nowhere/libdriver.so\n")
    (places / "system" / "b.icd").write_text("libhalocline-nowhere.so.1\n")
    _drivers.find()
    assert named() == ["/announced/libpocl.so.2"]


def test_environment_comes_before_packages(places):
    (places / "libconda.so").touch()
    (places / "etc/OpenCL/vendors/a.icd").write_text(str(places / "libconda.so") + "\n")
    _drivers.find()
    assert named() == [str(places / "libconda.so")]


def test_nvidia_is_added(places, monkeypatch):
    (places / "libnvidia-opencl.so.1").touch()
    monkeypatch.setattr(_drivers, "_NVIDIA", (str(places / "libnvidia-opencl.so.1"), "/nowhere/libnvidia-opencl.so.1"))
    _drivers.find()
    assert named() == ["/announced/libpocl.so.2", str(places / "libnvidia-opencl.so.1")]


@pytest.mark.parametrize("name", ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"])
def test_the_users_choice_stays(places, monkeypatch, name):
    monkeypatch.setenv(name, "/mine.so")
    _drivers.find()
    assert os.environ[name] == "/mine.so"
    assert os.environ["OCL_ICD_VENDORS"] in ("", "/mine.so")


def test_without_a_folder_to_write_to(places, monkeypatch):
    def none(prefix):
        raise FileNotFoundError

    monkeypatch.setattr(_drivers.tempfile, "mkdtemp", none)
    _drivers.find()
    assert os.environ["OCL_ICD_VENDORS"] == "/announced/libpocl.so.2"


def test_error_without_device_names_the_extra():
    assert "halocline[cpu]" in str(errors.InputError("there is no OpenCL device: install one"))
    assert "halocline[cpu]" not in str(errors.InputError("`device` \"7\": no device matches"))
