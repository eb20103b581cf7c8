#include "apps/report/curve_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/encoding.hpp"

namespace halocline {
namespace {

constexpr double page_width = 560, page_height = 320, frame_left = 84, frame_right = 544, frame_top = 30,
                 frame_bottom = 262;

struct Axis {
  bool log = false;
  double low = 0, high = 1;  // limits of the logarithms, if it is logarithmic

  double place(double value) const { return ((log ? std::log10(value) : value) - low) / (high - low); }
};

// The least of 1, 2 and 5 times a power of ten that divides `range` into at most six parts.
double tick_of(double range) {
  const double rough = range / 6, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

Axis axis_of(const std::vector<double>& values, bool log, bool from_zero) {
  Axis axis{log, 0, 1};
  if (values.empty()) return axis;
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  if (log) {
    axis.low = std::floor(std::log10(*least) + 1e-9);
    axis.high = std::max(axis.low + 1, std::ceil(std::log10(*greatest) - 1e-9));
    return axis;
  }
  axis.low = from_zero ? std::min(0.0, *least) : *least;
  axis.high = *greatest;
  if (!(axis.high > axis.low)) axis.high = axis.low + std::max(1.0, std::abs(axis.low));
  if (from_zero) return axis;
  const double tick = tick_of(axis.high - axis.low);
  axis.low = std::floor(axis.low / tick + 1e-9) * tick;
  axis.high = std::ceil(axis.high / tick - 1e-9) * tick;
  return axis;
}

struct Tick {
  double place;  // 0 to 1
  std::string text;
};

std::string power_of_ten(int power) {
  static const char* const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (power == 0) return "1";
  if (power == 1) return "10";
  std::string text = power < 0 ? "10⁻" : "10";
  for (const char c : std::to_string(std::abs(power))) text += digits[c - '0'];
  return text;
}

std::vector<Tick> ticks_of(const Axis& axis) {
  std::vector<Tick> ticks;
  if (axis.log) {
    const int low = static_cast<int>(axis.low), high = static_cast<int>(axis.high);
    const int step = std::max(1, (high - low + 6) / 7);
    for (int power = low; power <= high; power += step)
      ticks.push_back({(power - axis.low) / (axis.high - axis.low), power_of_ten(power)});
    return ticks;
  }
  const double tick = tick_of(axis.high - axis.low);
  for (double n = std::ceil(axis.low / tick - 1e-9); n * tick <= axis.high + 1e-9 * tick; ++n)
    ticks.push_back({(n * tick - axis.low) / (axis.high - axis.low), fmt::format("{:.6g}", n * tick + 0.0)});
  return ticks;
}

// The colours of report_page.css.
constexpr const char* attributes_of_a_file =
    R"( xmlns="http://www.w3.org/2000/svg" width="840" height="480" font-family="system-ui, sans-serif" font-size="13")";
constexpr const char* style_rules = R"(<style>
text { fill: #1c2330; } .grid { stroke: #d8dde5; } .axis { stroke: #5d6878; fill: none; } .dot { fill: #0b66c3; }
.curve { stroke: #0b66c3; stroke-width: 2; fill: none; stroke-linejoin: round; }
</style>
)";
constexpr const char* white_ground = R"(<rect width="560" height="320" fill="white"/>
)";

std::string axes_svg(const Curve& curve, const Axis& x, const Axis& y) {
  std::string svg;
  for (const Tick& tick : ticks_of(x)) {
    const double at = frame_left + tick.place * (frame_right - frame_left);
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>", at, frame_top,
                       frame_bottom);
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", at, frame_bottom + 18, tick.text);
  }
  for (const Tick& tick : ticks_of(y)) {
    const double at = frame_bottom - tick.place * (frame_bottom - frame_top);
    svg += fmt::format("<line class=\"grid\" x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/>", at, frame_left,
                       frame_right);
    svg +=
        fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", frame_left - 8, at + 4, tick.text);
  }
  svg +=
      fmt::format("<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n", frame_left, frame_top, frame_bottom, frame_right);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (frame_left + frame_right) / 2,
                     frame_bottom + 42, html_escaped(curve.x_title));
  const double middle = (frame_top + frame_bottom) / 2;
  svg += fmt::format("<text transform=\"rotate(-90)\" x=\"{}\" y=\"18\" text-anchor=\"middle\">{}</text>\n", -middle,
                     html_escaped(curve.y_title));
  return svg;
}

struct Points {
  std::vector<double> x, y;
};

// The points that can be shown on these axes.
Points points_of(const Curve& curve, const Curve& axes) {
  const auto fits = [](double value, bool log) { return std::isfinite(value) && (!log || value > 0); };
  Points points;
  for (std::size_t n = 0; n < std::min(curve.x.size(), curve.y.size()); ++n)
    if (fits(curve.x[n], axes.log_x) && fits(curve.y[n], axes.log_y)) {
      points.x.push_back(curve.x[n]);
      points.y.push_back(curve.y[n]);
    }
  return points;
}

// Colours of several curves in one picture (M. Okabe & K. Ito, 2008: they differ for colour-blind readers, too).
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"};

// The colour, and dashes after all colours.
std::string style_of_curve(std::size_t number) {
  const std::size_t turn = number / std::size(colours);
  return fmt::format(" style=\"stroke:{}{}\"", colours[number % std::size(colours)],
                     turn == 0 ? "" : fmt::format(";stroke-dasharray:{} 4", 4 * turn));
}

struct Legend {
  std::string svg;
  double down = 12;  // where it ends
};

// Names of the curves from left to right, as lines of this width.
Legend legend_of(const std::vector<Curve>& curves, double across) {
  constexpr double letter = 7.5, key = 24, line = 20;  // a letter's width is a guess on the safe side
  Legend legend;
  double at = across;
  for (std::size_t n = 0; n < curves.size(); ++n) {
    const double wide = key + 24 + letter * static_cast<double>(curves[n].title.size());
    if (at + wide > across) {
      at = frame_left;
      legend.down += line;
    }
    legend.svg += fmt::format("<path class=\"curve\"{} d=\"M{} {}h{}\"/>", style_of_curve(n), at, legend.down - 4, key);
    legend.svg +=
        fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", at + key + 6, legend.down, html_escaped(curves[n].title));
    at += wide;
  }
  return legend;
}

std::string line_svg(const Points& points, const Axis& x, const Axis& y, const std::string& style) {
  std::string line, dots;
  constexpr std::size_t most_dots = 100;
  const std::string fill = style.empty() ? "" : " style=\"fill:" + style.substr(style.find('#'), 7) + "\"";
  for (std::size_t n = 0; n < points.x.size(); ++n) {
    const double across = frame_left + x.place(points.x[n]) * (frame_right - frame_left),
                 down = frame_bottom - y.place(points.y[n]) * (frame_bottom - frame_top);
    line += fmt::format("{}{:.1f} {:.1f}", n == 0 ? "M" : "L", across, down);
    if (points.x.size() <= most_dots)
      dots += fmt::format(
          "<circle class=\"dot\"{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{:.6g}: {:.4g}</title></circle>\n", fill,
          across, down, points.x[n], points.y[n]);
  }
  return line.empty() ? "" : fmt::format("<path class=\"curve\"{} d=\"{}\"/>\n{}", style, line, dots);
}

// Contents of an element: the axes of the first curve, and all curves.
std::string picture_svg(const std::vector<Curve>& curves) {
  const Curve& first = curves.front();
  std::vector<Points> points;
  Points all;
  for (const Curve& curve : curves) {
    points.push_back(points_of(curve, first));
    all.x.insert(all.x.end(), points.back().x.begin(), points.back().x.end());
    all.y.insert(all.y.end(), points.back().y.begin(), points.back().y.end());
  }
  const Axis x = axis_of(all.x, first.log_x, true), y = axis_of(all.y, first.log_y, false);
  std::string svg = axes_svg(first, x, y);
  if (all.x.empty())
    return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no values</text>\n",
                             (frame_left + frame_right) / 2, (frame_top + frame_bottom) / 2);
  for (std::size_t n = 0; n < curves.size(); ++n)
    svg += line_svg(points[n], x, y, curves.size() == 1 ? "" : style_of_curve(n));
  return svg;
}

// An element with these attributes and this beginning.
std::string element_of(const Curve& curve, const char* attributes, const std::string& beginning) {
  return fmt::format("<svg{} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} over {}\">\n{}{}</svg>\n", attributes,
                     page_width, page_height, html_escaped(curve.y_title), html_escaped(curve.x_title), beginning,
                     picture_svg({curve}));
}

}  // namespace

std::string curve_svg(const Curve& curve) {
  return element_of(curve, "", "");
}

std::string curve_svg_file(const Curve& curve) {
  return element_of(curve, attributes_of_a_file, std::string(style_rules) + white_ground);
}

std::string curves_svg_file(const std::vector<std::vector<std::vector<Curve>>>& rows) {
  std::size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  const double across = page_width * static_cast<double>(columns);
  const Legend legend = legend_of(rows.front().front(), across);
  const double down = legend.down + page_height * static_cast<double>(rows.size());
  std::string pictures = legend.svg;
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t column = 0; column < rows[row].size(); ++column)
      pictures += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", page_width * static_cast<double>(column),
                              legend.down + page_height * static_cast<double>(row), picture_svg(rows[row][column]));
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n{2}"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{3}</svg>\n",
      across, down, style_rules, pictures);
}

}  // namespace halocline
