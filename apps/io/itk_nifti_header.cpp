#include "apps/io/itk_nifti_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
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
  header.datatype = fields.at<std::int16_t>(70);
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
  header.version = 2;
  header.datatype = fields.at<std::int16_t>(12);
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

// Those of nifti1.h; complex and coloured ones are refused with their number of values a voxel.
void require_known(const NiftiHeader& header, const std::string& path) {
  const int known[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 1280, 1792, 2304};
  if (std::find(std::begin(known), std::end(known), header.datatype) == std::end(known))
    throw InputError(
        fmt::format("'{}' has voxels of NIfTI's type {}{}; int8, uint8, int16, uint16, int32, uint32, int64, "
                    "uint64, float32 and float64 can be read: convert it to one of these",
                    path, header.datatype,
                    header.datatype == 1      ? " (single bits)"
                    : header.datatype == 1536 ? " (float128)"
                    : header.datatype == 2048 ? " (complex float128)"
                                              : ""));
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
    if (length == bytes_of_2 && bytes[4] == 'n' && bytes[6] == '2') return version_2(fields);
  }
  return {};
}

std::array<std::string, 2> nifti_files(const std::string& path) {
  if (!of_pair(path)) return {path, path};
  return {partner(path, ".hdr"), partner(path, ".img")};
}

NiftiName::NiftiName(const std::string& path) : name_(path) {
  constexpr std::size_t end = 3;  // ".gz"
  if (!path.ends_with(".nii.gz") || !fs::exists(path.substr(0, path.size() - end))) return;
  folder_ = (fs::temp_directory_path() / "halocline-nifti-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr)
    throw InputError(
        fmt::format("'{}' lies beside a .nii of its name, and the folder '{}' for a link to it cannot be made; "
                    "move one of the two, or set TMPDIR",
                    path, folder_));
  name_ = folder_ + "/voxels.nii.gz";
  fs::create_symlink(fs::absolute(path), name_);
}

NiftiName::~NiftiName() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
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
  require_known(*header, files[0]);
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
