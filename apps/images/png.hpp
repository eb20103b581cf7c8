// 8-bit grey PNG files, for previews.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halocline {

/// Grey values, row by row from the top: pixel (column, row) is pixels[column + width * row].
struct GreyImage {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// The bytes of a PNG file. Throws InputError if the image is empty or larger than PNG allows.
std::string encode_png(const GreyImage& image);

/// Writes a PNG file atomically. Throws InputError or FileError like write_file_atomically.
void write_png(const GreyImage& image, const std::string& path);

}  // namespace halocline
