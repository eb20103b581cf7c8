// Lines, circles and capital letters on a grey image.
#pragma once

#include <array>
#include <string>

#include "apps/images/png.hpp"

namespace halocline {

constexpr int black = 0;              ///< as a grey value
using Point = std::array<double, 2>;  ///< column, row in pixels, rows downwards

class LineDrawing {
 public:
  /// All white.
  LineDrawing(std::size_t width, std::size_t height);
  /// A line `width` pixels wide, smoothed at its edges. 0 is black.
  void line(Point a, Point b, int grey, double width = 1.5);
  void dashed(Point a, Point b, int grey, double width = 1.5);
  void circle(Point centre, double radius, int grey, double width = 1.5);
  void disc(Point centre, double radius, int grey);
  /// Capital letters, digits and .,:+-/()=% in a cell of 12 x 16 pixels each (8 x 10 if small) from the upper left
  /// corner `at`; others become blanks.
  void text(Point at, const std::string& text, int grey, bool small = false);
  /// How wide a text is, pixels.
  static double text_width(const std::string& text, bool small = false);
  const GreyImage& image() const { return image_; }

 private:
  template <typename Distance>
  void ink(Point low, Point high, int grey, double width, Distance distance);
  GreyImage image_;
};

}  // namespace halocline
