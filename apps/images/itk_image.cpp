#include "apps/images/itk_image.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <itkGDCMImageIO.h>
#include <itkGDCMImageIOFactory.h>
#include <itkHDF5ImageIOFactory.h>
#include <itkImageIOFactory.h>
#include <itkMetaDataObject.h>
#include <itkMetaImageIOFactory.h>
#include <itkNiftiImageIO.h>
#include <itkNiftiImageIOFactory.h>
#include <itkNrrdImageIOFactory.h>
#include <itkTIFFImageIOFactory.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "apps/images/allocate_volume.hpp"
#include "apps/images/itk_dicom.hpp"
#include "apps/images/itk_element_types.hpp"
#include "apps/images/itk_hdf5_volume.hpp"
#include "apps/images/itk_notes.hpp"
#include "apps/images/itk_truncation.hpp"
#include "apps/images/libtiff_image.hpp"
#include "apps/images/nifti_header.hpp"
#include "apps/images/nrrd_grid.hpp"
#include "apps/images/nrrd_header.hpp"
#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/component.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;
using Io = itk::ImageIOBase::Pointer;
using Mode = itk::CommonEnums::IOFileMode;

// Around whatever ITK and the libraries behind it do: `path` is what they read.
CapturedStderr captured_reading(const std::string& path) {
  return CapturedStderr("ITK",
                        fmt::format("halocline: error: '{}' cannot be read: ITK ended the process over it. It is "
                                    "damaged, or of a kind that is not read here: convert it to .mha\n",
                                    path));
}

// Named one by one instead of through ITK's CMake machinery, so that a static library needs nothing from whoever links
// it.
void register_formats() {
  static std::once_flag once;
  std::call_once(once, [] {
    itk::MetaImageIOFactory::RegisterOneFactory();
    itk::NrrdImageIOFactory::RegisterOneFactory();
    itk::NiftiImageIOFactory::RegisterOneFactory();
    itk::TIFFImageIOFactory::RegisterOneFactory();
    itk::HDF5ImageIOFactory::RegisterOneFactory();
    itk::GDCMImageIOFactory::RegisterOneFactory();
    itk::Object::SetGlobalWarningDisplay(false);  // errors that matter are found and thrown here
  });
}

Io make_io(const std::string& path, Mode mode) {
  register_formats();
  return itk::ImageIOFactory::CreateImageIO(path.c_str(), mode);
}

// Why the exception at hand was thrown. Not all come from std::exception: HDF5's do not.
std::string current_reason() {
  std::string text = "unknown error";
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const itk::ExceptionObject& error) {
    text = error.GetDescription();
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string format_name(const itk::ImageIOBase& io) {
  std::string name = io.GetNameOfClass();
  if (const auto end = name.rfind("ImageIO"); end != std::string::npos) name.resize(end);
  return name == "GDCM" ? "DICOM" : name == "Nifti" ? "NIfTI" : name == "Nrrd" ? "NRRD" : name;
}

Component component_of(const itk::ImageIOBase& io, const std::string& path) {
  using Type = itk::IOComponentEnum;
  const auto sized = [&](bool has_sign) { return integer_component(has_sign, io.GetComponentSize()); };
  switch (io.GetComponentType()) {
    case Type::UCHAR:
    case Type::USHORT:
    case Type::UINT:
    case Type::ULONG:
    case Type::ULONGLONG:
      return sized(false);
    case Type::CHAR:
    case Type::SHORT:
    case Type::INT:
    case Type::LONG:
    case Type::LONGLONG:
      return sized(true);
    case Type::FLOAT:
      return Component::float32;
    case Type::DOUBLE:
      return Component::float64;
    default:
      throw InputError(fmt::format("'{}': voxels of type {} cannot be read; convert them to float", path,
                                   itk::ImageIOBase::GetComponentTypeAsString(io.GetComponentType())));
  }
}

itk::IOComponentEnum component_type(Component component, const std::string& path) {
  using Type = itk::IOComponentEnum;
  switch (component) {
    case Component::int8:
      return Type::CHAR;
    case Component::uint8:
      return Type::UCHAR;
    case Component::int16:
      return Type::SHORT;
    case Component::uint16:
      return Type::USHORT;
    case Component::int32:
      return Type::INT;
    case Component::uint32:
      return Type::UINT;
    case Component::int64:
      return Type::LONGLONG;
    case Component::uint64:
      return Type::ULONGLONG;
    case Component::float32:
      return Type::FLOAT;
    case Component::float64:
      return Type::DOUBLE;
    case Component::float16:
      break;
  }
  throw InputError(fmt::format("'{}': ITK knows no {}", path, component_name(component)));
}

// ITK's words in the log.
[[noreturn]] void refuse_unread(const std::string& path, const char* part, const std::string& reason) {
  spdlog::debug("'{}': ITK: {}", path, reason);
  throw InputError(fmt::format(
      "the {} of '{}' cannot be read: the file is damaged or truncated, or of a kind that is not read here; "
      "copy or make it again, or convert it to .mha",
      part, path));
}

// Opens a file, which may go by another `name`, and reads its header, after a look at what ITK does not look at.
Io open(const std::string& path, const std::string& name) {
  check_input_file(path, "'" + path + "'");
  check_nifti_header(path);
  read_nrrd_header(path);
  check_nrrd_space(path);
  const auto captured = captured_reading(path);
  check_hdf5_type(path);
  check_hdf5_volume(path);
  const Io io = make_io(name, Mode::ReadMode);
  if (io.IsNull()) refuse_unknown_file(path);
  io->SetFileName(name);
  try {
    io->ReadImageInformation();
  } catch (...) {
    refuse_unread(path, "header", current_reason());
  }
  check_dicom_pixels(*io, path);
  if (io->GetNumberOfComponents() != 1)
    throw InputError(
        fmt::format("'{}' has {} values a voxel ({}); only images of single values can be read: convert it to "
                    "grey values",
                    path, io->GetNumberOfComponents(), itk::ImageIOBase::GetPixelTypeAsString(io->GetPixelType())));
  for (unsigned axis = 3; axis < io->GetNumberOfDimensions(); ++axis)
    if (io->GetDimensions(axis) > 1)
      throw InputError(
          fmt::format("'{}' has {} dimensions, the size along number {} is {}; 2D and 3D images can be read: "
                      "extract one volume",
                      path, io->GetNumberOfDimensions(), axis + 1, io->GetDimensions(axis)));
  return io;
}

Io open(const std::string& path) {
  return open(path, path);
}

Grid grid_of(const itk::ImageIOBase& io) {
  Grid grid;
  grid.size = {1, 1, 1};
  const unsigned used = std::min(io.GetNumberOfDimensions(), 3U);
  for (unsigned a = 0; a < used; ++a) {
    grid.size[a] = io.GetDimensions(a);
    grid.spacing[a] = io.GetSpacing(a);
    grid.origin[a] = io.GetOrigin(a);
    const std::vector<double> axis = io.GetDirection(a);
    for (unsigned w = 0; w < std::min<std::size_t>(axis.size(), 3); ++w) grid.direction[3 * w + a] = axis[w];
  }
  return grid;
}

Grid grid_in(const std::string& path, const itk::ImageIOBase& io) {
  const Grid grid = grid_of(io);
  const std::string format = io.GetNameOfClass();
  if (format == "GDCMImageIO") warn_of_unsaid_pixels(path, grid);
  return format == "NrrdImageIO" ? nrrd_grid(path, grid) : format == "NiftiImageIO" ? nifti_grid(path, grid) : grid;
}

// Takes the scaling of NIfTI's stored numbers; whole ones are then read as they are, of which ITK
// would make floats. ITK takes a slope near 0 for none, and adds the offset to numbers that are not scaled.
Scaling take_scaling(itk::ImageIOBase& io, const std::string& path) {
  using Type = itk::IOComponentEnum;
  static const std::map<std::string, Type> whole_numbers{
      {"2", Type::UCHAR},    {"4", Type::SHORT},  {"8", Type::INT},         {"256", Type::CHAR},
      {"512", Type::USHORT}, {"768", Type::UINT}, {"1024", Type::LONGLONG}, {"1280", Type::ULONGLONG}};
  auto* nifti = dynamic_cast<itk::NiftiImageIO*>(&io);
  if (nifti == nullptr) return {};
  std::string type;
  itk::ExposeMetaData<std::string>(io.GetMetaDataDictionary(), "datatype", type);
  const auto stored = whole_numbers.find(type);
  const auto header = read_nifti_header(nifti_files(path)[0]);
  const Scaling scaling = header ? nifti_scaling(*header) : Scaling{};
  constexpr double least = 1e-12;
  if (stored == whole_numbers.end() && !scaling.identity() && std::abs(scaling.slope) > least) return {};
  nifti->SetRescaleSlope(1);
  nifti->SetRescaleIntercept(0);
  if (stored != whole_numbers.end()) nifti->SetComponentType(stored->second);
  return scaling;
}

// Before memory is asked for.
void require_whole(const itk::ImageIOBase& io, const std::string& path) {
  if (std::string(io.GetNameOfClass()) == "NiftiImageIO") require_whole_nifti(path);
  if (std::string(io.GetNameOfClass()) == "GDCMImageIO") require_whole_dicom(path);
}

// Reads the voxels of an opened file to `to`, which has room for as many as its header said, in its own type.
void read_voxels(itk::ImageIOBase& io, const std::string& path, std::byte* to) {
  const auto captured = captured_reading(path);
  itk::ImageIORegion region(io.GetNumberOfDimensions());
  for (unsigned axis = 0; axis < io.GetNumberOfDimensions(); ++axis) {
    region.SetIndex(axis, 0);
    region.SetSize(axis, io.GetDimensions(axis));
  }
  io.SetIORegion(region);
  try {
    io.Read(to);
  } catch (...) {
    refuse_unread(path, "voxels", current_reason());
  }
}

}  // namespace

bool itk_can_read(const std::string& path) {
  const auto captured = captured_reading(path);
  check_input_file(path, "'" + path + "'");
  return make_io(path, Mode::ReadMode).IsNotNull();
}

bool itk_holds_dicom(const std::string& folder) {
  const auto captured = captured_reading(folder);
  register_formats();
  return holds_dicom_series(folder);
}

ImageInfo read_itk_image_info(const std::string& path) {
  const auto captured = captured_reading(path);
  ImageInfo info;
  if (fs::is_directory(path)) {
    info = read_dicom_info(dicom_series_files(path), path);
  } else if (is_tiff_file(path)) {
    return read_libtiff_info(path);
  } else if (holds_dicom_frames(path)) {
    info = read_dicom_info({path}, path);
  } else {
    const Io io = open(path);
    const Scaling scaling = take_scaling(*io, path);
    const Grid grid = grid_in(path, *io);
    info = {grid, component_name(component_of(*io, path)), format_name(*io), scaling, read_header_notes(path, grid)};
  }
  check_grid(info.grid, "'" + path + "'");
  return info;
}

TypedVolume read_itk_typed(const std::string& path) {
  const auto captured = captured_reading(path);
  try {
    if (fs::is_directory(path)) return read_dicom(dicom_series_files(path), path);
    if (is_tiff_file(path)) return read_libtiff(path);
    if (holds_dicom_frames(path)) return read_dicom({path}, path);
    const NiftiName name(path);
    const Io io = open(path, name.get());
    const Scaling scaling = take_scaling(*io, path);
    require_whole(*io, path);
    TypedVolume volume = allocate_volume(grid_in(path, *io), component_of(*io, path), path, scaling);
    read_voxels(*io, path, volume.bytes());
    return volume;
  } catch (const std::bad_alloc&) {
    throw InputError(
        fmt::format("'{}' does not fit the host memory; convert it to .mha, which is read piece by piece", path));
  }
}

ImageInfo read_itk_frames_info(const std::string& path) {
  const auto captured = captured_reading(path);
  const Io io = open(path);
  const auto& dicom = dynamic_cast<const itk::GDCMImageIO&>(*io);
  return {grid_of(*io),
          component_name(component_of(*io, path)),
          format_name(*io),
          {dicom.GetRescaleSlope(), dicom.GetRescaleIntercept()}};
}

TypedVolume read_itk_frames(const std::string& path) {
  const auto captured = captured_reading(path);
  const Io io = open(path);
  Grid grid;
  grid.size = grid_of(*io).size;
  require_whole(*io, path);
  TypedVolume volume = allocate_volume(grid, component_of(*io, path), path);
  read_voxels(*io, path, volume.bytes());
  return volume;
}

void write_itk_image(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path,
                     bool compressed) {
  const CapturedStderr captured("ITK");
  const Io io = make_io(path, Mode::WriteMode);
  if (io.IsNull()) throw InputError(fmt::format("'{}': ITK writes no format with this extension", path));
  itk::ImageIORegion region(3);
  io->SetNumberOfDimensions(3);
  for (unsigned a = 0; a < 3; ++a) {
    region.SetIndex(a, 0);
    region.SetSize(a, grid.size[a]);
    io->SetDimensions(a, grid.size[a]);
    io->SetSpacing(a, grid.spacing[a]);
    io->SetOrigin(a, grid.origin[a]);
    io->SetDirection(a, std::vector<double>{grid.direction[a], grid.direction[3 + a], grid.direction[6 + a]});
  }
  io->SetIORegion(region);
  io->SetPixelType(itk::IOPixelEnum::SCALAR);
  io->SetComponentType(component_type(storage.component, path));
  io->SetNumberOfComponents(1);
  io->SetUseCompression(compressed);
  io->SetFileName(path);
  give_header_notes(storage.notes, *io);
  if (auto* nifti = dynamic_cast<itk::NiftiImageIO*>(io.GetPointer())) {
    nifti->SetRescaleSlope(storage.scaling.slope);
    nifti->SetRescaleIntercept(storage.scaling.offset);
  }
  try {
    io->WriteImageInformation();
    io->Write(voxels);
  } catch (...) {
    throw FileError(fmt::format("ITK: {}", current_reason()));
  }
  finish_header_notes(storage.notes, path);
}

void verify_itk_image(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path) {
  const Component component = storage.component;
  const std::uint64_t expected = grid.count() * component_bytes(component);
  if (fs::path(path).extension() != ".gz") {
    const std::uint64_t found = fs::file_size(path);
    if (found < expected) throw FileError(fmt::format("only {} bytes of at least {} were written", found, expected));
    return;
  }
  try {
    const TypedVolume back = read_itk_typed(path);
    if (back.component != component || back.byte_count() != expected ||
        std::memcmp(back.bytes(), voxels, expected) != 0)
      throw FileError("the file differs from what was written");
  } catch (const InputError& error) {
    throw FileError(fmt::format("the written file cannot be read back: {}", error.what()));
  }
}

}  // namespace halocline
