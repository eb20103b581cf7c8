// Lines, circles and text as an SVG file.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace halocline {

using SvgPoint = std::array<double, 2>;  ///< pixels to the right and downwards

struct SvgPen {
  std::string_view colour;
  double width = 1.5;
  bool dashed = false;
};

class SvgDrawing {
 public:
  /// A white sheet. title: for those who cannot see it.
  SvgDrawing(double width, double height, std::string_view title);

  void line(const SvgPoint& a, const SvgPoint& b, const SvgPen& pen);
  void circle(const SvgPoint& centre, double radius, const SvgPen& pen);
  void disc(const SvgPoint& centre, double radius, std::string_view colour);
  /// Begins at `at`, which is on its base line.
  void text(const SvgPoint& at, std::string_view text, double size = 14);
  /// The whole file.
  std::string file() const { return svg_ + "</svg>\n"; }

 private:
  std::string svg_;
};

}  // namespace halocline
