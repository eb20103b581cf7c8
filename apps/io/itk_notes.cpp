#include "apps/io/itk_notes.hpp"

#include <fmt/format.h>
#include <itkImageIOBase.h>
#include <itkMetaDataObject.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "apps/io/itk_nifti_header.hpp"
#include "host/error.hpp"
#include "host/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr const char* nifti = "NIfTI";
constexpr const char* nrrd = "NRRD";

std::string text_of(const itk::ImageIOBase& io, const std::string& key) {
  std::string value;
  itk::ExposeMetaData<std::string>(io.GetMetaDataDictionary(), key, value);
  return value;
}

double number_of(const itk::ImageIOBase& io, const std::string& key) {
  std::istringstream text(text_of(io, key));
  double value = 0;
  return text >> value ? value : 0;
}

// Index to world in NIfTI's axes, of which the first two point the other way: three rows of four numbers.
using Affine = std::array<double, 12>;

Affine affine_of(const Grid& grid) {
  Affine out{};
  for (int row = 0; row < 3; ++row) {
    const double sign = row < 2 ? -1 : 1;
    for (int axis = 0; axis < 3; ++axis)
      out[4 * row + axis] = sign * grid.direction[3 * row + axis] * grid.spacing[axis];
    out[4 * row + 3] = sign * grid.origin[row];
  }
  return out;
}

Affine sform_of(const itk::ImageIOBase& io) {
  Affine out{};
  const char* names[] = {"srow_x", "srow_y", "srow_z"};
  for (int row = 0; row < 3; ++row) {
    std::istringstream text(text_of(io, names[row]));
    for (int n = 0; n < 4; ++n) text >> out[4 * row + n];
  }
  return out;
}

// The quaternion (a, b, c, d) as a rotation, with the spacings: nifti1.h, method 2.
Affine qform_of(const itk::ImageIOBase& io) {
  const double b = number_of(io, "quatern_b"), c = number_of(io, "quatern_c"), d = number_of(io, "quatern_d");
  const double a = std::sqrt(std::max(0.0, 1 - (b * b + c * c + d * d)));
  const double left = number_of(io, "pixdim[0]") < 0 ? -1 : 1;
  const double s[] = {number_of(io, "pixdim[1]"), number_of(io, "pixdim[2]"), left * number_of(io, "pixdim[3]")};
  return {s[0] * (a * a + b * b - c * c - d * d),
          s[1] * 2 * (b * c - a * d),
          s[2] * 2 * (b * d + a * c),
          number_of(io, "qoffset_x"),
          s[0] * 2 * (b * c + a * d),
          s[1] * (a * a + c * c - b * b - d * d),
          s[2] * 2 * (c * d - a * b),
          number_of(io, "qoffset_y"),
          s[0] * 2 * (b * d - a * c),
          s[1] * 2 * (c * d + a * b),
          s[2] * (a * a + d * d - c * c - b * b),
          number_of(io, "qoffset_z")};
}

// To the float32 of the header.
bool same(const Affine& a, const Affine& b) {
  for (int n = 0; n < 12; ++n)
    if (!(std::abs(a[n] - b[n]) <= 1e-4 * std::max(1.0, std::abs(b[n])))) return false;
  return true;
}

void keep_codes(const itk::ImageIOBase& io, const Grid& grid, HeaderNotes& notes) {
  const Affine taken = affine_of(grid);
  std::string q = text_of(io, "qform_code"), s = text_of(io, "sform_code");
  const bool by_q = q != "0" && same(qform_of(io), taken), by_s = s != "0" && same(sform_of(io), taken);
  if (!by_q && !by_s) return;
  notes.entries["qform_code"] = by_q ? q : s;
  notes.entries["sform_code"] = by_s ? s : q;
}

// Fields of a NIfTI-1 header that ITK 5 leaves at their defaults: nifti1.h.
constexpr std::size_t header_bytes = 348, descrip = 148, descrip_bytes = 80, qform_code = 252, sform_code = 254;

void put_into(const HeaderNotes& notes, std::array<char, header_bytes>& header) {
  std::int32_t size = 0;
  std::memcpy(&size, header.data(), sizeof size);
  if (size != static_cast<std::int32_t>(header_bytes)) return;  // another version
  for (const auto& [name, at] : {std::pair("qform_code", qform_code), {"sform_code", sform_code}})
    if (const auto code = notes.entries.find(name); code != notes.entries.end()) {
      const auto value = static_cast<std::int16_t>(std::strtol(code->second.c_str(), nullptr, 10));
      std::memcpy(header.data() + at, &value, sizeof value);
    }
  if (const auto text = notes.entries.find("descrip"); text != notes.entries.end()) {
    std::memset(header.data() + descrip, 0, descrip_bytes);
    std::memcpy(header.data() + descrip, text->second.data(), std::min(text->second.size(), descrip_bytes - 1));
  }
}

void finish_plain(const HeaderNotes& notes, const std::string& path) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::array<char, header_bytes> header{};
  file.read(header.data(), header.size());
  put_into(notes, header);
  file.seekp(0);
  file.write(header.data(), header.size());
  file.close();
  if (!file) throw FileError("the header could not be written");
}

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, Close>;

// A file that goes with it, unless it was renamed.
struct Passing {
  std::string path;
  ~Passing() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

// Compressed files are written anew.
void finish_compressed(const HeaderNotes& notes, const std::string& path) {
  const Passing other{path + ".gz"};
  GzFile from(gzopen(path.c_str(), "rb")), to(gzopen(other.path.c_str(), "wb"));
  bool good = from && to;
  std::array<char, header_bytes> header{};
  good = good && gzread(from.get(), header.data(), header_bytes) == static_cast<int>(header_bytes);
  put_into(notes, header);
  good = good && gzwrite(to.get(), header.data(), header_bytes) == static_cast<int>(header_bytes);
  std::vector<char> piece(1 << 20);
  for (int got = 1; good && got > 0;) {
    check_interrupt();
    got = gzread(from.get(), piece.data(), static_cast<unsigned>(piece.size()));
    good = got >= 0 && (got == 0 || gzwrite(to.get(), piece.data(), static_cast<unsigned>(got)) == got);
  }
  good = (!to || gzclose(to.release()) == Z_OK) && good;
  std::error_code code;
  if (good) fs::rename(other.path, path, code);
  if (!good || code) throw FileError("the header could not be written");
}

}  // namespace

Scaling nifti_scaling(const std::string& path) {
  const auto header = read_nifti_header(path);
  if (!header) return {};  // the voxels of a pair of files
  const Scaling scaling{header->slope, header->intercept};
  return scaling.slope == 0 || !std::isfinite(scaling.slope) || !std::isfinite(scaling.offset) ? Scaling{} : scaling;
}

HeaderNotes read_header_notes(const itk::ImageIOBase& io, const Grid& grid) {
  HeaderNotes notes;
  const std::string format = io.GetNameOfClass();
  if (format == "NiftiImageIO") {
    notes.format = nifti;
    for (const char* key : {"descrip", "aux_file"})
      if (const std::string text = text_of(io, key); !text.empty()) notes.entries[key] = text;
    keep_codes(io, grid, notes);
  } else if (format == "NrrdImageIO") {
    notes.format = nrrd;
    for (const auto& key : io.GetMetaDataDictionary().GetKeys())
      if (key == "NRRD_content" || !(key.starts_with("NRRD_") || key.starts_with("ITK_")))
        notes.entries[key] = text_of(io, key);
  }
  return notes;
}

void give_header_notes(const HeaderNotes& notes, itk::ImageIOBase& io) {
  const std::string format = io.GetNameOfClass();
  if (notes.format == nrrd && format == "NrrdImageIO") {
    for (const auto& [key, text] : notes.entries)
      itk::EncapsulateMetaData<std::string>(io.GetMetaDataDictionary(), key, text);
  } else if (notes.format == nifti && format == "NiftiImageIO" && notes.entries.contains("aux_file")) {
    itk::EncapsulateMetaData<std::string>(io.GetMetaDataDictionary(), "aux_file", notes.entries.at("aux_file"));
  }
}

void finish_header_notes(const HeaderNotes& notes, const std::string& path) {
  const bool compressed = path.ends_with(".gz");
  if (notes.format != nifti || !(compressed || path.ends_with(".nii"))) return;
  const auto is = [&](const char* key, const char* text) {
    const auto found = notes.entries.find(key);
    return found == notes.entries.end() || found->second == text;
  };
  if (is("descrip", "") && is("qform_code", "1") && is("sform_code", "1")) return;  // as ITK writes them
  compressed ? finish_compressed(notes, path) : finish_plain(notes, path);
}

}  // namespace halocline
