#include "apps/report/curve_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/encoding.hpp"

namespace halocline {
namespace {

constexpr double width = 560, height = 320, left = 84, right = 544, top = 30, bottom = 262;

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
constexpr const char* style_of_a_file = R"(<style>
text { fill: #1c2330; } .grid { stroke: #d8dde5; } .axis { stroke: #5d6878; fill: none; } .dot { fill: #0b66c3; }
.curve { stroke: #0b66c3; stroke-width: 2; fill: none; stroke-linejoin: round; }
</style>
<rect width="560" height="320" fill="white"/>
)";

std::string axes_svg(const Curve& curve, const Axis& x, const Axis& y) {
  std::string svg;
  for (const Tick& tick : ticks_of(x)) {
    const double at = left + tick.place * (right - left);
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>", at, top, bottom);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", at, bottom + 18, tick.text);
  }
  for (const Tick& tick : ticks_of(y)) {
    const double at = bottom - tick.place * (bottom - top);
    svg += fmt::format("<line class=\"grid\" x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/>", at, left, right);
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 8, at + 4, tick.text);
  }
  svg += fmt::format("<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n", left, top, bottom, right);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (left + right) / 2, bottom + 42,
                     html_escaped(curve.x_title));
  const double middle = (top + bottom) / 2;
  svg += fmt::format("<text transform=\"rotate(-90)\" x=\"{}\" y=\"18\" text-anchor=\"middle\">{}</text>\n", -middle,
                     html_escaped(curve.y_title));
  return svg;
}

// An element with these attributes and this beginning.
std::string element_of(const Curve& curve, const char* attributes, const char* beginning) {
  std::vector<double> xs, ys;
  const auto fits = [](double value, bool log) { return std::isfinite(value) && (!log || value > 0); };
  for (std::size_t n = 0; n < std::min(curve.x.size(), curve.y.size()); ++n)
    if (fits(curve.x[n], curve.log_x) && fits(curve.y[n], curve.log_y)) {
      xs.push_back(curve.x[n]);
      ys.push_back(curve.y[n]);
    }
  const Axis x = axis_of(xs, curve.log_x, true), y = axis_of(ys, curve.log_y, false);
  std::string svg = fmt::format("<svg{} viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} over {}\">\n{}", attributes,
                                width, height, html_escaped(curve.y_title), html_escaped(curve.x_title), beginning);
  svg += axes_svg(curve, x, y);
  std::string line, dots;
  constexpr std::size_t most_dots = 100;
  for (std::size_t n = 0; n < xs.size(); ++n) {
    const double across = left + x.place(xs[n]) * (right - left), down = bottom - y.place(ys[n]) * (bottom - top);
    line += fmt::format("{}{:.1f} {:.1f}", n == 0 ? "M" : "L", across, down);
    if (xs.size() <= most_dots)
      dots += fmt::format(
          "<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{:.6g}: {:.4g}</title></circle>\n", across,
          down, xs[n], ys[n]);
  }
  if (xs.empty())
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no values</text>\n", (left + right) / 2,
                       (top + bottom) / 2);
  else
    svg += fmt::format("<path class=\"curve\" d=\"{}\"/>\n{}", line, dots);
  return svg + "</svg>\n";
}

}  // namespace

std::string curve_svg(const Curve& curve) {
  return element_of(curve, "", "");
}

std::string curve_svg_file(const Curve& curve) {
  return element_of(curve, attributes_of_a_file, style_of_a_file);
}

}  // namespace halocline
