#include "apps/io/meta_image.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "apps/io/atomic_file.hpp"
#include "apps/io/component.hpp"
#include "host/error.hpp"
#include "host/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{4} << 20;
constexpr bool host_is_msb = std::endian::native == std::endian::big;

struct Header {
  Grid grid;
  Component component = Component::uint8;
  bool msb = false;
  bool compressed = false;
  std::optional<std::uint64_t> compressed_bytes;
  std::int64_t header_size = 0;
  bool local = false;
  std::string data_path;
  std::uint64_t data_offset = 0;  // in data_path
};

std::string trim(const std::string& text) {
  const char* blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The keys of a header, with checked access to them.
class Keys {
 public:
  explicit Keys(std::string path) : path_(std::move(path)) {}

  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  bool has(const std::string& key) const { return values_.count(key) != 0; }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  bool flag(const std::string& key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const char first = text(key, " ")[0];
    return first == 'T' || first == 't' || first == '1';
  }
  // The first of several names that mean the same thing.
  std::string present(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (has(name)) return name;
    return "";
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

Component component_of(const Keys& keys) {
  static const std::map<std::string, Component> types{
      {"MET_CHAR", Component::int8},       {"MET_UCHAR", Component::uint8},       {"MET_SHORT", Component::int16},
      {"MET_USHORT", Component::uint16},   {"MET_INT", Component::int32},         {"MET_UINT", Component::uint32},
      {"MET_LONG", Component::int32},      {"MET_ULONG", Component::uint32},  // 4 bytes by the format's definition
      {"MET_LONG_LONG", Component::int64}, {"MET_ULONG_LONG", Component::uint64}, {"MET_FLOAT", Component::float32},
      {"MET_DOUBLE", Component::float64}};
  const std::string name = keys.text("ElementType", "");
  const auto found = types.find(name);
  if (found != types.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, value] : types) known.push_back(key);
  keys.refuse(fmt::format("ElementType is '{}'; expected one of {}", name, fmt::join(known, ", ")));
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
    if (trim(line).empty()) continue;
    const auto equals = line.find('=');
    if (equals == std::string::npos)
      keys.refuse(fmt::format(
          "line {} of the header has no 'Key = value': this is not a MetaImage file, or it is damaged", number));
    const std::string key = trim(line.substr(0, equals));
    keys.set(key, trim(line.substr(equals + 1)));
    if (key == "ElementDataFile") return keys;
  }
  keys.refuse("the header ends before 'ElementDataFile = ...': the file is truncated or not a MetaImage");
}

Header read_header(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path))
    throw InputError(fmt::format("cannot open '{}': no such file, or no permission to read it", path));
  const Keys keys = read_keys(in, path);
  if (const std::string type = keys.text("ObjectType", "Image"); type != "Image")
    keys.refuse(fmt::format("ObjectType is '{}'; expected Image", type));
  for (const char* needed : {"NDims", "DimSize", "ElementType"})
    if (!keys.has(needed)) keys.refuse(fmt::format("the header has no {}", needed));

  Header header;
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
  header.component = component_of(keys);

  Grid& grid = header.grid;
  const std::size_t used = std::min<std::size_t>(dims, 3);
  grid.size = {1, 1, 1};
  std::copy_n(sizes.begin(), used, grid.size.begin());
  if (const std::string key = keys.present({"ElementSpacing", "ElementSize"}); !key.empty())
    std::copy_n(keys.numbers<double>(key, dims).begin(), used, grid.spacing.begin());
  if (const std::string key = keys.present({"Offset", "Origin", "Position"}); !key.empty())
    std::copy_n(keys.numbers<double>(key, dims).begin(), used, grid.origin.begin());
  if (const std::string key = keys.present({"TransformMatrix", "Rotation", "Orientation"}); !key.empty()) {
    const auto rows = keys.numbers<double>(key, dims * dims);  // row a: index axis a in the world
    for (std::size_t a = 0; a < used; ++a)
      for (std::size_t w = 0; w < used; ++w) grid.direction[3 * w + a] = rows[dims * a + w];
  }
  std::uint64_t bytes = component_bytes(header.component);
  for (const std::size_t size : grid.size) {
    if (size != 0 && bytes > (std::uint64_t{1} << 60) / size)
      keys.refuse(fmt::format("DimSize {} is absurdly large", fmt::join(sizes, " ")));
    bytes *= size;
  }
  check_grid(grid, "MetaImage '" + path + "'");

  const std::string order = keys.present({"ElementByteOrderMSB", "BinaryDataByteOrderMSB"});
  header.msb = !order.empty() && keys.flag(order, false);
  header.compressed = keys.flag("CompressedData", false);
  if (keys.has("CompressedDataSize"))
    if (const auto size = keys.numbers<std::uint64_t>("CompressedDataSize", 1)[0]; size != 0)
      header.compressed_bytes = size;
  if (keys.has("HeaderSize")) header.header_size = keys.numbers<std::int64_t>("HeaderSize", 1)[0];
  if (header.header_size < -1) keys.refuse(fmt::format("HeaderSize is {}; expected -1, 0 or more", header.header_size));

  const std::string data = keys.text("ElementDataFile", "");
  if (data.empty()) keys.refuse("ElementDataFile names no file");
  if (data.rfind("LIST", 0) == 0 || data.find('%') != std::string::npos)
    keys.refuse(
        fmt::format("ElementDataFile = {} spreads the image over several files, which is not read here; convert it to "
                    "one file (.mha)",
                    data));
  header.local = data == "LOCAL" || data == "Local" || data == "local";
  if (header.local) {
    header.data_path = path;
    header.data_offset = static_cast<std::uint64_t>(in.tellg());
  } else {
    header.data_path = (fs::path(path).parent_path() / data).string();
  }
  return header;
}

// Gives the decoded bytes of the image one after the other.
using Source = std::function<void(char* to, std::size_t bytes)>;

// zlib or gzip data, inflated on the fly.
class Inflater {
 public:
  Inflater(std::istream& in, std::uint64_t compressed_bytes, std::string name, std::uint64_t expected)
      : in_(in), left_(compressed_bytes), name_(std::move(name)), expected_(expected), input_(std::size_t{1} << 20) {
    if (inflateInit2(&z_, 15 + 32) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void read(char* to, std::size_t bytes) {
    if (inflate_into(to, bytes) != bytes)
      throw InputError(
          fmt::format("'{}' is truncated: its compressed data hold {} bytes, expected {}", name_, done_, expected_));
  }
  // The stream must end here, with a good checksum.
  void finish() {
    char extra = 0;
    if (inflate_into(&extra, 1) != 0)
      throw InputError(
          fmt::format("'{}': the compressed data hold more than the {} bytes that the header tells; one of the "
                      "two is wrong",
                      name_, expected_));
    if (!ended_)
      throw InputError(
          fmt::format("'{}' is truncated: the end of its compressed data is missing (found {} bytes of "
                      "voxels, expected {})",
                      name_, done_, expected_));
  }

 private:
  std::size_t inflate_into(char* to, std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes && !ended_) {
      if (z_.avail_in == 0) {
        const auto ask = static_cast<std::streamsize>(std::min<std::uint64_t>(left_, input_.size()));
        in_.read(input_.data(), ask);
        const auto found = static_cast<std::uint64_t>(in_.gcount());
        if (found == 0) break;
        left_ -= found;
        z_.next_in = reinterpret_cast<Bytef*>(input_.data());
        z_.avail_in = static_cast<uInt>(found);
      }
      const auto room = static_cast<uInt>(std::min<std::size_t>(bytes - got, std::size_t{1} << 30));
      z_.next_out = reinterpret_cast<Bytef*>(to + got);
      z_.avail_out = room;
      const int code = inflate(&z_, Z_NO_FLUSH);
      got += room - z_.avail_out;
      done_ += room - z_.avail_out;
      if (code == Z_STREAM_END) ended_ = true;
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        throw InputError(fmt::format("'{}': the compressed data are damaged after {} of {} bytes ({})", name_, done_,
                                     expected_, z_.msg != nullptr ? z_.msg : "zlib error"));
    }
    return got;
  }

  std::istream& in_;
  std::uint64_t left_;
  std::string name_;
  std::uint64_t expected_, done_ = 0;
  std::vector<char> input_;
  z_stream z_{};
  bool ended_ = false;
};

Volume allocate(const Grid& grid, const std::string& path) {
  try {
    return Volume(grid);
  } catch (const std::exception&) {  // bad_alloc or length_error
    throw InputError(
        fmt::format("'{}': a volume of {} voxels needs {} bytes of host memory, which are not there; crop it or "
                    "use a larger machine",
                    path, fmt::join(grid.size, " x "), grid.count() * sizeof(float)));
  }
}

void read_voxels(const Header& header, const Source& source, Volume& volume) {
  const std::size_t bytes = component_bytes(header.component), count = volume.voxels.size();
  const bool swap = header.msb != host_is_msb && bytes > 1;
  const std::size_t piece = piece_bytes / bytes;
  const bool direct = header.component == Component::float32 && !swap;
  std::vector<char> buffer(direct ? 0 : std::min(piece, count) * bytes);
  for (std::size_t at = 0; at < count; at += piece) {
    check_interrupt();
    const std::size_t now = std::min(piece, count - at);
    if (direct) {
      source(reinterpret_cast<char*>(volume.voxels.data() + at), now * bytes);
    } else {
      source(buffer.data(), now * bytes);
      convert_to_float(header.component, buffer.data(), swap, volume.voxels.data() + at, now);
    }
  }
}

std::string header_text(const Grid& grid, bool compressed, const std::string& compressed_bytes,
                        const std::string& data_file) {
  std::array<double, 9> rows{};
  for (int a = 0; a < 3; ++a)
    for (int w = 0; w < 3; ++w) rows[3 * a + w] = grid.direction[3 * w + a];
  return fmt::format(
      "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = {}\nCompressedData = {}\n{}"
      "TransformMatrix = {}\nOffset = {}\nCenterOfRotation = 0 0 0\nElementSpacing = {}\nDimSize = {}\n"
      "ElementType = MET_FLOAT\nElementDataFile = {}\n",
      host_is_msb ? "True" : "False", compressed ? "True" : "False",
      compressed ? fmt::format("CompressedDataSize = {}\n", compressed_bytes) : "", fmt::join(rows, " "),
      fmt::join(grid.origin, " "), fmt::join(grid.spacing, " "), fmt::join(grid.size, " "), data_file);
}

// Returns the number of compressed bytes.
std::uint64_t write_deflated(const Volume& volume, std::ostream& out) {
  struct Deflate {
    z_stream z{};
    Deflate() {
      if (deflateInit(&z, 2) != Z_OK) throw std::bad_alloc();  // noise hardly compresses better at higher levels
    }
    ~Deflate() { deflateEnd(&z); }
  } deflater;
  z_stream& z = deflater.z;
  std::vector<char> buffer(std::size_t{1} << 20);
  const char* from = reinterpret_cast<const char*>(volume.voxels.data());
  std::size_t left = volume.voxels.size() * sizeof(float);
  std::uint64_t written = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    check_interrupt();
    const std::size_t now = std::min(left, piece_bytes);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from));
    z.avail_in = static_cast<uInt>(now);
    from += now;
    left -= now;
    do {
      z.next_out = reinterpret_cast<Bytef*>(buffer.data());
      z.avail_out = static_cast<uInt>(buffer.size());
      code = deflate(&z, left == 0 ? Z_FINISH : Z_NO_FLUSH);
      const std::size_t got = buffer.size() - z.avail_out;
      out.write(buffer.data(), static_cast<std::streamsize>(got));
      written += got;
    } while (z.avail_out == 0);
  }
  return written;
}

void write_plain(const Volume& volume, std::ostream& out) {
  const char* from = reinterpret_cast<const char*>(volume.voxels.data());
  const std::size_t bytes = volume.voxels.size() * sizeof(float);
  for (std::size_t at = 0; at < bytes; at += piece_bytes) {
    check_interrupt();
    out.write(from + at, static_cast<std::streamsize>(std::min(piece_bytes, bytes - at)));
  }
}

}  // namespace

ImageInfo read_meta_image_info(const std::string& path) {
  const Header header = read_header(path);
  return {header.grid, component_name(header.component), "MetaImage"};
}

std::string meta_image_data_path(const std::string& path) {
  return read_header(path).data_path;
}

Volume read_meta_image(const std::string& path) {
  const Header header = read_header(path);
  std::ifstream in(header.data_path, std::ios::binary);
  if (!in || fs::is_directory(header.data_path))
    throw InputError(
        fmt::format("MetaImage '{}': its data file '{}' is missing or cannot be read; keep the two files together",
                    path, header.data_path));
  const std::uint64_t file_bytes = fs::file_size(header.data_path);
  const std::uint64_t expected = std::uint64_t{header.grid.count()} * component_bytes(header.component);
  const std::string what =
      fmt::format("{} of {}", fmt::join(header.grid.size, " x "), component_name(header.component));
  std::uint64_t offset = header.data_offset;
  if (header.header_size > 0) offset = static_cast<std::uint64_t>(header.header_size);
  if (header.header_size == -1 && !header.compressed) {
    if (file_bytes < header.data_offset + expected)
      throw InputError(fmt::format("'{}' is truncated: found {} bytes of voxels, expected {} ({})", header.data_path,
                                   file_bytes - std::min(file_bytes, header.data_offset), expected, what));
    offset = file_bytes - expected;
  }
  const std::uint64_t found = file_bytes - std::min(file_bytes, offset);
  in.seekg(static_cast<std::streamoff>(offset));

  if (!header.compressed) {
    if (found < expected)
      throw InputError(fmt::format("'{}' is truncated: found {} bytes of voxels, expected {} ({})", header.data_path,
                                   found, expected, what));
    if (found > expected && header.header_size == 0)
      throw InputError(
          fmt::format("'{}' is too long: found {} bytes of voxels, expected {} ({}); correct DimSize or "
                      "ElementType, or give the HeaderSize (-1: the voxels are the last bytes)",
                      header.data_path, found, expected, what));
    Volume volume = allocate(header.grid, path);
    read_voxels(
        header,
        [&](char* to, std::size_t bytes) {
          in.read(to, static_cast<std::streamsize>(bytes));
          if (static_cast<std::size_t>(in.gcount()) != bytes)
            throw FileError(
                fmt::format("reading '{}' failed: the disk or the file changed meanwhile", header.data_path));
        },
        volume);
    return volume;
  }

  const std::uint64_t compressed = header.compressed_bytes.value_or(found);
  if (compressed > found)
    throw InputError(
        fmt::format("'{}' is truncated: found {} bytes of compressed data, expected {} (CompressedDataSize)",
                    header.data_path, found, compressed));
  // deflate cannot gain more than a factor of 1032: refuse an absurd DimSize before memory is asked for
  if (expected / 1040 > compressed + 64)
    throw InputError(
        fmt::format("'{}' is truncated or its header is wrong: {} bytes of compressed data cannot hold {} bytes "
                    "({})",
                    header.data_path, compressed, expected, what));
  Volume volume = allocate(header.grid, path);
  Inflater inflater(in, compressed, header.data_path, expected);
  read_voxels(
      header, [&](char* to, std::size_t bytes) { inflater.read(to, bytes); }, volume);
  inflater.finish();
  return volume;
}

std::optional<Volume> read_meta_image_part(const std::string& path, const Cutout& part) {
  const Header header = read_header(path);
  if (header.compressed) return std::nullopt;
  const auto& size = header.grid.size;
  const std::size_t bytes = component_bytes(header.component);
  const bool swap = header.msb != host_is_msb && bytes > 1;
  std::ifstream in(header.data_path, std::ios::binary);
  std::error_code code;
  const std::uint64_t found = fs::file_size(header.data_path, code),
                      expected = std::uint64_t{header.grid.count()} * bytes;
  std::uint64_t offset = header.header_size > 0 ? static_cast<std::uint64_t>(header.header_size) : header.data_offset;
  if (header.header_size == -1) offset = found - std::min(found, expected);
  // Whatever is wrong with the file, reading all of it says so best.
  if (!in || code || found < offset + expected || (found > offset + expected && header.header_size == 0))
    return std::nullopt;
  Volume volume = allocate(cut_out(header.grid, part), path);
  std::vector<char> row(part.size[0] * bytes);
  for (std::size_t k = 0; k < part.size[2]; ++k)
    for (std::size_t j = 0; j < part.size[1]; ++j) {
      check_interrupt();
      const std::uint64_t voxel =
          part.first[0] + std::uint64_t{size[0]} * (part.first[1] + j + size[1] * (part.first[2] + k));
      in.seekg(static_cast<std::streamoff>(offset + voxel * bytes));
      in.read(row.data(), static_cast<std::streamsize>(row.size()));
      if (static_cast<std::size_t>(in.gcount()) != row.size())
        throw FileError(fmt::format("reading '{}' failed: the disk or the file changed meanwhile", header.data_path));
      convert_to_float(header.component, row.data(), swap, &volume.at(0, j, k), part.size[0]);
    }
  return volume;
}

void write_meta_image(const Volume& volume, const std::string& path, bool compressed) {
  const fs::path name(path);
  if (name.extension() != ".mhd" && name.extension() != ".MHD") {
    write_file_atomically(path, [&](std::ostream& out) {
      if (!compressed) {
        out << header_text(volume.grid, false, "", "LOCAL");
        write_plain(volume, out);
        return;
      }
      // The size is known only afterwards: a field of fixed width is filled in then.
      const auto header = [&](std::uint64_t bytes) {
        return header_text(volume.grid, true, fmt::format("{:>20}", bytes), "LOCAL");
      };
      out << header(0);
      const std::uint64_t bytes = write_deflated(volume, out);
      out.seekp(0);
      out << header(bytes);
    });
    return;
  }
  fs::path data_path = name;
  data_path.replace_extension(compressed ? ".zraw" : ".raw");
  TemporaryFile data(data_path.string()), header(path);
  std::uint64_t bytes = 0;
  if (compressed)
    bytes = write_deflated(volume, data.stream());
  else
    write_plain(volume, data.stream());
  header.stream() << header_text(volume.grid, compressed, fmt::format("{}", bytes), data_path.filename().string());
  data.sync();  // both are whole on the disk before either is renamed
  header.sync();
  data.commit();
  header.commit();
}

}  // namespace halocline
