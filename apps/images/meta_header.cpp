#include "apps/images/meta_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "apps/images/trimmed.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr const char *slope_key = "ElementToIntensityFunctionSlope", *offset_key = "ElementToIntensityFunctionOffset";

// All that change how an image is read.
constexpr std::array keys_read{"ObjectType",
                               "NDims",
                               "DimSize",
                               "ElementType",
                               "ElementNumberOfChannels",
                               "BinaryData",
                               "ElementByteOrderMSB",
                               "BinaryDataByteOrderMSB",
                               "CompressedData",
                               "CompressedDataSize",
                               "HeaderSize",
                               "ElementSpacing",
                               "ElementSize",
                               "Offset",
                               "Origin",
                               "Position",
                               "TransformMatrix",
                               "Rotation",
                               "Orientation",
                               "DistanceUnits",
                               slope_key,
                               offset_key,
                               "ElementDataFile"};

// The keys of a header, with checked access to them.
class Keys {
 public:
  explicit Keys(std::string path) : path_(std::move(path)) {}

  // The first value of a key that is read must be the only one.
  void set(const std::string& key, const std::string& value) {
    const auto read = std::find_if(keys_read.begin(), keys_read.end(),
                                   [&](const char* name) { return lower_case(name) == lower_case(key); });
    if (read != keys_read.end() && key != *read)
      refuse(fmt::format("the header has '{} = {}', but the key is written {}; correct it", excerpt(key),
                         excerpt(value), *read));
    const auto [before, is_new] = values_.try_emplace(key, value);
    if (!is_new && read != keys_read.end() && before->second != value)
      refuse(fmt::format("the header has {} twice, as '{}' and as '{}'; remove the one that is wrong", key,
                         excerpt(before->second), excerpt(value)));
  }
  bool has(const std::string& key) const { return values_.count(key) != 0; }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  bool flag(const std::string& key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const std::string value = text(key, "");
    const char first = value.empty() ? ' ' : value[0];  // the length that MetaIO looks at
    const bool yes = first == 'T' || first == 't' || first == '1';
    if (!yes && first != 'F' && first != 'f' && first != '0')
      refuse(fmt::format("{} is '{}'; expected True or False", key, excerpt(value)));
    return yes;
  }
  // The numbers of several keys that mean the same thing, which must agree; none where the header has none of them.
  std::vector<double> agreed(std::initializer_list<const char*> names, std::size_t count) const {
    std::vector<double> out;
    std::string first;
    for (const char* name : names) {
      if (!has(name)) continue;
      const auto values = numbers<double>(name, count);
      constexpr double rounding = 1e-5, nothing = 1e-9;
      const auto same = [](double a, double b) {
        return std::abs(a - b) <= nothing + rounding * std::abs(a) || !std::isfinite(a);
      };
      if (out.empty())
        out = values, first = name;
      else if (!std::equal(out.begin(), out.end(), values.begin(), same))
        refuse(fmt::format("'{} = {}' and '{} = {}' mean the same thing and differ; remove the one that is wrong",
                           first, excerpt(text(first, "")), name, excerpt(text(name, ""))));
    }
    return out;
  }
  template <typename T>
  std::vector<T> numbers(const std::string& key, std::size_t count) const {
    std::vector<T> out;
    const std::string line = text(key, "");
    const char *at = line.data(), *end = at + line.size();
    while (true) {
      while (at != end && (*at == ' ' || *at == '\t')) ++at;
      if (at == end) break;
      if (*at == '+') ++at;
      T value{};
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc{} || (next != end && *next != ' ' && *next != '\t'))
        refuse(fmt::format("'{} = {}' is not a list of {} numbers that fit", key, line, count));
      out.push_back(value);
      at = next;
    }
    if (out.size() != count)
      refuse(fmt::format("'{} = {}' has {} numbers; {} were expected", key, line, out.size(), count));
    return out;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("MetaImage '{}': {}", path_, why));
  }

 private:
  std::string path_;
  std::map<std::string, std::string> values_;
};

const std::map<std::string, Component>& element_types() {
  static const std::map<std::string, Component> types{
      {"MET_CHAR", Component::int8},       {"MET_UCHAR", Component::uint8},       {"MET_SHORT", Component::int16},
      {"MET_USHORT", Component::uint16},   {"MET_INT", Component::int32},         {"MET_UINT", Component::uint32},
      {"MET_LONG", Component::int32},      {"MET_ULONG", Component::uint32},  // 4 bytes by the format's definition
      {"MET_LONG_LONG", Component::int64}, {"MET_ULONG_LONG", Component::uint64}, {"MET_FLOAT", Component::float32},
      {"MET_DOUBLE", Component::float64},  {"MET_HALF", Component::float16}};
  return types;
}

std::string element_type(Component component) {
  const auto& types = element_types();
  // MET_INT comes before MET_LONG
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.second == component; });
  return found->first;
}

Component component_of(const Keys& keys) {
  const auto& types = element_types();
  const std::string name = keys.text("ElementType", "");
  const auto found = types.find(name);
  if (found != types.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, value] : types) known.push_back(key);
  keys.refuse(fmt::format("ElementType is '{}'; expected one of {}", name, fmt::join(known, ", ")));
}

Scaling scaling_of(const Keys& keys) {
  const auto one = [&](const char* key, double otherwise) {
    return keys.has(key) ? keys.numbers<double>(key, 1)[0] : otherwise;
  };
  const Scaling scaling{one(slope_key, 1), one(offset_key, 0)};
  if (!std::isfinite(scaling.slope) || scaling.slope == 0 || !std::isfinite(scaling.offset))
    keys.refuse(fmt::format("{} is {} and {} is {}; expected finite numbers, the first not 0", slope_key, scaling.slope,
                            offset_key, scaling.offset));
  return scaling;
}

// Reads lines up to and including ElementDataFile; afterwards the stream stands at the first byte of local data.
Keys read_keys(std::istream& in, const std::string& path) {
  Keys keys(path);
  std::string line;
  for (int number = 1; number <= 10000; ++number) {
    line.clear();
    char c = 0;
    while (in.get(c) && c != '\n') {
      line.push_back(c);
      if (line.size() > 65536) keys.refuse(fmt::format("line {} never ends: this is not a MetaImage header", number));
    }
    if (!in && line.empty()) break;
    if (trimmed(line).empty()) continue;
    const auto equals = line.find('=');
    if (equals == std::string::npos)
      keys.refuse(fmt::format(
          "line {} of the header has no 'Key = value': this is not a MetaImage file, or it is damaged", number));
    const std::string key = trimmed(line.substr(0, equals));
    keys.set(key, trimmed(line.substr(equals + 1)));
    if (key == "ElementDataFile") return keys;
  }
  keys.refuse("the header ends before 'ElementDataFile = ...': the file is truncated or not a MetaImage");
}

// Lengths in mm: those of MetaIO, which takes a length without a unit as it is.
double unit_of_lengths(const Keys& keys) {
  static const std::map<std::string, double> units{{"?", 1}, {"", 1}, {"mm", 1}, {"um", 1e-3}, {"cm", 10}};
  const std::string name = keys.text("DistanceUnits", "");
  const auto found = units.find(name);
  if (found == units.end())
    keys.refuse(
        fmt::format("DistanceUnits is '{}'; mm, um and cm can be read: convert the lengths to mm", excerpt(name)));
  return found->second;
}

// All but the number of voxels.
void place_grid(const Keys& keys, std::size_t dims, Grid& grid) {
  const std::size_t used = std::min<std::size_t>(dims, 3);
  const double unit = unit_of_lengths(keys);
  // ElementSize is that of a voxel, which may be smaller than the spacing
  if (const char* key = keys.has("ElementSpacing") ? "ElementSpacing" : "ElementSize"; keys.has(key))
    std::copy_n(keys.numbers<double>(key, dims).begin(), used, grid.spacing.begin());
  if (const auto origin = keys.agreed({"Offset", "Origin", "Position"}, dims); !origin.empty())
    std::copy_n(origin.begin(), used, grid.origin.begin());
  for (std::size_t a = 0; a < used; ++a) grid.spacing[a] *= unit, grid.origin[a] *= unit;
  const auto rows = keys.agreed({"TransformMatrix", "Rotation", "Orientation"}, dims * dims);
  for (std::size_t a = 0; a < used && !rows.empty(); ++a)  // row a: index axis a in the world
    for (std::size_t w = 0; w < used; ++w) grid.direction[3 * w + a] = rows[dims * a + w];
}

// The size and the type of the voxels.
std::size_t take_sizes(const Keys& keys, MetaHeader& header) {
  for (const char* needed : {"NDims", "DimSize", "ElementType"})
    if (!keys.has(needed)) keys.refuse(fmt::format("the header has no {}", needed));
  const auto dims = keys.numbers<std::size_t>("NDims", 1)[0];
  if (dims < 2 || dims > 4) keys.refuse(fmt::format("NDims is {}; 2, 3, or 4 with a last size of 1 can be read", dims));
  const auto sizes = keys.numbers<std::size_t>("DimSize", dims);
  if (dims == 4 && sizes[3] != 1)
    keys.refuse(fmt::format("DimSize is {}; a fourth size must be 1: extract one volume", fmt::join(sizes, " ")));
  if (keys.has("ElementNumberOfChannels"))
    if (const auto channels = keys.numbers<std::size_t>("ElementNumberOfChannels", 1)[0]; channels != 1)
      keys.refuse(fmt::format("{} channels a voxel; only images of single values can be read: extract one", channels));
  if (!keys.flag("BinaryData", true))
    keys.refuse("the voxels are stored as text; convert the file to BinaryData = True");
  header.storage = {component_of(keys), scaling_of(keys)};
  header.grid.size = {1, 1, 1};
  std::copy_n(sizes.begin(), std::min<std::size_t>(dims, 3), header.grid.size.begin());
  std::uint64_t bytes = component_bytes(header.storage.component);
  for (const std::size_t size : header.grid.size) {
    if (size != 0 && bytes > (std::uint64_t{1} << 60) / size)
      keys.refuse(fmt::format("DimSize {} is absurdly large", fmt::join(sizes, " ")));
    bytes *= size;
  }
  return dims;
}

// Reads the order and the packing of the voxels' bytes.
void take_packing(const Keys& keys, MetaHeader& header) {
  const char *of_elements = "ElementByteOrderMSB", *of_data = "BinaryDataByteOrderMSB";
  header.msb = keys.flag(keys.has(of_elements) ? of_elements : of_data, false);
  if (keys.has(of_elements) && keys.flag(of_data, header.msb) != header.msb)
    keys.refuse(fmt::format("'{} = {}' and '{} = {}' mean the same thing and differ; remove the one that is wrong",
                            of_elements, keys.text(of_elements, ""), of_data, keys.text(of_data, "")));
  header.compressed = keys.flag("CompressedData", false);
  if (keys.has("CompressedDataSize"))
    if (const auto size = keys.numbers<std::uint64_t>("CompressedDataSize", 1)[0]; size != 0)
      header.compressed_bytes = size;
  if (keys.has("HeaderSize")) header.header_size = keys.numbers<std::int64_t>("HeaderSize", 1)[0];
  if (header.header_size < -1) keys.refuse(fmt::format("HeaderSize is {}; expected -1, 0 or more", header.header_size));
}

// The file of the voxels; those in the file at `path` begin at `end`, after the header.
void take_place(const Keys& keys, const std::string& path, std::uint64_t end, MetaHeader& header) {
  const std::string data = keys.text("ElementDataFile", "");
  if (data.empty()) keys.refuse("ElementDataFile names no file");
  if (data.rfind("LIST", 0) == 0 || data.find('%') != std::string::npos)
    keys.refuse(
        fmt::format("ElementDataFile = {} spreads the image over several files, which is not read here; convert it to "
                    "one file (.mha)",
                    data));
  header.local = lower_case(data) == "local";
  if (!header.local) {
    header.data_path = (fs::path(path).parent_path() / data).string();
    return;
  }
  header.data_path = path;
  header.data_offset = end;
  if (header.header_size > 0 && static_cast<std::uint64_t>(header.header_size) != end)
    keys.refuse(
        fmt::format("HeaderSize is {}, but ElementDataFile = {} says that the voxels follow the header, which ends "
                    "after {} bytes; remove HeaderSize, or correct it",
                    header.header_size, data, end));
}

}  // namespace

MetaHeader read_meta_header(const std::string& path) {
  check_input_file(path, fmt::format("'{}'", path));
  std::ifstream in(path, std::ios::binary);
  const Keys keys = read_keys(in, path);
  if (const std::string type = keys.text("ObjectType", "Image"); type != "Image")
    keys.refuse(fmt::format("ObjectType is '{}'; expected Image", type));
  MetaHeader header;
  const std::size_t dims = take_sizes(keys, header);
  place_grid(keys, dims, header.grid);
  check_grid(header.grid, "MetaImage '" + path + "'");
  take_packing(keys, header);
  const auto end = in.tellg();  // -1 where the last line has no end
  take_place(keys, path, end < 0 ? fs::file_size(path) : static_cast<std::uint64_t>(end), header);
  return header;
}

std::string meta_header_text(const Grid& grid, const ImageStorage& storage, const std::string& data_file) {
  std::array<double, 9> rows{};
  for (int a = 0; a < 3; ++a)
    for (int w = 0; w < 3; ++w) rows[3 * a + w] = grid.direction[3 * w + a];
  const auto& scaling = storage.scaling;
  return fmt::format(
      "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = {}\nCompressedData = False\n"
      "TransformMatrix = {}\nOffset = {}\nCenterOfRotation = 0 0 0\nElementSpacing = {}\nDimSize = {}\n{}"
      "ElementType = {}\nElementDataFile = {}\n",
      host_is_msb ? "True" : "False", fmt::join(rows, " "), fmt::join(grid.origin, " "), fmt::join(grid.spacing, " "),
      fmt::join(grid.size, " "),
      scaling.identity() ? "" : fmt::format("{} = {}\n{} = {}\n", slope_key, scaling.slope, offset_key, scaling.offset),
      element_type(storage.component), data_file);
}

}  // namespace halocline
