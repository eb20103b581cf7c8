#include "apps/drawing/convergence_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/drawing/line_drawing.hpp"

namespace halocline {
namespace {

constexpr std::size_t plot_width = 800, plot_height = 500;
constexpr double plot_left = 110, plot_right = 770, plot_top = 40, plot_bottom = 440;
constexpr int grid_grey = 200;

// Of 1, 2 and 5 times a power of ten, the least that divides `range` into at most eight parts.
double tick_of(double range) {
  const double rough = range / 8, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

struct Axes {
  double last_x = 1;
  int low = -1, high = 0;  // powers of ten

  Point at(double x, double log_y) const {
    return {plot_left + (plot_right - plot_left) * x / last_x,
            plot_bottom - (plot_bottom - plot_top) * (log_y - low) / (high - low)};
  }
};

Axes axes_of(const std::vector<PlotPoint>& points) {
  Axes axes;
  if (points.empty()) return axes;
  double low = std::log10(points.front().y), high = low;
  axes.last_x = 0;
  for (const PlotPoint& point : points) {
    axes.last_x = std::max(axes.last_x, point.x);
    low = std::min(low, std::log10(point.y));
    high = std::max(high, std::log10(point.y));
  }
  axes.low = static_cast<int>(std::floor(low));
  axes.high = std::max(axes.low + 1, static_cast<int>(std::ceil(high)));
  return axes;
}

void draw_axes(LineDrawing& drawing, const Axes& axes, const std::string& x_title, const std::string& y_title) {
  const int step = std::max(1, (axes.high - axes.low + 7) / 8);
  for (int power = axes.low; power <= axes.high; power += step) {
    const Point from = axes.at(0, power), to = axes.at(axes.last_x, power);
    drawing.line(from, to, grid_grey, 1);
    const std::string text = fmt::format("1E{}", power);
    drawing.text({from[0] - 10 - LineDrawing::text_width(text), from[1] - 8}, text, black);
  }
  const double tick = tick_of(axes.last_x);
  for (double x = 0; x <= axes.last_x * (1 + 1e-9); x += tick) {
    const Point from = axes.at(x, axes.low), to = axes.at(x, axes.high);
    drawing.line(from, to, grid_grey, 1);
    const std::string text = fmt::format("{:g}", x);
    drawing.text({from[0] - LineDrawing::text_width(text) / 2, from[1] + 10}, text, black);
  }
  drawing.text({(plot_left + plot_right - LineDrawing::text_width(x_title)) / 2, plot_bottom + 35}, x_title, black);
  drawing.text({plot_left, plot_top - 28}, y_title, black);
}

}  // namespace

GreyImage convergence_plot(const std::vector<PlotPoint>& points, const std::string& x_title,
                           const std::string& y_title) {
  std::vector<PlotPoint> shown;
  for (const PlotPoint& point : points)
    if (point.y > 0 && std::isfinite(point.y) && point.x > 0) shown.push_back(point);
  LineDrawing drawing(plot_width, plot_height);
  const Axes axes = axes_of(shown);
  draw_axes(drawing, axes, x_title, y_title);
  for (std::size_t n = 0; n < shown.size(); ++n) {
    const Point now = axes.at(shown[n].x, std::log10(shown[n].y));
    drawing.disc(now, 3, black);
    if (n > 0) drawing.line(axes.at(shown[n - 1].x, std::log10(shown[n - 1].y)), now, black, 2);
  }
  return drawing.image();
}

}  // namespace halocline
