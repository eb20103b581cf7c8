#include "apps/images/nrrd_image.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "apps/images/nrrd_grid.hpp"
#include "apps/images/nrrd_header.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

using NrrdFields = std::map<std::string, std::string>;

[[noreturn]] void refuse_nrrd(const std::string& path, const std::string& what) {
  throw UnsupportedImage(fmt::format(
      "NRRD '{}' {}, which is not read here: convert it (unu convert, unu save) or store it as .mha", path, what));
}

std::vector<std::string> words_in(const NrrdFields& fields, const std::string& field) {
  const auto found = fields.find(field);
  std::istringstream in(found == fields.end() ? "" : found->second);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Grid size_in(const NrrdFields& fields, const std::string& path) {
  const auto sizes = words_in(fields, "sizes");
  if (sizes.size() < 2 || sizes.size() > 3) refuse_nrrd(path, fmt::format("has {} axes", sizes.size()));
  Grid grid;
  grid.size = {1, 1, 1};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const char* const end = sizes[axis].data() + sizes[axis].size();
    if (const auto [at, error] = std::from_chars(sizes[axis].data(), end, grid.size[axis]);
        error != std::errc() || at != end)
      refuse_nrrd(path, fmt::format("has the size '{}'", excerpt(sizes[axis])));
  }
  static const std::set<std::string> of_space{"domain", "space", "???", "none"};
  for (const std::string& kind : words_in(fields, "kinds"))
    if (!of_space.contains(lower_case(kind)))
      refuse_nrrd(path, fmt::format("has an axis of the kind '{}'", excerpt(kind)));
  for (const std::string& word : words_in(fields, "spacedirections"))
    if (lower_case(word) == "none") refuse_nrrd(path, "has an axis without a direction");
  return grid;
}

Component component_of(const NrrdData& data) {
  if (data.type == "float") return Component::float32;
  if (data.type == "double") return Component::float64;
  return integer_component(!data.type.starts_with('u'), static_cast<std::size_t>(data.value_bytes));
}

bool is_swapped(const NrrdData& data, const std::string& path) {
  if (data.value_bytes == 1) return false;
  if (data.endian != "little" && data.endian != "big")
    refuse_nrrd(path, fmt::format("has the endian '{}'", data.endian));
  return (data.endian == "big") != (std::endian::native == std::endian::big);
}

// Throws for names of files that state more than the file (slices of each), and for the standard input.
void require_plain_names(const NrrdData& data, const NrrdFields& fields, const std::string& path) {
  const auto words = words_in(fields, "datafile");
  if (words.empty()) return;
  const bool numbered = words[0].find('%') != std::string::npos, listed = words[0] == "LIST";
  if (data.parts.empty() || (numbered && words.size() > 4) || (listed && words.size() > 1) ||
      (words.size() == 1 && words[0] == "-"))
    refuse_nrrd(path, fmt::format("has the data file '{}'", excerpt(fields.at("datafile"))));
}

// The byte of a file behind its skipped lines.
std::uint64_t behind_lines(const NrrdData& data, const NrrdData::Part& part) {
  std::ifstream in(part.file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(part.from));
  for (double line = 0; line < data.line_skip && in; ++line)
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  return in ? static_cast<std::uint64_t>(in.tellg()) : std::filesystem::file_size(part.file);
}

}  // namespace

std::optional<StoredImage> nrrd_image(const std::string& path) {
  const auto data = read_nrrd_header(path);
  if (!data) return {};
  const NrrdFields fields = nrrd_fields(path);
  StoredImage image;
  const Grid sizes = size_in(fields, path);
  check_nrrd_space(path);
  image.gzipped = data->encoding == "gzip" || data->encoding == "gz";
  if (!image.gzipped && data->encoding != "raw") refuse_nrrd(path, fmt::format("has the encoding {}", data->encoding));
  require_plain_names(*data, fields, path);
  StoredVoxels& voxels = image.voxels;
  voxels.grid = nrrd_grid(path, sizes);
  voxels.storage.component = component_of(*data);
  voxels.swapped = is_swapped(*data, path);
  check_grid(voxels.grid, "'" + path + "'");
  const std::uint64_t bytes = voxels.byte_count() / data->parts.size();
  for (const auto& part : data->parts) {
    std::uint64_t offset = behind_lines(*data, part);
    if (data->byte_skip < 0)  // -1: the values are the last bytes
      offset = std::filesystem::file_size(part.file) - static_cast<std::uint64_t>(-data->byte_skip - 1) - bytes;
    else if (image.gzipped)
      image.skip = static_cast<std::uint64_t>(data->byte_skip);
    else
      offset += static_cast<std::uint64_t>(data->byte_skip);
    voxels.parts.push_back({part.file, offset, bytes});
  }
  image.info = {voxels.grid, component_name(voxels.storage.component), "NRRD", {}, read_nrrd_notes(path)};
  return image;
}

}  // namespace halocline
