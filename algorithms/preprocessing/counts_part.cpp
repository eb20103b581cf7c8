#include "algorithms/preprocessing/counts_part.hpp"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/preprocessing/bad_pixels.hpp"
#include "host/interrupt.hpp"
#include "host/thread_pool.hpp"

namespace halocline {
namespace {

using std::fma;
using std::fmax;
using std::log;
#include "cl/counts.clh"

bool is_bad(const CountsCalibration::Pixel& pixel) {
  return pixel.left != 0 || pixel.right != 0;
}

/// Calls visit(bin, pixel) for the pixels of the part's bins, a bin after the other.
template <class Visit>
void for_each_pixel(const ProjectionPart& part, std::size_t columns, Visit visit) {
  const auto& [views, first, size, bin] = part;
  for (std::size_t v = 0, n = 0; v < size[1] / bin[1]; ++v)
    for (std::size_t u = 0; u < size[0] / bin[0]; ++u, ++n)
      for (std::size_t j = 0; j < bin[1]; ++j)
        for (std::size_t i = 0; i < bin[0]; ++i)
          visit(n, columns * (first[1] + v * bin[1] + j) + first[0] + u * bin[0] + i);
}

/// A bin of good and bad pixels: the good ones and their weights.
struct MendedBin {
  std::size_t bin = 0;
  std::map<std::size_t, double> weights = {};

  template <class Value>
  double sum(Value value) const {
    double total = 0;
    for (const auto& [at, weight] : weights) total += weight * value(at);
    return total;
  }
};

std::vector<MendedBin> mended_bins(const CountsCalibration& whole, const ProjectionPart& part) {
  std::vector<MendedBin> mended;
  MendedBin bin;
  bool good = false, bad = false;
  const auto finish = [&] {
    double sum = 0, squares = 0;
    for (const auto& [at, weight] : bin.weights) sum += weight, squares += weight * weight;
    for (auto& [at, weight] : bin.weights) weight *= sum / squares;
    if (good && bad) mended.push_back(std::move(bin));
  };
  for_each_pixel(part, whole.size[0], [&](std::size_t n, std::size_t at) {
    if (n != bin.bin) {
      finish();
      bin = {n};
      good = bad = false;
    }
    const auto& [dark, open, left, right] = whole.pixels[at];
    const auto add = [&](float steps, double weight) {
      bin.weights[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) + static_cast<std::ptrdiff_t>(steps))] +=
          weight;
    };
    const double share = counts_share(left, right);
    add(left, 1 - share);
    if (share > 0) add(right, share);
    (is_bad(whole.pixels[at]) ? bad : good) = true;
  });
  finish();
  return mended;
}

}  // namespace

CountsCalibration part_calibration(const CountsCalibration& whole, const ProjectionPart& part,
                                   const std::string& name) {
  CountsCalibration out = whole.of_views(part.views);
  for (int axis = 0; axis < 2; ++axis) out.size[axis] = part.size[axis] / part.bin[axis];
  const std::size_t bins = out.size[0] * out.size[1];
  std::vector<double> dark(bins), open(bins);
  std::vector<char> bad(bins, 1);
  for_each_pixel(part, whole.size[0], [&](std::size_t n, std::size_t at) {
    dark[n] += whole.pixels[at].dark;
    open[n] += whole.pixels[at].open;
    if (!is_bad(whole.pixels[at])) bad[n] = 0;
  });
  for (const MendedBin& bin : mended_bins(whole, part)) {
    dark[bin.bin] = bin.sum([&](std::size_t at) { return whole.pixels[at].dark; });
    open[bin.bin] = bin.sum([&](std::size_t at) { return whole.pixels[at].open; });
  }
  out.pixels.clear();
  for (std::size_t n = 0; n < bins; ++n)
    out.pixels.push_back({static_cast<float>(dark[n]), static_cast<float>(open[n]), 0, 0});
  find_good_neighbours(bad, name, out);
  return out;
}

Volume take_counts(const VolumeSource& counts, const ProjectionPart& part, const CountsCalibration& whole) {
  const auto mended = mended_bins(whole, part);
  const std::size_t slice = counts.grid().slice();
  Volume out = Volume::uninitialised(part_grid(counts.grid(), part));
  parallel_ranges(part.views.size(), 1, [&](std::size_t first, std::size_t count) {
    std::vector<float> view(slice);
    std::vector<double> sums(out.grid.slice());
    for (std::size_t n = first; n < first + count; ++n) {
      check_interrupt();
      counts.read(slice * part.views[n], slice, view.data());
      sums.assign(sums.size(), 0);
      for_each_pixel(part, whole.size[0], [&](std::size_t bin, std::size_t at) { sums[bin] += view[at]; });
      for (const MendedBin& bin : mended) sums[bin.bin] = bin.sum([&](std::size_t at) { return view[at]; });
      for (std::size_t bin = 0; bin < sums.size(); ++bin)
        out.voxels[n * sums.size() + bin] = static_cast<float>(sums[bin]);
    }
  });
  return out;
}

}  // namespace halocline
