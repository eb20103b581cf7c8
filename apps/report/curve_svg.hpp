// Curves as SVG, for a page or a file.
#pragma once

#include <string>
#include <vector>

namespace halocline {

struct Curve {
  std::string title;             ///< above the picture
  std::string x_title, y_title;  ///< with units
  std::vector<double> x, y;
  bool log_x = false, log_y = false;
};

/// An <svg> element with axes, labels and the curve, in the colours of the text around it. Points that are not finite,
/// or not above 0 on a logarithmic axis, are left out; without any, the picture says so.
std::string curve_svg(const Curve& curve);

/// The element as an SVG file, on white.
std::string curve_svg_file(const Curve& curve);

/// Pictures side by side, row for row, of the same runs, as an SVG file: one or more. The curves of a picture share its
/// axes, whose titles and scales are those of its first curve. The curves' titles in the first picture are the legend.
std::string curves_svg_file(const std::vector<std::vector<std::vector<Curve>>>& rows);

}  // namespace halocline
