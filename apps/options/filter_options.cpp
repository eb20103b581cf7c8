#include "apps/options/filter_options.hpp"

#include <CLI/CLI.hpp>
#include <vector>

#include "apps/job/validators.hpp"

namespace halocline {

void add_filter_options(CLI::App& app, FilterOptions& options, bool half) {
  app.add_option("--window", options.window, "Window on the ramp filter")->check(CLI::IsMember(window_names()));
  app.add_option("--cutoff", options.cutoff,
                 "Fraction of the highest frequency that the window spans, above 0 and at most 1")
      ->check(positive_number())
      ->type_name("F");
  std::vector<std::string> interpolations{"exact", "hardware"};
  if (half) interpolations.emplace_back("half");
  app.add_option("--interpolation", options.interpolation,
                 std::string("exact: float32; hardware: texture units (8-bit fractions on most GPUs)") +
                     (half ? "; half: the same of projections in half precision, for the least time" : ""))
      ->check(CLI::IsMember(interpolations));
  const std::string scan =
      "Scans that are no full circle of whole projections (short scans and displaced detectors are weighted by "
      "themselves)";
  auto* displaced = app.add_flag("--displaced", options.displaced,
                                 "Weigh the detector as a displaced one (Wang), however little it is displaced")
                        ->group(scan);
  app.add_flag("--nodisplaced", options.no_displaced,
               "Do not weigh a displaced detector (Wang): its rows then count as truncated, see --pad")
      ->excludes(displaced)
      ->group(scan);
  app.add_option("--pad", options.pad,
                 "Truncated projections: let rows go on as those of an ellipse would, by this fraction of their length "
                 "at most, 0 "
                 "to 1, before they are filtered")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("F")
      ->group(scan);
  app.add_flag(
         "--allow-incomplete-arc", options.allow_incomplete_arc,
         "Go on, with a warning, where the views cover less than 180 degrees and the fan or leave gaps; values are "
         "multiplied so that a uniform object keeps its mean")
      ->group(scan);
}

FdkParameters fdk_parameters(const FilterOptions& options) {
  FdkParameters parameters;
  parameters.window = window_from_name(options.window);
  parameters.cutoff = options.cutoff;
  parameters.pad = options.pad;
  parameters.half_texels = options.interpolation == "half";
  parameters.hardware_interpolation = parameters.half_texels || options.interpolation == "hardware";
  parameters.redundancy = {.displaced = !options.no_displaced,
                           .force_displaced = options.displaced,
                           .allow_incomplete_arc = options.allow_incomplete_arc};
  return parameters;
}

}  // namespace halocline
