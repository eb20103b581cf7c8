#include "apps/images/png.hpp"

#include <fmt/format.h>
#include <png.h>

#include "apps/images/atomic_file.hpp"
#include "host/system/error.hpp"

namespace halocline {

std::string encode_png(const GreyImage& image) {
  constexpr std::size_t limit = 1 << 20;
  if (image.width == 0 || image.height == 0 || image.width > limit || image.height > limit ||
      image.pixels.size() != image.width * image.height)
    throw InputError(fmt::format("a preview of {} x {} pixels cannot be stored as PNG; sizes from 1 to {} can",
                                 image.width, image.height, limit));
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_GRAY;
  // libpng's bound on the size holds for every image, so that one pass is enough
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string out(bytes, '\0');
  const int good = png_image_write_to_memory(&header, out.data(), &bytes, 0, image.pixels.data(), 0, nullptr);
  const std::string message = header.message;
  png_image_free(&header);
  if (good == 0) throw Error(fmt::format("libpng could not encode a preview: {}", message));
  out.resize(bytes);
  return out;
}

void write_png(const GreyImage& image, const std::string& path) {
  const std::string bytes = encode_png(image);
  write_file_atomically(
      path, [&](std::ostream& out) { out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); });
}

}  // namespace halocline
