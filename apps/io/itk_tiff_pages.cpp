#include "apps/io/itk_tiff_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "host/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// Tags whose value lies in the entry itself where there is one of them.
enum Tag : std::uint16_t {
  subfile_type = 254,
  former_subfile_type = 255,
  width = 256,
  height = 257,
  bits = 258,
  samples = 277,
  format = 339
};

using Page = std::map<std::uint16_t, std::uint64_t>;

class TiffFile {
 public:
  explicit TiffFile(const std::string& path) : path_(path), in_(path, std::ios::binary), size_(fs::file_size(path)) {
    if (size_ < 16) return;
    const auto head = read(0, 16);
    const bool little = head[0] == 'I' && head[1] == 'I', msb = head[0] == 'M' && head[1] == 'M';
    if (!little && !msb) return;
    swapped_ = msb != (std::endian::native == std::endian::big);
    const auto magic = value<std::uint16_t>(head, 2);
    if (magic != 42 && magic != 43) return;
    big_ = magic == 43;
    first_ = offset_in(head, big_ ? 8 : 4);
  }

  std::vector<Page> pages() {
    // a page's directory: number of entries, entries of 12 or 20 bytes, offset of the next page or 0
    const std::size_t word = big_ ? 8 : 4, counter = big_ ? 8 : 2, entry = big_ ? 20 : 12;
    std::vector<Page> pages;
    std::set<std::uint64_t> seen;
    for (std::uint64_t next = first_; next != 0 && seen.insert(next).second;) {
      const auto beyond = [&](std::uint64_t end) {
        throw InputError(fmt::format("'{}' is truncated: page {} is described up to byte {}, but the file has {}",
                                     path_, pages.size() + 1, end, size_));
      };
      if (next > size_ || size_ - next < counter) beyond(next + counter);
      const auto bytes = read(next, counter);
      const std::uint64_t entries = big_ ? value<std::uint64_t>(bytes, 0) : value<std::uint16_t>(bytes, 0);
      if (entries > 1000000) beyond(next + counter + 1000000 * entry);
      if (const std::uint64_t end = next + counter + entries * entry + word; end > size_) beyond(end);
      const auto directory = read(next + counter, static_cast<std::size_t>(entries * entry + word));
      pages.push_back(page_of(directory, static_cast<std::size_t>(entries), entry));
      next = offset_in(directory, static_cast<std::size_t>(entries * entry));
    }
    return pages;
  }

 private:
  Page page_of(const std::vector<unsigned char>& directory, std::size_t entries, std::size_t entry) const {
    Page page;
    for (std::size_t at = 0; at < entries * entry; at += entry) {
      const auto tag = value<std::uint16_t>(directory, at), type = value<std::uint16_t>(directory, at + 2);
      if (offset_in(directory, at + 4) == 1) page.emplace(tag, whole_number(directory, at + (big_ ? 12 : 8), type));
    }
    constexpr std::uint64_t former_preview = 2, former_page = 3;
    if (const auto former = page.find(former_subfile_type); former != page.end())
      if (former->second == former_preview || former->second == former_page)
        page.emplace(subfile_type, former->second - 1);
    return page;
  }
  // Of the types that numbers of pages have, with a sign or without.
  std::uint64_t whole_number(const std::vector<unsigned char>& bytes, std::size_t at, std::uint16_t type) const {
    switch (type) {
      case 1:
      case 6:
        return bytes[at];
      case 3:
      case 8:
        return value<std::uint16_t>(bytes, at);
      case 4:
      case 9:
        return value<std::uint32_t>(bytes, at);
      default:
        return big_ ? value<std::uint64_t>(bytes, at) : 0;
    }
  }
  std::vector<unsigned char> read(std::uint64_t offset, std::size_t count) {
    std::vector<unsigned char> bytes(count);
    in_.seekg(static_cast<std::streamoff>(offset));
    in_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    return bytes;
  }
  template <typename T>
  T value(const std::vector<unsigned char>& bytes, std::size_t offset) const {
    unsigned char one[sizeof(T)];
    std::memcpy(one, bytes.data() + offset, sizeof(T));
    if (swapped_) std::reverse(one, one + sizeof(T));
    T value;
    std::memcpy(&value, one, sizeof(T));
    return value;
  }
  std::uint64_t offset_in(const std::vector<unsigned char>& bytes, std::size_t at) const {
    return big_ ? value<std::uint64_t>(bytes, at) : value<std::uint32_t>(bytes, at);
  }

  std::string path_;
  std::ifstream in_;
  std::uint64_t size_, first_ = 0;
  bool big_ = false, swapped_ = false;
};

std::uint64_t value_of(const Page& page, Tag tag, std::uint64_t otherwise) {
  const auto found = page.find(tag);
  return found == page.end() ? otherwise : found->second;
}

// ITK passes over previews (1) and masks (4).
bool ignored(const Page& page) {
  return (value_of(page, subfile_type, 0) & 5) != 0;
}

// ITK puts page n in place n, and has as many places as there are pages that call themselves whole images (0), or, if
// none does, pages that it does not pass over.
bool has_room(const std::vector<Page>& pages) {
  const auto whole = std::count_if(pages.begin(), pages.end(), [](const Page& page) {
    return page.contains(subfile_type) && value_of(page, subfile_type, 0) == 0;
  });
  const auto read = std::count_if(pages.begin(), pages.end(), [](const Page& page) { return !ignored(page); });
  if (read < 2) return true;  // the first page alone is read
  const auto last = std::find_if(pages.rbegin(), pages.rend(), [](const Page& page) { return !ignored(page); });
  return pages.rend() - last <= (whole > 0 ? whole : read);
}

}  // namespace

void check_tiff_pages(const std::string& path) {
  const auto pages = TiffFile(path).pages();
  if (!has_room(pages))
    throw InputError(fmt::format(
        "'{}' mixes pages of several kinds (previews, masks); write the slices alone to a file, or to one each", path));
  for (std::size_t n = 1; n < pages.size(); ++n) {
    if (ignored(pages[n])) continue;
    for (const auto& [tag, name] : {std::pair(width, "width"),
                                    {height, "height"},
                                    {bits, "bits a value"},
                                    {samples, "values a pixel"},
                                    {format, "sample format"}})
      if (const auto found = value_of(pages[n], tag, 1), first = value_of(pages[0], tag, 1); found != first)
        throw InputError(
            fmt::format("'{}': page {} has {} {}, page 1 has {}; all slices must be of one kind: write those that "
                        "belong together to a file, or to one each",
                        path, n + 1, name, found, first));
  }
}

}  // namespace halocline
