#include "apps/drawing/line_drawing.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

namespace halocline {
namespace {

// Five columns of seven pixels each, the lowest bit on top.
struct Letter {
  char name;
  std::array<unsigned char, 5> columns;
};
constexpr Letter letters[] = {
    {'0', {0x3E, 0x51, 0x49, 0x45, 0x3E}}, {'1', {0x00, 0x42, 0x7F, 0x40, 0x00}}, {'2', {0x42, 0x61, 0x51, 0x49, 0x46}},
    {'3', {0x21, 0x41, 0x45, 0x4B, 0x31}}, {'4', {0x18, 0x14, 0x12, 0x7F, 0x10}}, {'5', {0x27, 0x45, 0x45, 0x45, 0x39}},
    {'6', {0x3C, 0x4A, 0x49, 0x49, 0x30}}, {'7', {0x01, 0x71, 0x09, 0x05, 0x03}}, {'8', {0x36, 0x49, 0x49, 0x49, 0x36}},
    {'9', {0x06, 0x49, 0x49, 0x29, 0x1E}}, {'A', {0x7E, 0x11, 0x11, 0x11, 0x7E}}, {'B', {0x7F, 0x49, 0x49, 0x49, 0x36}},
    {'C', {0x3E, 0x41, 0x41, 0x41, 0x22}}, {'D', {0x7F, 0x41, 0x41, 0x22, 0x1C}}, {'E', {0x7F, 0x49, 0x49, 0x49, 0x41}},
    {'F', {0x7F, 0x09, 0x09, 0x09, 0x01}}, {'G', {0x3E, 0x41, 0x49, 0x49, 0x7A}}, {'H', {0x7F, 0x08, 0x08, 0x08, 0x7F}},
    {'I', {0x00, 0x41, 0x7F, 0x41, 0x00}}, {'J', {0x20, 0x40, 0x41, 0x3F, 0x01}}, {'K', {0x7F, 0x08, 0x14, 0x22, 0x41}},
    {'L', {0x7F, 0x40, 0x40, 0x40, 0x40}}, {'M', {0x7F, 0x02, 0x0C, 0x02, 0x7F}}, {'N', {0x7F, 0x04, 0x08, 0x10, 0x7F}},
    {'O', {0x3E, 0x41, 0x41, 0x41, 0x3E}}, {'P', {0x7F, 0x09, 0x09, 0x09, 0x06}}, {'Q', {0x3E, 0x41, 0x51, 0x21, 0x5E}},
    {'R', {0x7F, 0x09, 0x19, 0x29, 0x46}}, {'S', {0x46, 0x49, 0x49, 0x49, 0x31}}, {'T', {0x01, 0x01, 0x7F, 0x01, 0x01}},
    {'U', {0x3F, 0x40, 0x40, 0x40, 0x3F}}, {'V', {0x1F, 0x20, 0x40, 0x20, 0x1F}}, {'W', {0x3F, 0x40, 0x38, 0x40, 0x3F}},
    {'X', {0x63, 0x14, 0x08, 0x14, 0x63}}, {'Y', {0x07, 0x08, 0x70, 0x08, 0x07}}, {'Z', {0x61, 0x51, 0x49, 0x45, 0x43}},
    {'.', {0x00, 0x60, 0x60, 0x00, 0x00}}, {',', {0x00, 0x50, 0x30, 0x00, 0x00}}, {':', {0x00, 0x36, 0x36, 0x00, 0x00}},
    {'+', {0x08, 0x08, 0x3E, 0x08, 0x08}}, {'-', {0x08, 0x08, 0x08, 0x08, 0x08}}, {'/', {0x20, 0x10, 0x08, 0x04, 0x02}},
    {'(', {0x00, 0x1C, 0x22, 0x41, 0x00}}, {')', {0x00, 0x41, 0x22, 0x1C, 0x00}}, {'=', {0x14, 0x14, 0x14, 0x14, 0x14}},
    {'%', {0x23, 0x13, 0x08, 0x64, 0x62}},
};

}  // namespace

LineDrawing::LineDrawing(std::size_t width, std::size_t height) {
  image_.width = width;
  image_.height = height;
  image_.pixels.assign(width * height, 255);
}

/// Mixes `grey` into the pixels of a box by how near they are to what is drawn.
template <typename Distance>
void LineDrawing::ink(Point low, Point high, int grey, double width, Distance distance) {
  const auto bound = [](double value, std::size_t size) {
    return static_cast<std::ptrdiff_t>(std::clamp(value, 0.0, static_cast<double>(size)));
  };
  for (std::ptrdiff_t row = bound(low[1] - width - 1, image_.height); row < bound(high[1] + width + 2, image_.height);
       ++row)
    for (std::ptrdiff_t column = bound(low[0] - width - 1, image_.width);
         column < bound(high[0] + width + 2, image_.width); ++column) {
      const double d = distance(static_cast<double>(column), static_cast<double>(row));
      const double cover = std::clamp(0.5 * width + 0.5 - d, 0.0, 1.0);
      auto& pixel = image_.pixels[static_cast<std::size_t>(column) + image_.width * static_cast<std::size_t>(row)];
      pixel = static_cast<std::uint8_t>(std::lround(pixel + cover * (grey - pixel)));
    }
}

void LineDrawing::line(Point a, Point b, int grey, double width) {
  const double dx = b[0] - a[0], dy = b[1] - a[1], square = dx * dx + dy * dy;
  ink({std::min(a[0], b[0]), std::min(a[1], b[1])}, {std::max(a[0], b[0]), std::max(a[1], b[1])}, grey, width,
      [&](double x, double y) {
        const double t = square > 0 ? std::clamp(((x - a[0]) * dx + (y - a[1]) * dy) / square, 0.0, 1.0) : 0;
        return std::hypot(x - a[0] - t * dx, y - a[1] - t * dy);
      });
}

void LineDrawing::dashed(Point a, Point b, int grey, double width) {
  const double length = std::hypot(b[0] - a[0], b[1] - a[1]);
  for (double at = 0; at < length; at += 14) {
    const double from = at / length, to = std::min(1.0, (at + 8) / length);
    line({a[0] + from * (b[0] - a[0]), a[1] + from * (b[1] - a[1])},
         {a[0] + to * (b[0] - a[0]), a[1] + to * (b[1] - a[1])}, grey, width);
  }
}

void LineDrawing::circle(Point c, double radius, int grey, double width) {
  ink({c[0] - radius, c[1] - radius}, {c[0] + radius, c[1] + radius}, grey, width,
      [&](double x, double y) { return std::abs(std::hypot(x - c[0], y - c[1]) - radius); });
}

void LineDrawing::disc(Point c, double radius, int grey) {
  ink({c[0] - radius, c[1] - radius}, {c[0] + radius, c[1] + radius}, grey, 0,
      [&](double x, double y) { return std::hypot(x - c[0], y - c[1]) - radius; });
}

void LineDrawing::text(Point at, const std::string& text, int grey, bool small) {
  const double step_x = small ? 1.4 : 2, step_y = small ? 1.4 : 2;
  for (const char c : text) {
    const char name = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const Letter& letter : letters) {
      if (letter.name != name) continue;
      for (int column = 0; column < 5; ++column)
        for (int row = 0; row < 7; ++row)
          if ((letter.columns[static_cast<std::size_t>(column)] >> row & 1) != 0) {
            const Point p{at[0] + step_x * column, at[1] + step_y * row};
            ink(p, p, grey, step_x,
                [&](double x, double y) { return std::max(std::abs(x - p[0] - 0.5), std::abs(y - p[1] - 0.5)); });
          }
    }
    at[0] += small ? 8.4 : 12;
  }
}

double LineDrawing::text_width(const std::string& text, bool small) {
  return static_cast<double>(text.size()) * (small ? 8.4 : 12);
}

}  // namespace halocline
