#include "apps/bench/kernel_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/svg_drawing.hpp"

namespace halocline {
namespace {

constexpr double sheet_width = 920, sheet_height = 520, plot_left = 90, plot_right = 620, plot_top = 30,
                 plot_bottom = 450;
constexpr SvgPen grid_pen{"#d8dde5", 1}, limit_pen{"#1c2330", 2};

// A logarithmic axis of whole decades.
struct Decades {
  int low, high;
  Decades(double least, double most)
      : low(static_cast<int>(std::floor(std::log10(least)))),
        high(std::max(low + 1, static_cast<int>(std::ceil(std::log10(most))))) {}
  double place(double value) const { return (std::log10(value) - low) / (high - low); }
};

}  // namespace

double KernelBench::limit(const KernelRate& rate) const {
  return std::min(flop_rate, rate.intensity() * copy_bandwidth);
}

std::string roofline_svg(const KernelBench& bench) {
  double least = bench.flop_rate / bench.copy_bandwidth, most = least, slowest = bench.flop_rate, fastest = slowest;
  for (const KernelRate& rate : bench.rates) {
    least = std::min(least, rate.intensity());
    most = std::max(most, rate.intensity());
    slowest = std::min(slowest, rate.flops());
    fastest = std::max(fastest, rate.flops());
  }
  const Decades x(least, 2 * most), y(slowest, fastest);
  const auto at = [&](double intensity, double flops) {
    return SvgPoint{plot_left + x.place(intensity) * (plot_right - plot_left),
                    plot_bottom - y.place(flops) * (plot_bottom - plot_top)};
  };
  SvgDrawing svg(sheet_width, sheet_height, "Roofline of " + bench.device.name);
  for (int power = x.low; power <= x.high; ++power) {
    const double across = at(std::pow(10.0, power), bench.flop_rate)[0];
    svg.line({across, plot_top}, {across, plot_bottom}, grid_pen);
    svg.text({across - 10, plot_bottom + 20}, fmt::format("{:g}", std::pow(10.0, power)));
  }
  for (int power = y.low; power <= y.high; ++power) {
    const double down = at(1, std::pow(10.0, power))[1];
    svg.line({plot_left, down}, {plot_right, down}, grid_pen);
    svg.text({10, down + 5}, fmt::format("{:g} Gflop/s", std::pow(10.0, power - 9)), 12);
  }
  svg.text({plot_left + 160, plot_bottom + 45}, "operations a byte");
  const double ridge = bench.flop_rate / bench.copy_bandwidth;
  // the copy's limit from where it enters the picture
  const double enters = std::max(std::pow(10.0, x.low), std::pow(10.0, y.low) / bench.copy_bandwidth);
  svg.line(at(enters, enters * bench.copy_bandwidth), at(ridge, bench.flop_rate), limit_pen);
  svg.line(at(ridge, bench.flop_rate), at(std::pow(10.0, x.high), bench.flop_rate), limit_pen);
  double line = plot_top + 12;
  svg.text({plot_right + 15, line},
           fmt::format("copy {:.4g} GB/s, peak {:.4g} Gflop/s", 1e-9 * bench.copy_bandwidth, 1e-9 * bench.flop_rate),
           11);
  for (std::size_t n = 0; n < bench.rates.size(); ++n) {
    const KernelRate& rate = bench.rates[n];
    const SvgPoint point = at(rate.intensity(), rate.flops());
    const std::string number = std::to_string(n + 1);
    svg.disc(point, 4, "#0b66c3");
    svg.text({point[0] + 6, point[1] - 4}, number, 11);
    svg.text({plot_right + 15, line += 16},
             fmt::format("{}: {} {}, {}", number, rate.form.method, form_name(rate.form), rate.kernel), 11);
  }
  return svg.file();
}

}  // namespace halocline
