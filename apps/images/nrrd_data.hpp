// The stored values of NRRD files, where readers take others for them without a word.
#pragma once

#include <string>
#include <vector>

namespace halocline {

/// The values behind a header.
struct NrrdData {
  struct Part {
    std::string file;
    double from = 0;  ///< byte of the file at which they begin, skips aside
  };
  std::string path, type, encoding, endian;  ///< entries of the header, but for the path in lower case
  double count = 1, value_bytes = 1;
  double line_skip = 0, byte_skip = 0;
  std::vector<Part> parts;  ///< files that hold equally many values
};

/// Throws InputError that names the file where text holds other values than the type can, or not as many as the header
/// says; where digits of hex are none; where gzipped values are not, are cut or damaged, or are too few or too many;
/// and where raw values would begin within the header. Warns where more bytes follow raw values.
void check_nrrd_data(const NrrdData& data);

}  // namespace halocline
