#include "apps/io/itk_nifti_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "host/error.hpp"
#include "host/input_file.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t bytes_of_1 = 348, bytes_of_2 = 540;

// The first bytes of a file, unpacked.
std::vector<unsigned char> first_bytes(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::vector<unsigned char> bytes(bytes_of_2);
  const int got = file ? gzread(file.get(), bytes.data(), bytes_of_2) : 0;
  if (got < bytes_of_1) bytes.clear();
  return bytes;
}

class Fields {
 public:
  Fields(std::span<const unsigned char> bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  template <typename Stored>
  Stored at(std::size_t place) const {
    unsigned char one[sizeof(Stored)];
    std::memcpy(one, bytes_.data() + place, sizeof one);
    if (swapped_) std::reverse(one, one + sizeof one);
    Stored value;
    std::memcpy(&value, one, sizeof one);
    return value;
  }
  template <typename Stored, typename Value, std::size_t count>
  void take(std::array<Value, count>& to, std::size_t place) const {
    for (std::size_t n = 0; n < count; ++n) to[n] = static_cast<Value>(at<Stored>(place + n * sizeof(Stored)));
  }

 private:
  std::span<const unsigned char> bytes_;
  bool swapped_;
};

NiftiHeader version_1(const Fields& fields) {
  NiftiHeader header;
  fields.take<std::int16_t>(header.dim, 40);
  header.voxel_bits = fields.at<std::uint16_t>(72);
  fields.take<float>(header.pixdim, 76);
  header.vox_offset = fields.at<float>(108);
  header.slope = fields.at<float>(112), header.intercept = fields.at<float>(116);
  header.qform_code = fields.at<std::int16_t>(252), header.sform_code = fields.at<std::int16_t>(254);
  fields.take<float>(header.quatern, 256);
  fields.take<float>(header.qoffset, 268);
  fields.take<float>(header.srow, 280);
  header.length_unit = fields.at<std::uint8_t>(123) & 7;
  return header;
}

NiftiHeader version_2(const Fields& fields) {
  NiftiHeader header;
  header.voxel_bits = fields.at<std::uint16_t>(14);
  fields.take<std::int64_t>(header.dim, 16);
  fields.take<double>(header.pixdim, 104);
  header.vox_offset = static_cast<double>(fields.at<std::int64_t>(168));
  header.slope = fields.at<double>(176), header.intercept = fields.at<double>(184);
  header.qform_code = fields.at<std::int32_t>(344), header.sform_code = fields.at<std::int32_t>(348);
  fields.take<double>(header.quatern, 352);
  fields.take<double>(header.qoffset, 376);
  fields.take<double>(header.srow, 400);
  header.length_unit = fields.at<std::int32_t>(500) & 7;
  return header;
}

bool of_pair(const std::string& path) {
  fs::path name(path);
  if (name.extension() == ".gz") name.replace_extension();
  return name.extension() == ".hdr" || name.extension() == ".img";
}

std::string partner(const std::string& path, const char* extension) {
  fs::path name(path);
  if (name.extension() == ".gz") name.replace_extension();
  name.replace_extension(extension);
  return fs::exists(name) ? name.string() : name.string() + ".gz";
}

}  // namespace

std::optional<NiftiHeader> read_nifti_header(const std::string& path) {
  const auto bytes = first_bytes(path);
  if (bytes.empty()) return {};
  for (const bool swapped : {false, true}) {
    const Fields fields(bytes, swapped);
    const auto length = fields.at<std::int32_t>(0);
    if (length == bytes_of_1) return version_1(fields);
    if (length == bytes_of_2) return version_2(fields);
  }
  return {};
}

std::array<std::string, 2> nifti_files(const std::string& path) {
  if (!of_pair(path)) return {path, path};
  return {partner(path, ".hdr"), partner(path, ".img")};
}

Grid nifti_grid(const std::string& path, const Grid& itk) {
  const auto header = read_nifti_header(nifti_files(path)[0]);
  const double unit = !header ? 1 : header->length_unit == 1 ? 1000 : header->length_unit == 3 ? 1e-3 : 1;
  if (unit == 1) return itk;
  const std::array<double, 3> s{header->srow[3], header->srow[7], header->srow[11]};
  Grid grid = itk;
  for (const auto& [code, offset] : {std::pair(header->qform_code, header->qoffset), {header->sform_code, s}}) {
    const std::array<double, 3> lps{-offset[0], -offset[1], offset[2]};
    bool as_stored = code > 0;
    for (int n = 0; n < 3; ++n)
      as_stored = as_stored && std::abs(itk.origin[n] - lps[n]) <= 1e-5 * (1 + std::abs(lps[n]));
    if (!as_stored) continue;
    for (double& coordinate : grid.origin) coordinate *= unit;
    break;
  }
  return grid;
}

void check_nifti_header(const std::string& path) {
  const auto files = nifti_files(path);
  for (const auto& file : files)
    if (fs::exists(file)) check_input_file(file, fmt::format("'{}'", file));
  const auto header = read_nifti_header(files[0]);
  if (!header) return;
  const auto check = [&](const char* field, std::span<const double> values) {
    constexpr double most = 1e15;
    if (!std::all_of(values.begin(), values.end(), [](double value) { return std::abs(value) <= most; }))
      throw InputError(
          fmt::format("the NIfTI header of '{}' is damaged: {} is {}, where finite numbers of at most {:g} are "
                      "expected; correct it, or convert the image to another format",
                      files[0], field, fmt::join(values, " "), most));
  };
  check("pixdim", std::span(header->pixdim).first(4));
  if (header->qform_code > 0) {
    check("the quaternion", header->quatern);
    check("qoffset", header->qoffset);
  }
  if (header->sform_code > 0) check("srow", header->srow);
}

}  // namespace halocline
