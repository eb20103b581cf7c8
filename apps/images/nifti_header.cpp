#include "apps/images/nifti_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "apps/images/new_warning.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t bytes_of_1 = 348, bytes_of_2 = 540;

// Warns once of each file: headers are read again and again.
void warn_of_nifti(const std::string& path, const std::string& text) {
  if (is_new_warning(path + text)) spdlog::warn("'{}': {}", path, text);
}

// The first bytes of a file, unpacked, as many as a header has at most.
std::vector<unsigned char> first_bytes(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::vector<unsigned char> bytes(bytes_of_2);
  const int got = file ? gzread(file.get(), bytes.data(), bytes_of_2) : 0;
  bytes.resize(static_cast<std::size_t>(std::max(got, 0)));
  return bytes;
}

// Types of nifti1.h; complex and coloured ones are refused with their number of values a voxel.
const std::map<int, std::uint64_t>& bits_of_types() {
  static const std::map<int, std::uint64_t> bits{{2, 8},     {4, 16},    {8, 32},     {16, 32},  {32, 64},
                                                 {64, 64},   {128, 24},  {256, 8},    {512, 16}, {768, 32},
                                                 {1024, 64}, {1280, 64}, {1792, 128}, {2304, 32}};
  return bits;
}

class Fields {
 public:
  Fields(std::span<const unsigned char> bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  template <typename Stored>
  Stored at(std::size_t place, bool is_number = true) const {
    unsigned char one[sizeof(Stored)];
    std::memcpy(one, bytes_.data() + place, sizeof one);
    if (swapped_ && is_number) std::reverse(one, one + sizeof one);
    Stored value;
    std::memcpy(&value, one, sizeof one);
    return value;
  }
  template <typename Stored, typename Value, std::size_t count>
  void take(std::array<Value, count>& to, std::size_t place) const {
    for (std::size_t n = 0; n < count; ++n) to[n] = static_cast<Value>(at<Stored>(place + n * sizeof(Stored)));
  }

  // A text that ends at its first 0, of at most that many bytes.
  std::string text(std::size_t place, std::size_t most) const {
    const auto* from = reinterpret_cast<const char*>(bytes_.data() + place);
    return {from, std::find(from, from + most, '\0')};
  }

 private:
  std::span<const unsigned char> bytes_;
  bool swapped_;
};

// "n+1" and "ni1", and the same with another digit, which the library behind ITK takes for NIfTI, too.
bool has_magic(const std::array<char, 4>& magic) {
  return magic[0] == 'n' && (magic[1] == '+' || magic[1] == 'i') && magic[2] >= '1' && magic[2] <= '9' &&
         magic[3] == '\0';
}

NiftiHeader version_1(const Fields& fields) {
  NiftiHeader header;
  fields.take<std::int16_t>(header.dim, 40);
  header.datatype = fields.at<std::int16_t>(70);
  header.bitpix = fields.at<std::uint16_t>(72);
  fields.take<float>(header.pixdim, 76);
  header.vox_offset = fields.at<float>(108);
  const auto magic = fields.at<std::array<char, 4>>(344, false);
  header.description = fields.text(148, 79), header.auxiliary = fields.text(228, 23);
  header.pair = magic[1] == 'i';
  header.analyze = !has_magic(magic);
  if (header.analyze) {
    header.slope = 1;
    return header;
  }
  header.intent = fields.at<std::int16_t>(68);
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
  header.bitpix = fields.at<std::uint16_t>(14);
  fields.take<std::int64_t>(header.dim, 16);
  fields.take<double>(header.pixdim, 104);
  header.vox_offset = static_cast<double>(fields.at<std::int64_t>(168));
  header.description = fields.text(240, 79), header.auxiliary = fields.text(320, 23);
  header.intent = fields.at<std::int32_t>(504);
  header.pair = fields.at<char>(5) == 'i';
  header.slope = fields.at<double>(176), header.intercept = fields.at<double>(184);
  header.qform_code = fields.at<std::int32_t>(344), header.sform_code = fields.at<std::int32_t>(348);
  fields.take<double>(header.quatern, 352);
  fields.take<double>(header.qoffset, 376);
  fields.take<double>(header.srow, 400);
  header.length_unit = fields.at<std::int32_t>(500) & 7;
  return header;
}

void require_known(const NiftiHeader& header, const std::string& path) {
  if (!bits_of_types().contains(header.datatype))
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

[[noreturn]] void refuse_nifti(const std::string& path, const std::string& what) {
  throw InputError(fmt::format("the NIfTI header of '{}' {}", path, what));
}

bool is_nifti_name(const std::string& path) {
  const std::string name = lower_case(path);
  return name.ends_with(".nii") || name.ends_with(".nii.gz") || name.ends_with(".hdr") || name.ends_with(".hdr.gz");
}

// The reason why no header could be read: the file ends within it, or its bytes cannot be unpacked.
void require_header_bytes(const std::string& path) {
  if (!is_nifti_name(path)) return;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  char bytes[bytes_of_1];
  std::int32_t got = 0;
  while (file && got < bytes_of_1 && gzread(file.get(), bytes + got, 1) == 1) ++got;
  int code = Z_OK;
  if (file) gzerror(file.get(), &code);
  if (code != Z_OK)
    throw InputError(
        fmt::format("'{}' is truncated or damaged: its gzip stream breaks within the header or has a wrong checksum; "
                    "copy or make it again",
                    path));
  if (got < bytes_of_1)
    throw InputError(
        fmt::format("'{}' is truncated: it has {} bytes, where a NIfTI header has {}; copy or make it again", path, got,
                    bytes_of_1));
  throw InputError(
      fmt::format("'{}' has no NIfTI header: it does not begin with the number {}; it is damaged, or of "
                  "another format than its name says",
                  path, bytes_of_1));
}

void require_nifti_sizes(const NiftiHeader& header, const std::string& path) {
  const auto axes = header.dim[0];
  if (axes < 1 || axes > 7) refuse_nifti(path, fmt::format("says {} axes in dim[0]; 1 to 7 are expected", axes));
  for (std::size_t axis = 1; axis <= static_cast<std::size_t>(axes); ++axis)
    if (header.dim[axis] < 1)
      refuse_nifti(path, fmt::format("has {} samples along axis {} (dim[{}]); every one of the {} sizes that dim[0] "
                                     "counts must be at least 1: correct the header",
                                     header.dim[axis], axis, axis, axes));
  double voxels = 1;
  for (std::size_t axis = 1; axis <= static_cast<std::size_t>(axes); ++axis)
    voxels *= static_cast<double>(header.dim[axis]);
  if (constexpr double most = 0x1p50; voxels > most)
    refuse_nifti(path, fmt::format("has the sizes {} (dim), which are absurdly large; correct them",
                                   fmt::join(std::span(header.dim).subspan(1, static_cast<std::size_t>(axes)), " x ")));
}

// The standard requires a spacing of an axis of one sample, too, but little depends on it.
void require_nifti_spacings(const NiftiHeader& header, const std::string& path) {
  for (std::size_t axis = 1; axis <= 3 && static_cast<std::int64_t>(axis) <= header.dim[0]; ++axis) {
    const double spacing = header.pixdim[axis];
    if (spacing > 0) continue;
    if (spacing < 0 || header.dim[axis] > 1)
      refuse_nifti(path, fmt::format("says that the {} samples along axis {} are {:g} apart (pixdim[{}]); a positive "
                                     "number is expected: correct it",
                                     header.dim[axis], axis, spacing, axis));
    warn_of_nifti(path, fmt::format("pixdim[{}] of the one sample along axis {} is 0; taken for 1 mm", axis, axis));
  }
}

void require_nifti_place(const NiftiHeader& header, const std::string& path) {
  const double least = of_pair(path) ? 0 : header.version == 2 ? bytes_of_2 + 4 : bytes_of_1 + 4;
  const double at = header.vox_offset;
  if (!(at >= least && at < 1e15) || at != std::floor(at))
    refuse_nifti(path,
                 fmt::format("says that the voxels begin at byte {:.10g} (vox_offset); a whole number of at least "
                             "{:g} is expected: correct it",
                             at, least));
  if (header.bitpix != 0 && header.bitpix != header.voxel_bits)
    refuse_nifti(path, fmt::format("says {} bits a voxel (bitpix), but its datatype {} has {}; correct the one that is "
                                   "wrong",
                                   header.bitpix, header.datatype, header.voxel_bits));
  if (header.length_unit > 3)
    refuse_nifti(path,
                 fmt::format("says lengths in the unit {} (xyzt_units), which NIfTI does not have; 0 (unknown), 1 "
                             "(m), 2 (mm) or 3 (micrometres) is expected: correct it",
                             header.length_unit));
}

void require_nifti_scaling(const NiftiHeader& header, const std::string& path) {
  const double slope = header.slope, offset = header.intercept;
  const bool unscaled = slope == 0 || std::isnan(slope);
  if (std::isinf(slope) || (std::isnan(slope) && offset != 0 && !std::isnan(offset)) ||
      (!unscaled && !std::isfinite(offset)))
    refuse_nifti(path,
                 fmt::format("says that values are {:g} times the stored numbers plus {:g} (scl_slope, scl_inter); "
                             "finite numbers are expected, or a slope of 0 where they are not scaled: correct it",
                             slope, offset));
  if (slope == 0 && offset != 0 && !std::isnan(offset))
    warn_of_nifti(path, fmt::format("scl_slope is 0, by which the stored numbers are the values; scl_inter ({:g}) is "
                                    "passed over",
                                    offset));
}

// The parts of a rotation are at most 1 together. A transform must be one with the spacings of the header where it is
// the only one: ITK reads no others.
void require_nifti_transforms(const NiftiHeader& header, const std::string& path) {
  const auto& q = header.quatern;
  constexpr double rounding = 1e-4;
  if (const double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2]; header.qform_code > 0 && square > 1 + rounding)
    refuse_nifti(path, fmt::format("has a quaternion ({:g}) whose squares add up to {:g}; at most 1 is expected for a "
                                   "rotation: correct it",
                                   fmt::join(q, " "), square));
  if (header.qform_code > 0 || header.sform_code <= 0) return;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (std::size_t row = 0; row < 3; ++row) dot += header.srow[4 * row + a] * header.srow[4 * row + b];
      const double spacings =
          (header.dim[0] > static_cast<std::int64_t>(a) ? header.pixdim[a + 1] : 0) * header.pixdim[b + 1];
      constexpr double most = 0.01;
      if (spacings > 0 && !(std::abs(dot / spacings - (a == b ? 1 : 0)) <= most))
        refuse_nifti(path,
                     fmt::format("places the voxels by its sform (srow {:g}), which is no rotation with the "
                                 "spacings of pixdim ({:g}): sheared images cannot be read, resample it; or "
                                 "correct the header",
                                 fmt::join(header.srow, " "), fmt::join(std::span(header.pixdim).subspan(1, 3), " ")));
    }
}

double transform_distance(const NiftiTransform& a, const NiftiTransform& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += std::abs(a[n] - b[n]);
  return sum;
}

void warn_of_two_places(const NiftiHeader& header, const std::string& path, const Grid& grid) {
  const auto q = nifti_qform(header), s = nifti_sform(header);
  if (!q || !s || same_transform(*q, *s)) return;
  const auto taken = nifti_transform(grid);
  warn_of_nifti(path, fmt::format("its qform and its sform place the voxels differently; the {} is taken",
                                  transform_distance(*q, taken) <= transform_distance(*s, taken) ? "qform" : "sform"));
}

double mm_of(const NiftiHeader& header) {
  return header.length_unit == 1 ? 1000 : header.length_unit == 3 ? 1e-3 : 1;
}

}  // namespace

std::optional<NiftiHeader> read_nifti_header(const std::string& path) {
  auto bytes = first_bytes(path);
  if (bytes.size() < bytes_of_1) return {};
  bytes.resize(bytes_of_2);
  std::optional<NiftiHeader> header;
  for (const bool swapped : {false, true}) {
    const Fields fields(bytes, swapped);
    const auto length = fields.at<std::int32_t>(0);
    if (length == bytes_of_1) header = version_1(fields);
    if (length == bytes_of_2 && bytes[4] == 'n' && bytes[6] == '2') header = version_2(fields);
    if (length == bytes_of_1 || (length == bytes_of_2 && header)) header->swapped = swapped;
  }
  const auto& bits = bits_of_types();
  if (header && bits.contains(header->datatype)) header->voxel_bits = bits.at(header->datatype);
  return header;
}

NiftiTransform nifti_transform(const Grid& grid) {
  NiftiTransform out{};
  for (int row = 0; row < 3; ++row) {
    const double sign = row < 2 ? -1 : 1;
    for (int axis = 0; axis < 3; ++axis)
      out[4 * row + axis] = sign * grid.direction[3 * row + axis] * grid.spacing[axis];
    out[4 * row + 3] = sign * grid.origin[row];
  }
  return out;
}

std::optional<NiftiTransform> nifti_sform(const NiftiHeader& header) {
  if (header.sform_code <= 0) return {};
  NiftiTransform out = header.srow;
  for (double& number : out) number *= mm_of(header);
  return out;
}

// The quaternion (a, b, c, d) as a rotation, with the spacings: nifti1.h, method 2.
std::optional<NiftiTransform> nifti_qform(const NiftiHeader& header) {
  if (header.qform_code <= 0) return {};
  auto [b, c, d] = header.quatern;
  const double rest = 1 - (b * b + c * c + d * d);
  const double a = std::sqrt(std::max(0.0, rest)), length = rest < 0 ? std::sqrt(1 - rest) : 1;
  b /= length, c /= length, d /= length;
  const auto spacing = [&](std::size_t axis) { return header.pixdim[axis] > 0 ? header.pixdim[axis] : 1; };
  const double s[] = {spacing(1), spacing(2), (header.pixdim[0] < 0 ? -1 : 1) * spacing(3)};
  const auto& at = header.qoffset;
  NiftiTransform out{s[0] * (a * a + b * b - c * c - d * d),
                     s[1] * 2 * (b * c - a * d),
                     s[2] * 2 * (b * d + a * c),
                     at[0],
                     s[0] * 2 * (b * c + a * d),
                     s[1] * (a * a + c * c - b * b - d * d),
                     s[2] * 2 * (c * d - a * b),
                     at[1],
                     s[0] * 2 * (b * d - a * c),
                     s[1] * 2 * (c * d + a * b),
                     s[2] * (a * a + d * d - c * c - b * b),
                     at[2]};
  for (double& number : out) number *= mm_of(header);
  return out;
}

bool same_transform(const NiftiTransform& a, const NiftiTransform& b) {
  double spacing = 0;
  for (std::size_t n = 0; n < a.size(); ++n)
    if (n % 4 < 3) spacing = std::max({spacing, std::abs(a[n]), std::abs(b[n])});
  for (std::size_t n = 0; n < a.size(); ++n)  // quaternions near half a turn are known to 1e-3
    if (!(std::abs(a[n] - b[n]) <= 2e-3 * spacing + (n % 4 == 3 ? 1e-5 * std::abs(b[n]) : 0))) return false;
  return true;
}

Scaling nifti_scaling(const NiftiHeader& header) {
  if (header.slope == 0 || std::isnan(header.slope)) return {};
  return {header.slope, header.intercept};
}

HeaderNotes read_nifti_notes(const NiftiHeader& header, const Grid& grid) {
  HeaderNotes notes{"NIfTI"};
  if (!header.description.empty()) notes.entries["descrip"] = header.description;
  if (!header.auxiliary.empty()) notes.entries["aux_file"] = header.auxiliary;
  const NiftiTransform taken = nifti_transform(grid);
  const auto q = nifti_qform(header), s = nifti_sform(header);
  const bool by_q = q && same_transform(*q, taken), by_s = s && same_transform(*s, taken);
  if (!by_q && !by_s) return notes;
  notes.entries["qform_code"] = fmt::format("{}", by_q ? header.qform_code : header.sform_code);
  notes.entries["sform_code"] = fmt::format("{}", by_s ? header.sform_code : header.qform_code);
  return notes;
}

std::array<std::string, 2> nifti_files(const std::string& path) {
  if (!of_pair(path)) return {path, path};
  return {partner(path, ".hdr"), partner(path, ".img")};
}

NiftiName::NiftiName(const std::string& path) : name_(path) {
  constexpr std::size_t end = 3;  // ".gz"
  if (!path.ends_with(".nii.gz") || !fs::exists(path.substr(0, path.size() - end))) return;
  try {
    folder_.emplace("nifti");
  } catch (const FileError& error) {
    throw InputError(
        fmt::format("'{}' lies beside a .nii of its name, and there is no place for a link to it: {}, or move "
                    "one of the two",
                    path, error.what()));
  }
  name_ = *folder_ / "voxels.nii.gz";
  fs::create_symlink(fs::absolute(path), name_);
}

Grid nifti_grid(const std::string& path, const Grid& itk) {
  const auto header = read_nifti_header(nifti_files(path)[0]);
  if (!header) return itk;
  const double unit = mm_of(*header);
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
  warn_of_two_places(*header, path, grid);
  return grid;
}

void check_nifti_header(const std::string& path) {
  const auto files = nifti_files(path);
  for (const auto& file : files)
    if (fs::exists(file)) check_input_file(file, fmt::format("'{}'", file));
  if (files[0] != path && !fs::exists(files[0]))
    throw InputError(
        fmt::format("'{}' holds the voxels of a pair of files, whose header '{}' is missing; keep the two "
                    "files together",
                    path, files[0]));
  if (fs::exists(files[0]) && !fs::exists(files[1]))
    throw InputError(
        fmt::format("'{}' is the header of a pair of files, whose voxels '{}' are missing; keep the two "
                    "files together",
                    path, fs::path(files[1]).replace_extension().string()));
  const auto header = read_nifti_header(files[0]);
  if (!header) return require_header_bytes(files[0]);
  require_known(*header, files[0]);
  if (header->analyze && !of_pair(path))
    refuse_nifti(path,
                 "does not say 'n+1' at byte 344: it is damaged, or of Analyze 7.5, which is a pair of files (.hdr "
                 "and .img)");
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
  require_nifti_sizes(*header, files[0]);
  require_nifti_spacings(*header, files[0]);
  require_nifti_place(*header, files[0]);
  require_nifti_scaling(*header, files[0]);
  require_nifti_transforms(*header, files[0]);
}

}  // namespace halocline
