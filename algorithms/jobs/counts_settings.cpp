#include "algorithms/jobs/counts_settings.hpp"

#include "algorithms/jobs/setting_values.hpp"

namespace halocline {
namespace {

void add_calibration(Settings& settings, CountsOptions& options, const std::string& needed) {
  settings
      .add("air", SettingKind::numbers,
           "Pixels of the detector, upper ends not included, that see the beam alone in every view: their mean is the "
           "view's beam",
           [&options](const std::vector<std::string>& words) {
             const auto values = parse_numbers("`air`", words, 4, "U0,V0,U1,V1");
             require_whole("`air`", values, 0);
             auto& air = options.air.emplace();
             for (std::size_t n = 0; n < air.size(); ++n) air[n] = static_cast<std::size_t>(values[n]);
           })
      .at_most(4)
      .unit("U0,V0,U1,V1")
      .needs(needed)
      .group(counts_group);
  settings
      .add("floor", options.floor,
           "Counts above the dark field; lower ones, and zeros, are raised to it, unless they are pixels that fail "
           "among "
           "bright ones, which are interpolated. Default: 0.5 of whole numbers, else 1e-5 of the beam. Of a bin "
           "(`bin`): "
           "its sum")
      .positive()
      .unit("COUNTS")
      .needs(needed)
      .group(counts_group);
  settings
      .add("saturation", options.saturation,
           "Tell how many counts reach this. Default: the greatest number of an integer type")
      .positive()
      .unit("COUNTS")
      .needs(needed)
      .group(counts_group);
  settings.add("beam-hardening", options.hardening, "Line integrals q become C1 q + C2 q^2 + ...")
      .unit("C1,C2,...")
      .needs(needed)
      .group(counts_group);
}

void add_rings(Settings& settings, CountsOptions& options, const std::string& inputs) {
  settings
      .add(
          "reduce-rings", options.ring_width,
          "Take off what a pixel differs by from those on both sides of it in the median over all views: rings up to W "
          "pixels wide go (try 2; 0: none)" +
              inputs)
      .whole_from(0, 1000)
      .unit("W")
      .group(counts_group);
}

}  // namespace

void add_counts_settings(Settings& settings, CountsOptions& options) {
  add_calibration(settings, options, "");
  add_rings(settings, options, "");
}

void add_counts_flag(Settings& settings, bool& counts, CountsOptions& options) {
  settings
      .add(
          "counts", counts,
          "The projections are a detector's counts: they become line integrals on the way, as 'halocline counts' would "
          "make them. Flats, darks, `bad_pixels` and `air` are of the whole detector, before `crop` and `bin`")
      .group(counts_group);
  add_calibration(settings, options, "counts");
  add_rings(settings, options, ". Of line integrals, too");
}

}  // namespace halocline
