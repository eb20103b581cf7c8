#include "algorithms/jobs/fdk_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>

#include "algorithms/fdk/ramp.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"

namespace halocline {
namespace {

const char* const noise_group = "Noise of the volume";
const char* const scan_group =
    "Scans that are no full circle of whole projections (short scans and displaced detectors are weighted by "
    "themselves)";

// The numbers of a text, between which commas or spaces are. what: its name, for messages, which show one word.
std::vector<double> numbers_in(std::string text, const std::string& what) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream in(text);
  std::vector<double> numbers;
  for (std::string word; in >> word;) {
    const auto number = parsed_number(word);
    if (!number)
      throw InputError({.what = what,
                        .found = fmt::format("'{}' as value {}", excerpt(word), numbers.size()),
                        .expected = "a finite number"});
    numbers.push_back(*number);
  }
  if (numbers.empty()) throw InputError(what + " has no numbers; expected those of a transfer function");
  return numbers;
}

// Numbers as they are given, or those of the text file that the words name.
void take_filter(FilterSettings& filter, const std::vector<std::string>& words) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 24;
  const std::string given = fmt::format("{}", fmt::join(words, ","));
  const std::string first = given.substr(0, given.find_first_of(", "));
  const bool listed = parsed_number(first) || first == "nan" || first == "inf" || first == "-inf";
  const std::string what = listed ? "`filter`" : fmt::format("the filter '{}'", excerpt(given));
  filter.filter_file = listed ? "" : given;
  filter.filter = numbers_in(listed ? given : read_text_file(given, what, most_bytes), what);
}

}  // namespace

std::string FilterSettings::text() const {
  return fmt::format("{}window {} with cut-off {:.4g}",
                     filter.empty() ? "" : fmt::format("a filter of {} values, ", filter.size()), window, cutoff);
}

FdkParameters FilterSettings::parameters() const {
  FdkParameters parameters;
  parameters.algorithm = algorithm == "gridding" ? FdkAlgorithm::gridding : FdkAlgorithm::direct;
  parameters.window = window_from_name(window);
  parameters.cutoff = cutoff;
  parameters.filter = filter;
  parameters.pad = pad;
  parameters.half_texels = interpolation == "half";
  parameters.hardware_interpolation = parameters.half_texels || interpolation == "hardware";
  parameters.redundancy = {
      .displaced = !no_displaced, .force_displaced = displaced, .allow_incomplete_arc = allow_incomplete_arc};
  return parameters;
}

void add_filter_settings(Settings& settings, FilterSettings& filter, bool volume) {
  if (volume)
    settings
        .add("algorithm", filter.algorithm,
             "direct: filtered rows are added to each voxel; gridding: parallel beams, their transforms are put on a "
             "grid of frequencies, in far fewer operations")
        .one_of({"direct", "gridding"});
  settings.add("window", filter.window, "Window on the ramp filter").one_of(window_names());
  settings
      .add("cutoff", filter.cutoff, "Fraction of the highest frequency that the window spans, above 0 and at most 1")
      .positive()
      .unit("F");
  settings
      .add(
          "filter", SettingKind::numbers,
          "A filter in place of the ramp, with the same window: a text file of the numbers of its transfer function, "
          "or "
          "a list with commas, from frequency 0 to the detector's highest, evenly spaced, any number of them. They are "
          "in cycles a pixel; the ramp's go from 0 to 0.5",
          [&filter](const std::vector<std::string>& words) { take_filter(filter, words); })
      .unit("FILE")
      .file(FileKind::text);
  std::vector<std::string> interpolations{"exact", "hardware"};
  if (volume) interpolations.emplace_back("half");
  settings
      .add("interpolation", filter.interpolation,
           std::string("exact: float32; hardware: texture units (8-bit fractions on most GPUs)") +
               (volume ? "; half: the same of projections in half precision, for the least time" : ""))
      .one_of(std::move(interpolations));
  settings
      .add("displaced", filter.displaced,
           "Weigh the detector as a displaced one (Wang), however little it is displaced")
      .excludes("nodisplaced")
      .group(scan_group);
  settings
      .add("nodisplaced", filter.no_displaced,
           "Do not weigh a displaced detector (Wang): its rows then count as truncated, see `pad`")
      .group(scan_group);
  settings
      .add("pad", filter.pad,
           "Truncated projections: let rows go on as those of an ellipse would, by this fraction of their length at "
           "most, 0 to 1, before they are filtered")
      .between(0, 1)
      .unit("F")
      .group(scan_group);
  settings
      .add("allow-incomplete-arc", filter.allow_incomplete_arc,
           "Go on, with a warning, where the views cover less than 180 degrees and the fan or leave gaps; values are "
           "multiplied so that a uniform object keeps its mean")
      .group(scan_group);
}

std::string NoiseSettings::text() const {
  return fmt::format("{:.6g} photons{} and electronic noise {:.6g}", photons.value_or(photons_per_count.value_or(1)),
                     photons ? "" : " a count", electronic);
}

// The mean of n line integrals is as noisy as one with n times the photons; of n counts the photons are in their sum.
FdkParameters::Noise NoiseSettings::noise(bool counts, double pixels) const {
  return {counts ? photons_per_count.value_or(1) : *photons * pixels, electronic * std::sqrt(pixels)};
}

void NoiseSettings::check(bool counts, bool wanted, const std::string& purpose) const {
  if (counts && photons)
    throw InputError(
        "`photons` is not for `counts`, which tell the noise themselves; leave it out (and give `photons_per_count` if "
        "a count is not a photon)");
  if (!counts && photons_per_count)
    throw InputError("`photons_per_count` needs `counts`, of which it says the photons");
  if (!wanted && photons_per_count) throw InputError("`photons_per_count` requires " + purpose);
  if (wanted && !counts && !photons)
    throw InputError(
        fmt::format("`photons` is missing: {} needs the number of photons a pixel of the unattenuated beam", purpose));
  if (!wanted && (photons || electronic > 0))
    throw InputError(fmt::format("`photons` and `electronic` describe the noise for {}, which is missing", purpose));
}

void add_noise_settings(Settings& settings, NoiseSettings& noise) {
  settings
      .add("photons", noise.photons,
           "Photons a pixel (before `bin`) of the unattenuated beam; required for a variance, but with `counts`")
      .positive()
      .unit("I0")
      .group(noise_group);
  settings
      .add("photons-per-count", noise.photons_per_count,
           "With `counts`: photons that a count stands for (default 1), for a variance")
      .needs("counts")
      .positive()
      .unit("N")
      .group(noise_group);
  settings
      .add("electronic", noise.electronic,
           "Standard deviation of the electronic noise of a pixel (before `bin`), photons")
      .not_negative()
      .unit("S")
      .group(noise_group);
}

void SlicesSettings::add_to(Settings& settings) {
  add_filter_settings(settings, filter, false);
  settings.add("variance", variance, "The variance of each pixel in place of its value");
  settings.add("photons", noise.photons, "Photons a pixel of the unattenuated beam").positive();
  settings.add("electronic", noise.electronic, "Standard deviation of the electronic noise, photons").not_negative();
}

FdkParameters SlicesSettings::parameters() const {
  noise.check(false, variance, "the variance of slices");
  FdkParameters parameters = filter.parameters();
  if (variance) parameters.variance = noise.noise(false, 1);
  return parameters;
}

}  // namespace halocline
