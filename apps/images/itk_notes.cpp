#include "apps/images/itk_notes.hpp"

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

#include "apps/images/nifti_header.hpp"
#include "apps/images/nrrd_header.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr const char* nifti = "NIfTI";
constexpr const char* nrrd = "NRRD";

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

// A file that belongs to it, unless it was renamed.
struct Passing {
  std::string path;
  ~Passing() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

// Compressed files are written again.
void finish_compressed(const HeaderNotes& notes, const std::string& path) {
  const Passing other{path + ".gz"};
  std::error_code code;
  fs::remove(other.path, code);  // of a process that was killed; x: a link there is not followed
  GzFile from(gzopen(path.c_str(), "rb")), to(gzopen(other.path.c_str(), "wbx"));
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
  code.clear();
  if (good) fs::rename(other.path, path, code);
  if (!good || code) throw FileError("the header could not be written");
}

}  // namespace

HeaderNotes read_header_notes(const std::string& path, const Grid& grid) {
  if (const auto header = read_nifti_header(nifti_files(path)[0])) return read_nifti_notes(*header, grid);
  return read_nrrd_notes(path);
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
