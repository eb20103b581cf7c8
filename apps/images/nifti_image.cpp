#include "apps/images/nifti_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "apps/images/nifti_header.hpp"
#include "apps/images/nifti_place.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

[[noreturn]] void refuse_form(const std::string& path, const std::string& what) {
  throw UnsupportedImage(fmt::format(
      "NIfTI '{}' {}, which is not read here: save it as plain NIfTI-1 of one value a voxel, or as .mha", path, what));
}

bool has_nifti_name(const std::string& path) {
  const std::string name = lower_case(path);
  const auto ends = [&](auto... endings) { return (name.ends_with(endings) || ...); };
  return ends(".nii", ".nii.gz", ".hdr", ".hdr.gz", ".img", ".img.gz");
}

bool has_gzip_magic(const std::string& file) {
  char magic[2] = {};
  std::ifstream(file, std::ios::binary).read(magic, 2);
  return magic[0] == '\x1f' && magic[1] == '\x8b';
}

// Axes without those of one sample behind the third.
std::size_t axes_of(const NiftiHeader& header, const std::string& path) {
  auto axes = static_cast<std::size_t>(header.dim[0]);
  while (axes > 3 && header.dim[axes] == 1) --axes;
  if (axes < 2 || axes > 3) refuse_form(path, fmt::format("has {} axes", axes));
  return axes;
}

Component component_of(const NiftiHeader& header, const std::string& path) {
  static const std::map<int, Component> types{
      {2, Component::uint8},    {4, Component::int16},    {8, Component::int32},    {16, Component::float32},
      {64, Component::float64}, {256, Component::int8},   {512, Component::uint16}, {768, Component::uint32},
      {1024, Component::int64}, {1280, Component::uint64}};
  const auto found = types.find(header.datatype);
  if (found == types.end()) refuse_form(path, fmt::format("has voxels of the type {}", header.datatype));
  return found->second;
}

// Throws for all forms but the plain ones.
void require_plain(const NiftiHeader& header, const std::string& path, const std::array<std::string, 2>& files) {
  if (header.analyze) refuse_form(path, "is of Analyze 7.5");
  if (header.pair != (files[0] != files[1]))
    refuse_form(path, "is one file by its name and two by its header, or the other way round");
  if (header.intent != 0) refuse_form(path, fmt::format("has values of the intent {}", header.intent));
  for (const auto& file : files)
    if (has_gzip_magic(file) != lower_case(file).ends_with(".gz"))
      refuse_form(path, fmt::format("has a file '{}' that is gzipped by its name or by its first bytes alone", file));
}

// ITK makes floats of scaled ones, and takes a slope near 0 for none.
void take_scaling(const NiftiHeader& header, const std::string& path, StoredImage& image) {
  constexpr double least = 1e-12;
  const Scaling scaling = nifti_scaling(header);
  const bool whole = is_integer(image.voxels.storage.component);
  if (!whole && (std::abs(scaling.slope) <= least || (scaling.offset != 0 && std::abs(scaling.offset) <= least)))
    refuse_form(path, fmt::format("has the slope {:g} and the offset {:g}", scaling.slope, scaling.offset));
  image.voxels.storage.scaling = scaling;
  if (whole) image.info.scaling = scaling;
}

}  // namespace

std::optional<StoredImage> nifti_image(const std::string& path) {
  if (!has_nifti_name(path)) return {};
  check_nifti_header(path);
  const auto files = nifti_files(path);
  const auto header = read_nifti_header(files[0]);
  if (!header) return {};
  require_plain(*header, path, files);
  const auto placed = nifti_place(*header, axes_of(*header, path));
  if (!placed) refuse_form(path, "has two transforms (qform and sform) that differ");
  StoredImage image;
  StoredVoxels& voxels = image.voxels;
  voxels.grid = nifti_grid(path, *placed);
  check_grid(voxels.grid, "'" + path + "'");
  voxels.storage.component = component_of(*header, path);
  voxels.swapped = header->swapped;
  const auto offset = static_cast<std::uint64_t>(header->vox_offset);
  image.gzipped = has_gzip_magic(files[1]);
  image.skip = image.gzipped ? offset : 0;
  voxels.parts = {{files[1], image.gzipped ? 0 : offset, voxels.byte_count()}};
  image.info = {
      voxels.grid, component_name(voxels.storage.component), "NIfTI", {}, read_nifti_notes(*header, voxels.grid)};
  take_scaling(*header, path, image);
  return image;
}

}  // namespace halocline
