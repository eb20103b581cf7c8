#include "algorithms/alignment/find_tilt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "algorithms/geometry/opposite_views.hpp"
#include "algorithms/support/angles.hpp"

namespace halocline {
namespace {

using std::numbers::pi;
constexpr std::size_t most_columns = 256;  // of binned images
constexpr double widest_turn = 5;          // degrees that are tried to each side

/// A line on the detector that the axis may fall on: `shift` mm along u from the geometry's isocentre, turned by `turn`
/// radians more than the geometry says.
struct Line {
  double shift = 0, turn = 0;
};

struct Opposite {
  double angle, u, v;  ///< radians, mm
};

/// The ray opposite to that to (u, v): of a parallel beam the same, of a divergent one that which crosses it nearest to
/// the axis. Its horizontal part as in Kak & Slaney (1988), section 3.4.4; up and down it is as steep.
Opposite opposite_ray(const View& view, double u, double v, const Line& line) {
  const double c = std::cos(view.in_plane_angle * degree + line.turn);
  const double s = std::sin(view.in_plane_angle * degree + line.turn);
  const double px = view.projection_offset_x - line.shift, py = view.projection_offset_y;
  const double from_x = view.parallel() ? 0 : view.source_offset_x, from_y = view.parallel() ? 0 : view.source_offset_y;
  // upright, from the source's foot
  const double x = c * (u + px - from_x) - s * (v + py - from_y), y = s * (u + px - from_x) + c * (v + py - from_y);
  double back_x = -x, back_y = y, angle = view.gantry_angle * degree + pi;
  if (!view.parallel()) {
    const double alpha = std::atan2(x, view.sdd), phase = std::atan2(c * from_x - s * from_y, view.sid);
    angle -= 2 * (alpha + phase);
    back_x = view.sdd * std::tan(-alpha - 2 * phase);
    back_y = y * std::hypot(back_x, view.sdd) / std::hypot(x, view.sdd);
  }
  return {angle, from_x - px + c * back_x + s * back_y, from_y - py - s * back_x + c * back_y};
}

/// Rows of the views, binned and smoothed with 1-2-1 along both axes so that interpolation changes the noise little.
class BinnedImages {
 public:
  BinnedImages(const Volume& projections, std::size_t first_row, std::size_t rows, std::array<std::size_t, 2> bin)
      : projections_(projections), first_row_(first_row), bin_(bin), views_(projections.grid.size[2]) {
    const Grid& grid = projections.grid;
    size = {grid.size[0] / bin[0], rows / bin[1]};
    for (int axis = 0; axis < 2; ++axis) {
      const double first =
          (axis == 1 ? static_cast<double>(first_row) : 0) + 0.5 * (static_cast<double>(bin[axis]) - 1);
      spacing[axis] = grid.spacing[axis] * static_cast<double>(bin[axis]);
      origin[axis] = grid.origin[axis] + grid.spacing[axis] * first;
    }
  }
  /// Views as [row * columns + column], computed on first use.
  const std::vector<float>& view(std::size_t n) {
    std::vector<float>& out = views_[n];
    if (!out.empty()) return out;
    std::vector<float> binned(size[0] * size[1]);
    const float share = 1 / static_cast<float>(bin_[0] * bin_[1]);
    for (std::size_t j = 0; j < size[1] * bin_[1]; ++j)
      for (std::size_t i = 0; i < size[0] * bin_[0]; ++i)
        binned[j / bin_[1] * size[0] + i / bin_[0]] += share * projections_.at(i, first_row_ + j, n);
    out = smooth(smooth(binned, 1, size[0]), size[0], size[1]);
    return out;
  }
  std::array<std::size_t, 2> size;
  std::array<double, 2> origin, spacing;  ///< mm

 private:
  std::vector<float> smooth(const std::vector<float>& in, std::size_t stride, std::size_t count) const {
    std::vector<float> out(in.size());
    for (std::size_t n = 0; n < in.size(); ++n) {
      const std::size_t at = n / stride % count;
      out[n] = 0.25f * (in[at == 0 ? n : n - stride] + 2 * in[n] + in[at + 1 == count ? n : n + stride]);
    }
    return out;
  }
  const Volume& projections_;
  std::size_t first_row_;
  std::array<std::size_t, 2> bin_;
  std::vector<std::vector<float>> views_;
};

/// Sums over pixels of the products of what (shift, turn) change in one image and in another.
struct Square {
  double ss = 0, st = 0, tt = 0;
  void add(const Square& other, double weight) {
    ss += weight * other.ss;
    st += weight * other.st;
    tt += weight * other.tt;
  }
  /// Sum of the turn, less `slope` of the shift.
  double turn(double slope) const { return tt - 2 * slope * st + slope * slope * ss; }
};

/// Contribution of a block (rows of some views) to the fit of (shift, turn), as sums. With the gradient of one image
/// alone squared, noise would be taken for structure; that of the opposite image has other noise (instrumental
/// variables).
struct Block {
  Square both, own;  ///< gradients of an image times those of the opposite one, and times its own
  double sf = 0, tf = 0;
  double difference = 0, power = 0;
  double screw = 0;  ///< sum of |y du/dturn dp/dv|: what the even part of a cone's error acts on
};

struct Fit {
  double shift = 0, turn = 0, deviation = 0, screw = 0;
};

class TiltComparison {
 public:
  /// mirror_y: height of the row about which the rows are symmetric, from the isocentre, mm; a Line has its shift
  /// there.
  TiltComparison(const Geometry& geometry, BinnedImages& images, double mirror_y)
      : geometry_(geometry), images_(images), circle_(geometry), mirror_y_(mirror_y) {
    std::vector<std::size_t> half;  // of each pair one
    for (const std::size_t n : opposed_views(geometry)) {
      const double angle = std::fmod(geometry.views[n].gantry_angle, 360);
      if ((angle < 0 ? angle + 360 : angle) < 180) half.push_back(n);
    }
    for (const std::size_t n : spread(half.size(), 60)) base_.push_back(half[n]);
    std::sort(base_.begin(), base_.end(), [&](std::size_t a, std::size_t b) {
      return geometry.views[a].gantry_angle < geometry.views[b].gantry_angle;
    });
  }
  std::size_t pairs() const { return base_.size(); }

  /// at.shift: where the axis crosses the mirror row.
  std::vector<Block> blocks(const Line& at, std::size_t bands, std::size_t sectors) {
    std::vector<Block> out(bands * sectors);
    for (std::size_t b = 0; b < base_.size(); ++b)
      for (std::size_t j = 1; j + 1 < images_.size[1]; ++j)
        add_row(base_[b], j, at, out[(j - 1) * bands / (images_.size[1] - 2) * sectors + b * sectors / base_.size()]);
    return out;
  }
  double score(const Line& at) {
    const Block all = blocks(at, 1, 1).front();
    return all.power > 0 ? all.difference / all.power : HUGE_VAL;
  }
  /// The line with its shift at the isocentre.
  Line at_isocentre(const Line& line) const {
    return {line.shift - mirror_y_ * std::tan(geometry_.views.front().in_plane_angle * degree + line.turn), line.turn};
  }

 private:
  void add_row(std::size_t n, std::size_t j, const Line& at, Block& block) {
    const View& view = geometry_.views[n];
    const auto& size = images_.size;
    const auto& step = images_.spacing;
    const std::vector<float>& p = images_.view(n);
    const Line line = at_isocentre(at);
    const double twice = 2 * (view.in_plane_angle * degree + line.turn);
    const double mirror_c = std::cos(twice), mirror_s = std::sin(twice);  // of the mirror image's gradient
    const double v = images_.origin[1] + step[1] * static_cast<double>(j), y = v + view.projection_offset_y - mirror_y_;
    for (std::size_t i = 1; i + 1 < size[0]; ++i) {
      const double u = images_.origin[0] + step[0] * static_cast<double>(i);
      const double x = u + view.projection_offset_x - at.shift;
      const Opposite there = opposite_ray(view, u, v, line);
      const double column = (there.u - images_.origin[0]) / step[0], row = (there.v - images_.origin[1]) / step[1];
      if (!(column >= 1 && column <= static_cast<double>(size[0] - 2))) continue;
      if (!(row >= 1 && row <= static_cast<double>(size[1] - 2))) continue;
      ViewCircle::Between between{};
      if (!circle_.find(there.angle, between)) continue;
      const auto back = [&](double to_u, double to_v) {
        const double low = value(between.low, column + to_u, row + to_v);
        if (between.fraction == 0) return low;
        return low + between.fraction * (value(between.high, column + to_u, row + to_v) - low);
      };
      const std::size_t here = j * size[0] + i;
      const double q = back(0, 0), f = p[here] - q;
      const double p_u = (p[here + 1] - p[here - 1]) / (2 * step[0]);
      const double p_v = (p[here + size[0]] - p[here - size[0]]) / (2 * step[1]);
      const double back_u = (back(1, 0) - back(-1, 0)) / (2 * step[0]);
      const double back_v = (back(0, 1) - back(0, -1)) / (2 * step[1]);
      const double q_u = -mirror_c * back_u + mirror_s * back_v, q_v = mirror_s * back_u + mirror_c * back_v;
      const double p_s = 2 * p_u, p_t = 2 * (y * p_u - x * p_v);
      const double q_s = 2 * q_u, q_t = 2 * (y * q_u - x * q_v);
      block.both.add({p_s * q_s, 0.5 * (p_s * q_t + p_t * q_s), p_t * q_t}, 1);
      block.own.add({p_s * p_s, p_s * p_t, p_t * p_t}, 1);
      block.sf += p_s * f;
      block.tf += p_t * f;
      block.difference += f * f;
      block.power += p[here] * p[here] + q * q;
      block.screw += 2 * y * y * std::abs(p_u * q_v + q_u * p_v);
    }
  }
  double value(std::size_t n, double column, double row) {
    const auto& size = images_.size;
    const std::size_t i = std::min(static_cast<std::size_t>(column), size[0] - 2);
    const std::size_t j = std::min(static_cast<std::size_t>(row), size[1] - 2);
    const double fu = column - static_cast<double>(i), fv = row - static_cast<double>(j);
    const float* at = images_.view(n).data() + j * size[0] + i;
    return (1 - fv) * ((1 - fu) * at[0] + fu * at[1]) + fv * ((1 - fu) * at[size[0]] + fu * at[size[0] + 1]);
  }

  const Geometry& geometry_;
  BinnedImages& images_;
  ViewCircle circle_;
  double mirror_y_;
  std::vector<std::size_t> base_;
};

/// The step of the fit, with Huber's weights for the blocks about their median deviation.
Fit solve(const std::vector<Block>& blocks) {
  std::vector<double> weight(blocks.size(), 1);
  Fit fit;
  for (int pass = 0; pass < 20; ++pass) {
    Square all;
    double sf = 0, tf = 0, screw = 0;
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      all.add(blocks[n].both, weight[n]);
      sf += weight[n] * blocks[n].sf;
      tf += weight[n] * blocks[n].tf;
      screw += weight[n] * blocks[n].screw;
    }
    const double slope = all.st / all.ss, rest = all.turn(slope);  // the part that the shift does not explain
    if (!(all.ss > 0) || !(rest > 1e-9 * all.tt)) return {0, 0, HUGE_VAL, 0};
    fit.turn = -(tf - slope * sf) / rest;
    fit.shift = -(sf + all.st * fit.turn) / all.ss;
    fit.screw = screw / rest;
    std::vector<double> deviation, size;
    double scatter = 0, count = 0;
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      const Block& b = blocks[n];
      const double own = b.own.turn(slope);
      const double left = b.tf - slope * b.sf + fit.shift * (b.both.st - slope * b.both.ss) +
                          fit.turn * (b.both.tt - slope * b.both.st);
      scatter += weight[n] * weight[n] * left * left;
      count += own > 0;
      deviation.push_back(own > 0 ? std::abs(left) / std::sqrt(own) : 0);
      if (own > 0) size.push_back(deviation.back());
    }
    fit.deviation = count > 2 ? std::sqrt(scatter * count / (count - 2)) / rest : HUGE_VAL;
    if (size.empty()) return fit;
    std::nth_element(size.begin(), size.begin() + static_cast<std::ptrdiff_t>(size.size() / 2), size.end());
    const double limit = 1.345 * 1.4826 * size[size.size() / 2];
    for (std::size_t n = 0; n < blocks.size(); ++n) weight[n] = deviation[n] > limit ? limit / deviation[n] : 1;
  }
  return fit;
}

struct RowRange {
  std::size_t first = 0, count = 0;
};

/// Estimates from the rows of that range. `reach`: from the axis to the detector's nearer side, mm.
TiltEstimate tilt_in_rows(const Volume& projections, const Geometry& geometry, double shift, double reach,
                          const RowRange& range) {
  const Grid& grid = projections.grid;
  const View& view = geometry.views.front();
  const auto [row, rows] = range;
  TiltEstimate out;
  const auto cannot = [&](std::string why) {
    out.unknown = std::move(why);
    return out;
  };
  const double mirror_y = geometry.parallel() ? grid.origin[1] + view.projection_offset_y +
                                                    0.5 * grid.spacing[1] * static_cast<double>(rows - 1)
                                              : view.source_offset_y;
  const auto images = [&](std::size_t columns) {
    const std::size_t across = (grid.size[0] + columns - 1) / columns;
    const double pixels = static_cast<double>(across) * grid.spacing[0] / grid.spacing[1];
    const std::size_t most = std::max<std::size_t>(1, rows / 9);  // bands need rows
    return BinnedImages(projections, row, rows,
                        {across, std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(pixels)), 1, most)});
  };

  Line line{shift, 0};
  Fit fit;
  double pixel = 0;
  for (const std::size_t columns : {std::size_t{64}, most_columns}) {
    BinnedImages stack = images(columns);
    TiltComparison comparison(geometry, stack, mirror_y);
    if (comparison.pairs() == 0) return cannot("no view has one opposite to it");
    pixel = stack.spacing[0];
    if (columns == 64) {
      double least = HUGE_VAL;
      for (double turn = -widest_turn; turn <= widest_turn; turn += 0.5) {
        const double score = comparison.score({shift, turn * degree});
        if (score < least) least = score, line.turn = turn * degree;
      }
    }
    const std::size_t bands = std::min<std::size_t>(8, stack.size[1] - 2),
                      sectors = std::min<std::size_t>(8, comparison.pairs());
    if (bands * sectors < 4) return cannot("too few rows and opposite views");
    bool settled = false;
    double before = 0, damping = 1;
    for (int n = 0; n < 25 && !settled; ++n) {
      fit = solve(comparison.blocks(line, bands, sectors));
      if (!std::isfinite(fit.deviation)) return cannot("opposite views show nothing that would tell it");
      // noise between the pixels can make the sums steeper than they say, and full steps go to and fro
      if (fit.turn * before < 0 && std::abs(fit.turn) > 0.5 * std::abs(before)) damping = 0.5;
      before = fit.turn;
      line.shift += damping * fit.shift;
      line.turn += damping * fit.turn;
      settled = std::abs(fit.turn) < 1e-2 * fit.deviation + 1e-5 * degree;
      if (std::abs(line.turn) > 1.2 * widest_turn * degree || std::abs(line.shift - shift) > 0.5 * reach) break;
    }
    if (settled || columns != most_columns) continue;
    if (fit.deviation > widest_turn / 3 * degree)
      return cannot(fmt::format("what opposite views show tells it to no better than {:.0f} degrees",
                                std::ceil(fit.deviation / degree)));
    return cannot(fmt::format("opposite views agree with no turn of up to {:.0f} degrees", widest_turn));
  }
  const double before = view.in_plane_angle * degree;
  out.lever = mirror_y * (std::tan(before) - std::tan(before + line.turn));
  out.shift = line.shift - mirror_y * std::tan(before + line.turn);
  const double depth = geometry.parallel() ? 0 : reach / std::sqrt(3.0) / view.sdd;  // as deep as wide, over the SID
  out.change = line.turn / degree;
  out.uncertainty = std::hypot(fit.deviation, 0.05 * pixel / reach, depth * fit.screw) / degree;
  return out;
}

}  // namespace

bool TiltEstimate::significant() const {
  return unknown.empty() && std::abs(change) > 3 * uncertainty;
}

double tilt_bytes(const Grid& projections, const Geometry& geometry) {
  const auto& size = projections.size;
  const double half_width = 0.5 * static_cast<double>(size[0]) * projections.spacing[0];
  const double near = geometry.parallel() ? HUGE_VAL : 3 + 0.2 * half_width / projections.spacing[1];
  const double rows = std::min(static_cast<double>(size[1]), near);
  const auto across = std::ceil(static_cast<double>(size[0]) / most_columns);
  return sizeof(float) * static_cast<double>(size[0] * size[2]) * rows / across;
}

Geometry with_detector_turned(const Geometry& geometry, double degrees) {
  Geometry out = geometry;
  for (View& view : out.views) view.in_plane_angle += degrees;
  return out;
}

TiltEstimate detector_tilt(const Volume& projections, const Geometry& geometry, double shift) {
  check_axis_stack(projections.grid, geometry);
  const Grid& grid = projections.grid;
  const View& view = geometry.views.front();
  TiltEstimate out;
  const auto cannot = [&](std::string why) {
    out.unknown = std::move(why);
    return out;
  };
  if (std::abs(std::sin(view.in_plane_angle * degree)) > 0.5)
    return cannot("the geometry has the detector's columns far from along the axis");
  if (grid.size[1] < 3) return cannot(fmt::format("that takes 3 detector rows, and there are {}", grid.size[1]));
  const double first = grid.origin[0] + view.projection_offset_x - shift;
  const double reach = std::min(-first, first + grid.spacing[0] * static_cast<double>(grid.size[0] - 1));
  if (!(reach >= 8 * grid.spacing[0])) return cannot("the axis is nearer than 8 columns to the detector's side");
  if (geometry.parallel()) return tilt_in_rows(projections, geometry, shift, reach, {0, grid.size[1]});

  const double middle = middle_row(grid, geometry), half = std::max(1.0, 0.1 * reach / grid.spacing[1]);
  const double low = std::max(0.0, std::ceil(middle - half - 1e-9));
  const double high = std::min(static_cast<double>(grid.size[1]) - 1, std::floor(middle + half + 1e-9));
  if (!(high - low >= 2))
    return cannot("too few detector rows see the source's plane, near which alone opposite rays agree");
  return tilt_in_rows(projections, geometry, shift, reach,
                      {static_cast<std::size_t>(low), static_cast<std::size_t>(high - low) + 1});
}

}  // namespace halocline
