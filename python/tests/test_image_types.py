"""Files that tifffile, nibabel, pynrrd, h5py and pydicom write, in every type and layout: read as those read them, or
refused by name. They share no code with the reader."""

import itertools

import numpy as np
import pytest

import halocline as hc
from halocline import _core

pytestmark = pytest.mark.skipif(not _core.WITH_ITK, reason="this build reads MetaImage alone")

WHOLE = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
REAL = ["f2", "f4", "f8"]
random = np.random.default_rng(7)


def values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (100 * random.standard_normal(shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def expect_read(path, expected):
    found = hc.read(path)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.array, expected.astype(np.float32))


def expect_refused(path, *reasons):
    with pytest.raises(hc.InputError) as error:
        hc.read(path)
    for reason in (str(path), *reasons):
        assert reason in str(error.value)
    assert "ITK ERROR" not in str(error.value)


@pytest.mark.parametrize("dtype", WHOLE + REAL)
@pytest.mark.parametrize("compression", [None, "packbits", "zlib", "lzw", "zstd"])
def test_tiff_of_every_type_and_layout(tmp_path, dtype, compression):
    tifffile = pytest.importorskip("tifffile")
    if compression not in (None, "zlib"):
        pytest.importorskip("imagecodecs")  # with which tifffile packs
    path = tmp_path / "x.tif"
    predictors = [False, True] if compression in ("zlib", "lzw") and dtype not in ("f2", "u8", "i8") else [False]
    for order, big, tile, pages, predictor in itertools.product("<>", [False, True], [None, (16, 16)], [1, 3], predictors):
        white = bool(random.integers(2))
        expected = values(dtype, (pages, 21, 18))
        tifffile.imwrite(path, expected, photometric="miniswhite" if white else "minisblack", byteorder=order, bigtiff=big,
                         tile=tile, rowsperstrip=None if tile else 4, compression=compression, predictor=predictor)
        np.testing.assert_array_equal(tifffile.imread(path).reshape(expected.shape), expected)
        expect_read(path, expected)


@pytest.mark.parametrize("options", [
    {"imagej": True, "photometric": None}, {"ome": True}, {"metadata": None}, {"resolution": (254, 254)}, {"truncate": True},
    {"extratags": [(274, "H", 1, 6, False)]}, {"description": "a text"}, {"subfiletype": 2},
], ids=str)
def test_tiff_with_tags_of_writers(tmp_path, options):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "x.tif"
    expected = values("u2", (5, 8, 9))
    options = {"photometric": "minisblack", **options}
    tifffile.imwrite(path, expected, **{key: value for key, value in options.items() if value is not None})
    expect_read(path, expected)


@pytest.mark.parametrize("shape", [(1, 9, 1), (4, 9, 1), (1, 1, 9), (4, 1, 9), (4, 1, 1), (1, 1, 1)])
def test_tiff_of_one_row_or_column(tmp_path, shape):
    tifffile = pytest.importorskip("tifffile")
    expected = values("u4", shape)
    tifffile.imwrite(tmp_path / "x.tif", expected, photometric="minisblack")
    expect_read(tmp_path / "x.tif", expected)


def test_tiff_that_is_refused(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "x.tif"
    tifffile.imwrite(path, values("u1", (8, 9, 3)), photometric="rgb")
    expect_refused(path, "3 values a pixel (RGB)")
    tifffile.imwrite(path, values("u2", (8, 9, 4)), photometric="rgb", extrasamples=["unassalpha"], tile=(16, 16))
    expect_refused(path, "4 values a pixel (RGBA)")
    tifffile.imwrite(path, values("u1", (3, 8, 9)), photometric="minisblack", planarconfig="separate")
    expect_refused(path, "3 values a pixel")
    tifffile.imwrite(path, values("u1", (8, 9)), photometric="palette", colormap=values("u2", (3, 256)))
    expect_refused(path, "table of colours")
    tifffile.imwrite(path, values("f4", (8, 9)).astype("c8"), photometric="minisblack")
    expect_refused(path, "complex values of 64 bits")
    with tifffile.TiffWriter(path) as writer:
        writer.write(values("u2", (8, 9)), photometric="minisblack")
        writer.write(values("u2", (8, 7)), photometric="minisblack")
    expect_refused(path, "page 2 has width 7, page 1 has 9")
    tifffile.imwrite(path, values("u2", (6, 8, 9)).reshape(2, 3, 8, 9), photometric="minisblack")
    expect_refused(path, "2 axes (2 x 3)")


def test_tiff_cut_anywhere_is_read_as_it_was_or_refused(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "x.tif"
    for options in ({}, {"compression": "zlib"}, {"tile": (16, 16)}, {"bigtiff": True, "truncate": True}):
        expected = values("u4", (3, 20, 20))
        tifffile.imwrite(path, expected, photometric="minisblack", **options)
        whole = path.read_bytes()
        for size in random.integers(0, len(whole), 40):
            path.write_bytes(whole[:size])
            try:
                found = hc.read(path)
            except hc.InputError as error:
                assert str(path) in str(error)
            else:
                np.testing.assert_array_equal(found.array, expected.astype(np.float32))


@pytest.mark.parametrize("dtype", [name for name in WHOLE + REAL if name != "f2"])
def test_nrrd_and_nifti_of_every_type(tmp_path, dtype):
    nibabel, nrrd = pytest.importorskip("nibabel"), pytest.importorskip("nrrd")
    expected = values(dtype, (3, 4, 5))
    for order, encoding in itertools.product("<>", ["raw", "gzip", "ascii"]):
        stored = expected.astype(np.dtype(dtype).newbyteorder(order))
        if encoding == "ascii" and (order == ">" or np.dtype(dtype).kind == "f"):
            continue  # text has no byte order, and pynrrd rounds
        nrrd.write(str(tmp_path / "x.nrrd"), stored.T, {"encoding": encoding})
        if encoding == "ascii" and dtype in ("u8", "i8"):  # written as 1.8e+19
            expect_refused(tmp_path / "x.nrrd", "no whole number of type")
        else:
            expect_read(tmp_path / "x.nrrd", expected)
    nrrd.write(str(tmp_path / "x.nrrd"), expected.T, {"encoding": "bzip2"})
    expect_refused(tmp_path / "x.nrrd", "encoding is 'bzip2'")
    for order, name in itertools.product("<>", ["a.nii", "b.nii.gz", "c.hdr"]):
        kind = nibabel.Nifti1Pair if name == "c.hdr" else nibabel.Nifti1Image
        header = kind.header_class(endianness=order)
        header.set_data_dtype(np.dtype(dtype).newbyteorder(order))
        image = kind(expected.T, np.eye(4), header, dtype=np.dtype(dtype).newbyteorder(order))
        image.header.set_slope_inter(1, 0)
        nibabel.save(image, str(tmp_path / name.replace(".hdr", ".img")))
        expect_read(tmp_path / name, expected)


@pytest.mark.parametrize("dtype", WHOLE + REAL)
def test_hdf5_images_of_every_type(tmp_path, dtype):
    h5py = pytest.importorskip("h5py")
    names = {"u1": "UCHAR", "i1": "CHAR", "u2": "USHORT", "i2": "SHORT", "u4": "UINT", "i4": "INT", "u8": "ULONGLONG",
             "i8": "LONGLONG", "f2": "FLOAT", "f4": "FLOAT", "f8": "DOUBLE"}
    expected, path = values(dtype, (3, 4, 5)), tmp_path / "x.h5"
    for order, packing in itertools.product("<>", [None, "gzip", "lzf"]):
        text = h5py.string_dtype()
        with h5py.File(path, "w") as file:
            file["ITKVersion"], file["HDFVersion"] = np.array(["5.2.1"], text), np.array(["1.10"], text)
            image = file.create_group("ITKImage/0")
            image["Origin"], image["Spacing"], image["Directions"] = np.zeros(3), np.ones(3), np.eye(3)
            image["Dimension"], image["VoxelType"] = np.array([5, 4, 3], "u8"), np.array([names[dtype]], text)
            image.create_group("MetaData")
            image.create_dataset("VoxelData", data=expected.astype(np.dtype(dtype).newbyteorder(order)), compression=packing)
        if packing == "lzf":
            expect_refused(path, "/ITKImage/0/VoxelData")
        elif dtype == "f2":
            expect_refused(path, "floating-point numbers of 2 bytes")
        elif order == ">" and not dtype.endswith("1"):
            expect_refused(path, "in the other byte order")
        else:
            expect_read(path, expected)


def dicom_file(pydicom, path, pixels, syntax, keyword="PixelData", **elements):
    image = pydicom.Dataset()
    image.file_meta = pydicom.dataset.FileMetaDataset()
    image.file_meta.MediaStorageSOPClassUID = image.SOPClassUID = pydicom.uid.CTImageStorage
    image.file_meta.MediaStorageSOPInstanceUID = image.SOPInstanceUID = "1.2.3.4"
    image.file_meta.TransferSyntaxUID = syntax
    image.SeriesInstanceUID, image.StudyInstanceUID, image.Modality = "1.2.3", "1.2", "CT"
    image.Rows, image.Columns = pixels.shape
    image.PixelSpacing, image.ImagePositionPatient, image.ImageOrientationPatient = [1, 1], [0, 0, 0], [1, 0, 0, 0, 1, 0]
    image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
    image.BitsAllocated = image.BitsStored = 8 * pixels.dtype.itemsize
    image.HighBit, image.PixelRepresentation = image.BitsStored - 1, int(pixels.dtype.kind == "i")
    for name, value in elements.items():
        setattr(image, name, value)
    order = ">" if syntax == pydicom.uid.ExplicitVRBigEndian else "<"
    setattr(image, keyword, pixels.astype(pixels.dtype.newbyteorder(order)).tobytes())
    if keyword == "PixelData":
        image["PixelData"].VR = "OB" if pixels.dtype.itemsize == 1 else "OW"
    image.save_as(path, enforce_file_format=True)


@pytest.mark.parametrize("dtype", WHOLE)
def test_dicom_of_every_type(tmp_path, dtype):
    pydicom = pytest.importorskip("pydicom")
    from pydicom import uid

    path = tmp_path / "x.dcm"
    expected = values(dtype, (4, 6))
    for syntax in (uid.ImplicitVRLittleEndian, uid.ExplicitVRLittleEndian, uid.DeflatedExplicitVRLittleEndian,
                   uid.ExplicitVRBigEndian):
        dicom_file(pydicom, path, expected, syntax)
        if dtype.endswith("8"):
            expect_refused(path, "64 bits")
        elif dtype.endswith("4") and syntax == uid.ExplicitVRBigEndian:
            expect_refused(path, "32 bits in big-endian order")
        else:
            expect_read(path, expected[np.newaxis])


def test_dicom_pixels_of_other_kinds(tmp_path):
    pydicom = pytest.importorskip("pydicom")
    path, syntax = tmp_path / "x.dcm", pydicom.uid.ExplicitVRLittleEndian
    twelve = values("u2", (4, 6)) & 4095
    dicom_file(pydicom, path, twelve, syntax, BitsStored=12, HighBit=11)
    expect_read(path, twelve[np.newaxis])
    dicom_file(pydicom, path, twelve | 0xF000, syntax, BitsStored=12, HighBit=11)  # an overlay in the bits above
    expect_read(path, twelve[np.newaxis])
    dicom_file(pydicom, path, twelve << 4, syntax, BitsStored=12, HighBit=15)
    expect_refused(path, "up to bit 15")
    for slope, offset in ((2, -1024), (0.5, 0.25), (1e-6, 0)):
        stored = values("i2", (4, 6))
        dicom_file(pydicom, path, stored, syntax, RescaleSlope=slope, RescaleIntercept=offset)
        found = hc.read(path).array[0]
        np.testing.assert_allclose(found, stored.astype(float) * slope + offset, rtol=3e-7)
    dicom_file(pydicom, path, values("u1", (4, 6)), syntax, PhotometricInterpretation="MONOCHROME1")
    expect_refused(path, "MONOCHROME1")
    dicom_file(pydicom, path, values("f4", (4, 6)), syntax, keyword="FloatPixelData")
    expect_refused(path, "Float Pixel Data")
    dicom_file(pydicom, path, values("f8", (4, 6)), syntax, keyword="DoubleFloatPixelData")
    expect_refused(path, "Float Pixel Data")
