#include "apps/io/itk_image.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <itkGDCMImageIO.h>
#include <itkGDCMImageIOFactory.h>
#include <itkGDCMSeriesFileNames.h>
#include <itkHDF5ImageIOFactory.h>
#include <itkImageIOFactory.h>
#include <itkMetaDataObject.h>
#include <itkMetaImageIOFactory.h>
#include <itkNiftiImageIO.h>
#include <itkNiftiImageIOFactory.h>
#include <itkNrrdImageIOFactory.h>
#include <itkTIFFImageIOFactory.h>

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

#include "apps/io/itk_nifti_header.hpp"
#include "apps/io/itk_notes.hpp"
#include "apps/io/itk_nrrd_grid.hpp"
#include "apps/io/itk_nrrd_header.hpp"
#include "apps/io/itk_tiff_pages.hpp"
#include "apps/io/itk_truncation.hpp"
#include "host/captured_stderr.hpp"
#include "host/component.hpp"
#include "host/error.hpp"
#include "host/input_file.hpp"
#include "host/interrupt.hpp"

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
    itk::Object::SetGlobalWarningDisplay(false);  // what matters is checked here and thrown
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
  const auto sized = [&](bool has_sign) {
    switch (io.GetComponentSize()) {
      case 1:
        return has_sign ? Component::int8 : Component::uint8;
      case 2:
        return has_sign ? Component::int16 : Component::uint16;
      case 4:
        return has_sign ? Component::int32 : Component::uint32;
      default:
        return has_sign ? Component::int64 : Component::uint64;
    }
  };
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

// Opens a file and reads its header, after a look at what ITK does not look at.
Io open(const std::string& path) {
  check_input_file(path, "'" + path + "'");
  check_nifti_header(path);
  check_nrrd_header(path);
  check_nrrd_space(path);
  const auto captured = captured_reading(path);
  const Io io = make_io(path, Mode::ReadMode);
  if (io.IsNull())
    throw InputError(fmt::format("'{}' is in none of the known formats, or it is damaged at its beginning", path));
  io->SetFileName(path);
  try {
    io->ReadImageInformation();
  } catch (...) {
    throw InputError(fmt::format("cannot read the header of '{}': {}", path, current_reason()));
  }
  if (io->GetNumberOfComponents() != 1)
    throw InputError(
        fmt::format("'{}' has {} values a voxel ({}); only images of single values can be read: convert it to "
                    "grey values",
                    path, io->GetNumberOfComponents(), itk::ImageIOBase::GetPixelTypeAsString(io->GetPixelType())));
  const std::string format = io->GetNameOfClass();
  if (format == "TIFFImageIO") check_tiff_pages(path);  // its number of pages would be wrong
  for (unsigned axis = 3; axis < io->GetNumberOfDimensions(); ++axis)
    if (io->GetDimensions(axis) > 1)
      throw InputError(
          fmt::format("'{}' has {} dimensions, the size along number {} is {}; 2D and 3D images can be read: "
                      "extract one volume",
                      path, io->GetNumberOfDimensions(), axis + 1, io->GetDimensions(axis)));
  return io;
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
  return format == "NrrdImageIO" ? nrrd_grid(path, grid) : format == "NiftiImageIO" ? nifti_grid(path, grid) : grid;
}

// What NIfTI's stored whole numbers mean, after which they are read as they are: otherwise ITK makes floats of them.
Scaling take_scaling(itk::ImageIOBase& io, const std::string& path) {
  using Type = itk::IOComponentEnum;
  static const std::map<std::string, Type> whole_numbers{
      {"2", Type::UCHAR},    {"4", Type::SHORT},  {"8", Type::INT},         {"256", Type::CHAR},
      {"512", Type::USHORT}, {"768", Type::UINT}, {"1024", Type::LONGLONG}, {"1280", Type::ULONGLONG}};
  auto* nifti = dynamic_cast<itk::NiftiImageIO*>(&io);
  if (nifti == nullptr || (io.GetComponentType() != Type::FLOAT && io.GetComponentType() != Type::DOUBLE)) return {};
  std::string type;
  itk::ExposeMetaData<std::string>(io.GetMetaDataDictionary(), "datatype", type);
  const auto stored = whole_numbers.find(type);
  const Scaling scaling = nifti_scaling(path);
  if (stored == whole_numbers.end() || scaling.identity()) return {};
  nifti->SetRescaleSlope(1);
  nifti->SetRescaleIntercept(0);
  nifti->SetComponentType(stored->second);
  return scaling;
}

// Reads the voxels of an opened file to `to`, which has room for as many as its header said, in its own type.
void read_voxels(itk::ImageIOBase& io, const std::string& path, std::byte* to) {
  const auto captured = captured_reading(path);
  if (std::string(io.GetNameOfClass()) == "NiftiImageIO") require_whole_nifti(path);
  if (std::string(io.GetNameOfClass()) == "GDCMImageIO") require_whole_dicom(path);
  itk::ImageIORegion region(io.GetNumberOfDimensions());
  for (unsigned axis = 0; axis < io.GetNumberOfDimensions(); ++axis) {
    region.SetIndex(axis, 0);
    region.SetSize(axis, io.GetDimensions(axis));
  }
  io.SetIORegion(region);
  try {
    io.Read(to);
  } catch (...) {
    throw InputError(fmt::format("cannot read the voxels of '{}', it may be truncated: {}", path, current_reason()));
  }
}

struct Series {
  std::vector<std::string> files;  // in the order of their positions
  Grid grid;
  Component component = Component::float32;  // of the first
  bool one_type = true;                      // of all
};

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The one series of a folder, with the slice positions checked: a missing slice would silently distort everything.
Series open_series(const std::string& folder) {
  register_formats();
  const auto names = itk::GDCMSeriesFileNames::New();
  names->SetUseSeriesDetails(false);
  names->SetDirectory(folder);
  const auto& series = names->GetSeriesUIDs();
  if (series.empty())
    throw InputError(fmt::format(
        "the folder '{}' holds no DICOM series and no TIFF files; name a file, a folder of DICOM slices or of "
        "TIFF files, or a series by a pattern such as 'proj*.tif'",
        folder));
  if (series.size() > 1)
    throw InputError(fmt::format("the folder '{}' holds {} DICOM series ({}); put one of them into a folder of its own",
                                 folder, series.size(), fmt::join(series, ", ")));
  Series out;
  out.files = names->GetFileNames(series.front());
  const Io first = open(out.files.front());
  out.component = component_of(*first, out.files.front());
  out.grid = grid_of(*first);
  if (out.files.size() == 1) return out;

  Grid& grid = out.grid;
  if (grid.size[2] != 1)
    throw InputError(
        fmt::format("the DICOM series in '{}' has several files of several slices; name one of them", folder));
  const auto& d = grid.direction;
  const std::array<double, 3> normal{d[3] * d[7] - d[6] * d[4], d[6] * d[1] - d[0] * d[7], d[0] * d[4] - d[3] * d[1]};
  std::vector<std::array<double, 3>> positions;
  for (const std::string& file : out.files) {
    check_interrupt();
    const Io io = open(file);
    const Grid slice = grid_of(*io);
    out.one_type = out.one_type && component_of(*io, file) == out.component;
    if (slice.size != grid.size)
      throw InputError(fmt::format("the DICOM slice '{}' has size {}, but '{}' has {}; a series must have one size",
                                   file, fmt::join(slice.size, ","), out.files.front(), fmt::join(grid.size, ",")));
    for (int n = 0; n < 9; ++n)
      if (n % 3 != 2 && std::abs(slice.direction[n] - grid.direction[n]) > 1e-4)
        throw InputError(
            fmt::format("the DICOM slice '{}' is oriented unlike '{}'; remove it", file, out.files.front()));
    positions.push_back(slice.origin);
  }
  const std::size_t count = positions.size();
  const auto step = [&](std::size_t a, std::size_t b) {
    return std::array<double, 3>{positions[b][0] - positions[a][0], positions[b][1] - positions[a][1],
                                 positions[b][2] - positions[a][2]};
  };
  const auto whole = step(0, count - 1);
  const double spacing = dot(whole, normal) / static_cast<double>(count - 1);
  for (std::size_t n = 1; n < count; ++n)
    if (const double found = dot(step(n - 1, n), normal); !(std::abs(found - spacing) <= 0.02 * std::abs(spacing)))
      throw InputError(
          fmt::format("the DICOM series in '{}' is not evenly spaced: '{}' lies {:.6g} mm after the slice before "
                      "it, the mean distance is {:.6g} mm; a slice is missing or there twice",
                      folder, out.files[n], found, spacing));
  const double length = std::sqrt(dot(whole, whole));
  if (!(std::abs(spacing) * static_cast<double>(count - 1) > 0.9999 * length))
    throw InputError(
        fmt::format("the DICOM series in '{}' is sheared (tilted gantry): its slices are not stacked along their "
                    "normal; resample it first",
                    folder));
  grid.size[2] = count;
  grid.spacing[2] = std::abs(spacing);
  for (int w = 0; w < 3; ++w) grid.direction[3 * w + 2] = spacing < 0 ? -normal[w] : normal[w];
  return out;
}

TypedVolume allocate(const Grid& grid, Component component, const std::string& path, const Scaling& scaling = {}) {
  check_grid(grid, "'" + path + "'");
  try {
    return TypedVolume(grid, component, scaling);
  } catch (const InputError&) {  // of `scratch`
    throw;
  } catch (const std::exception&) {
    throw InputError(
        fmt::format("'{}': a volume of {} voxels does not fit the host memory; crop it or use a larger machine", path,
                    fmt::join(grid.size, " x ")));
  }
}

// Slices whose scanner gave some of them another type (another rescaling) become float32.
TypedVolume read_series(const std::string& folder) {
  const Series series = open_series(folder);
  const Component component = series.one_type ? series.component : Component::float32;
  TypedVolume volume = allocate(series.grid, component, folder);
  if (series.files.size() == 1) {
    read_voxels(*open(series.files[0]), series.files[0], volume.bytes());
    return volume;
  }
  const std::size_t slice = series.grid.slice();
  for (std::size_t k = 0; k < series.files.size(); ++k) {
    check_interrupt();
    const Io io = open(series.files[k]);
    std::byte* to = volume.bytes() + k * slice * component_bytes(component);
    const Component own = component_of(*io, series.files[k]);
    if (own == component) {
      read_voxels(*io, series.files[k], to);
      continue;
    }
    std::vector<std::byte> raw(slice * component_bytes(own));
    read_voxels(*io, series.files[k], raw.data());
    convert_to_float(own, raw.data(), false, reinterpret_cast<float*>(to), slice);
  }
  return volume;
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
  const auto names = itk::GDCMSeriesFileNames::New();
  names->SetUseSeriesDetails(false);
  names->SetDirectory(folder);
  return !names->GetSeriesUIDs().empty();
}

ImageInfo read_itk_image_info(const std::string& path) {
  const auto captured = captured_reading(path);
  ImageInfo info;
  if (fs::is_directory(path)) {
    const Series series = open_series(path);
    info = {series.grid, component_name(series.component), "DICOM series", {}};
  } else {
    const Io io = open(path);
    const Scaling scaling = take_scaling(*io, path);
    const Grid grid = grid_in(path, *io);
    info = {grid, component_name(component_of(*io, path)), format_name(*io), scaling, read_header_notes(*io, grid)};
  }
  check_grid(info.grid, "'" + path + "'");
  return info;
}

TypedVolume read_itk_typed(const std::string& path) {
  const auto captured = captured_reading(path);
  try {
    if (fs::is_directory(path)) return read_series(path);
    const Io io = open(path);
    const Scaling scaling = take_scaling(*io, path);
    TypedVolume volume = allocate(grid_in(path, *io), component_of(*io, path), path, scaling);
    read_voxels(*io, path, volume.bytes());
    return volume;
  } catch (const std::bad_alloc&) {
    throw InputError(
        fmt::format("'{}' does not fit the host memory; convert it to .mha, which is read piece by piece", path));
  }
}

Volume read_itk_image(const std::string& path) {
  return to_volume(read_itk_typed(path));
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

void verify_itk_image(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path,
                      bool compressed) {
  const Component component = storage.component;
  const bool packed = compressed || fs::path(path).extension() == ".gz";
  const std::uint64_t expected = grid.count() * component_bytes(component);
  if (!packed) {
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

void write_itk_image(const Volume& volume, const std::string& path, bool compressed) {
  write_itk_image(volume.grid, {}, volume.voxels.data(), path, compressed);
}

}  // namespace halocline
