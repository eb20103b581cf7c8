#include "apps/images/nrrd_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "apps/images/length_unit.hpp"
#include "apps/images/nrrd_header.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

constexpr double not_said = std::numeric_limits<double>::quiet_NaN();

double number_in(std::string_view word) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() ? value : not_said;
}

std::vector<std::string> words_of(const std::string& text, std::string_view between) {
  std::vector<std::string> out;
  for (auto from = text.find_first_not_of(between); from != std::string::npos;) {
    const auto end = std::min(text.find_first_of(between, from), text.size());
    out.push_back(text.substr(from, end - from));
    from = text.find_first_not_of(between, end);
  }
  return out;
}

std::vector<double> numbers_of(const std::string& text, std::string_view between = " \t") {
  std::vector<double> out;
  for (const std::string& word : words_of(text, between)) out.push_back(number_in(word));
  return out;
}

// "(1,0,0) none (0,0,2)"; nothing for "none", and a vector without numbers for other words.
std::vector<std::optional<std::vector<double>>> vectors_of(const std::string& text) {
  std::vector<std::optional<std::vector<double>>> out;
  for (std::size_t at = text.find_first_not_of(" \t"); at < text.size(); at = text.find_first_not_of(" \t", at)) {
    if (text[at] == '(') {
      const auto end = std::min(text.find(')', at), text.size());
      out.emplace_back(numbers_of(text.substr(at + 1, end - at - 1), " \t,"));
      at = std::min(end + 1, text.size());
    } else {
      const auto end = std::min(text.find_first_of(" \t(", at), text.size());
      out.emplace_back();
      if (lower_case(text.substr(at, end - at)) != "none") out.back().emplace();
      at = end;
    }
  }
  return out;
}

// "mm" "" "um": without the quotes.
std::vector<std::string> quoted_words(const std::string& text) {
  std::vector<std::string> out;
  for (auto open = text.find('"'); open != std::string::npos; open = text.find('"', open)) {
    const auto close = text.find('"', open + 1);
    if (close == std::string::npos) break;
    out.push_back(text.substr(open + 1, close - open - 1));
    open = close + 1;
  }
  return out;
}

// The unit in mm; nothing for one that is no length. Those that writers leave open are mm.
std::optional<double> length_of(const std::string& unit) {
  if (unit.empty() || unit == "???") return 1;
  const std::string name = lower_case(unit);
  return length_unit_in_mm(name == "micro" ? "um" : name);
}

struct Space {
  std::size_t dimensions = 0;
  std::array<double, 3> to_lps{1, 1, 1};
};

class Header {
 public:
  explicit Header(const std::string& path) : path_(path), fields_(nrrd_fields(path)) {}

  bool is_nrrd() const { return !fields_.empty(); }
  bool has_directions() const { return has("spacedirections"); }

  Space space() const {
    static const std::map<std::string, std::array<double, 3>> named{{"right-anterior-superior", {-1, -1, 1}},
                                                                    {"ras", {-1, -1, 1}},
                                                                    {"left-anterior-superior", {1, -1, 1}},
                                                                    {"las", {1, -1, 1}},
                                                                    {"scanner-xyz", {1, 1, 1}},
                                                                    {"left-posterior-superior", {1, 1, 1}},
                                                                    {"lps", {1, 1, 1}},
                                                                    {"3d-right-handed", {1, 1, 1}}};
    if (!has("space")) {
      const auto count = has("spacedimension") ? numbers_of(text("spacedimension")) : std::vector<double>{};
      return {count.size() == 1 && count[0] > 0 && count[0] < 8 ? static_cast<std::size_t>(count[0]) : 0, {1, 1, 1}};
    }
    std::string name = lower_case(text("space"));
    Space out{3, {}};
    for (const std::string_view time : {"-time", "t"})
      if (name.ends_with(time) && named.contains(name.substr(0, name.size() - time.size()))) {
        name.resize(name.size() - time.size());
        out.dimensions = 4;
      }
    const auto found = named.find(name);
    if (found == named.end() && name.starts_with("3d-left-handed"))
      refuse("space",
             "is left-handed, where a world is right-handed: it does not say which axis is the other way. "
             "Name the axes (such as left-anterior-superior), or turn one of them and write 3D-right-handed");
    if (found == named.end())
      refuse("space",
             "is none that NRRD has; known: right-anterior-superior (RAS), left-anterior-superior (LAS), "
             "left-posterior-superior (LPS), scanner-xyz, 3D-right-handed, and these with -time");
    out.to_lps = found->second;
    return out;
  }

  Grid grid(Grid grid) const {
    if (has_directions())
      by_directions(grid);
    else
      by_axes(grid);
    return grid;
  }

 private:
  bool has(const std::string& field) const { return fields_.contains(field); }
  std::string text(const std::string& field) const { return fields_.at(field); }
  [[noreturn]] void refuse(const std::string& field, const std::string& why) const {
    throw InputError(fmt::format("the NRRD header of '{}': '{}'{} {}", path_, field,
                                 has(field) ? " (" + text(field).substr(0, 100) + ")" : "", why));
  }

  // Units of each axis of the image, or of the world.
  std::vector<std::string> units(const char* field, std::size_t axes) const {
    const auto words = quoted_words(text(field));
    if (words.size() != axes)
      refuse(field, fmt::format("name the units of {} axes, where there are {}; write one for each axis, in quotation "
                                "marks (\"mm\" \"mm\" \"mm\")",
                                words.size(), axes));
    return words;
  }
  double length(const char* field, const std::string& unit) const {
    const auto found = length_of(unit);
    if (!found)
      refuse(field, fmt::format("have '{}', which is no length that is known (mm, um, nm, cm, m, in); convert the "
                                "lengths to mm",
                                excerpt(unit)));
    return *found;
  }

  // The unit of the world, which has one length for all of its axes but that of time.
  double unit_of_space(std::size_t dimensions) const {
    if (!has("spaceunits")) return 1;
    const auto words = units("spaceunits", dimensions);
    std::optional<double> unit;
    for (std::size_t axis = 0; axis < std::min<std::size_t>(dimensions, 3); ++axis) {
      const double found = length("spaceunits", words[axis]);
      if (unit && *unit != found) refuse("spaceunits", "differ from axis to axis; use one");
      unit = found;
    }
    return unit.value_or(1);
  }

  void by_directions(Grid& grid) const {
    for (const char* old : {"spacings", "axismins", "axismaxs"})
      if (has(old)) refuse(old, "cannot stand beside 'space directions', which say all; remove one of the two");
    const Space of = space();
    const double unit = unit_of_space(of.dimensions);
    const auto vectors = vectors_of(text("spacedirections"));
    require_axes(vectors, of.dimensions);
    require_no_units(vectors);
    std::size_t axis = 0;
    for (const auto& vector : vectors) {
      if (!vector) continue;
      if (vector->size() != of.dimensions || vector->size() < 2 ||
          !std::all_of(vector->begin(), vector->end(), [](double x) { return std::isfinite(x); }))
        refuse("spacedirections", fmt::format("hold a vector that has not the {} finite numbers of their space; write "
                                              "(a,b,c) for each axis, or none",
                                              of.dimensions));
      if (axis == 3) break;  // the axis of time
      if (of.dimensions == 4 && (*vector)[3] != 0)
        refuse("spacedirections", "lead an axis of the image through space and time; extract one volume");
      std::array<double, 3> to{};
      for (std::size_t w = 0; w < std::min<std::size_t>(3, of.dimensions); ++w) to[w] = of.to_lps[w] * (*vector)[w];
      const double length = std::hypot(to[0], to[1], to[2]);
      if (!(length > 0)) refuse("spacedirections", "hold a vector of length 0");
      grid.spacing[axis] = unit * length;
      for (std::size_t w = 0; w < 3; ++w) grid.direction[3 * w + axis] = to[w] / length + 0.0;
      ++axis;
    }
    if (!has("spaceorigin")) return;
    const auto origin = vectors_of(text("spaceorigin"));
    if (origin.size() != 1 || !origin[0] || origin[0]->size() != of.dimensions ||
        !std::all_of(origin[0]->begin(), origin[0]->end(), [](double x) { return std::isfinite(x); }))
      refuse("spaceorigin", fmt::format("is no vector of {} finite numbers; write (a,b,c)", of.dimensions));
    for (std::size_t w = 0; w < std::min<std::size_t>(3, of.dimensions); ++w)
      grid.origin[w] = unit * of.to_lps[w] * (*origin[0])[w] + 0.0;
  }

  // An image of three axes in space and time, or of two in space, and an axis without a direction behind the others,
  // are no volumes.
  void require_axes(const std::vector<std::optional<std::vector<double>>>& vectors, std::size_t dimensions) const {
    const auto given = static_cast<std::size_t>(
        std::count_if(vectors.begin(), vectors.end(), [](const auto& vector) { return vector.has_value(); }));
    if (given == vectors.size() && given != dimensions)
      refuse("spacedirections",
             fmt::format("are of {} axes in a space of {}; give a space of as many", given, dimensions));
    if (vectors.size() > 3 && !vectors.back())
      refuse("spacedirections", "leave the last axis without a direction: take that axis away, or extract one volume");
    const auto sizes = has("sizes") ? numbers_of(text("sizes")) : std::vector<double>{};
    if (sizes.size() != vectors.size())
      refuse("spacedirections",
             fmt::format("are of {} axes, where the image has {}; write a vector (a,b,c) or none for "
                         "each",
                         vectors.size(), sizes.size()));
    const auto kinds = has("kinds") ? words_of(lower_case(text("kinds")), " \t") : std::vector<std::string>{};
    for (std::size_t n = 0; n < vectors.size(); ++n)
      if (!vectors[n] && sizes[n] > 1)
        refuse("spacedirections", fmt::format("leave axis {} of {:.0f} samples without a direction; write its vector, "
                                              "or, where it holds the values of a voxel, extract one",
                                              n, sizes[n]));
    for (std::size_t n = 0; n < vectors.size() && vectors.size() > dimensions; ++n)
      if (!vectors[n] &&
          (n >= kinds.size() || std::set<std::string>{"???", "none", "domain", "space", "time"}.contains(kinds[n])))
        refuse("spacedirections",
               fmt::format("leave axis {} without a direction, and 'kinds' do not say what it is of; "
                           "take that axis away, or write its kind (such as scalar)",
                           n));
  }

  // Refuses units of axes with a direction: 'space units' states these.
  void require_no_units(const std::vector<std::optional<std::vector<double>>>& vectors) const {
    if (!has("units")) return;
    const auto words = units("units", vectors.size());
    for (std::size_t n = 0; n < vectors.size(); ++n)
      if (vectors[n] && !words[n].empty())
        refuse("units", fmt::format("give axis {} one of its own beside 'space directions'; write 'space units'", n));
  }

  double per_axis(const char* field, std::size_t axis) const {
    if (!has(field)) return not_said;
    const auto values = numbers_of(text(field));
    if (axis >= values.size()) refuse(field, fmt::format("have {} numbers, less than there are axes", values.size()));
    return values[axis];
  }

  std::string centering(std::size_t axis) const {
    for (const char* field : {"centers", "centerings"})
      if (has(field)) {
        const auto words = words_of(lower_case(text(field)), " \t");
        if (axis < words.size() && (words[axis] == "cell" || words[axis] == "node")) return words[axis];
      }
    return {};
  }

  // A space is that of directions. Without them ITK takes its origin, and the other fields not as the format says.
  void require_no_space() const {
    if (!has("space") && !has("spacedimension")) return;
    for (const char* field : {"spaceorigin", "spacings", "axismins", "axismaxs", "spaceunits", "units"})
      if (has(field))
        refuse(field,
               "stand beside a 'space', but without 'space directions', which say how far apart the samples are "
               "there; write these instead");
  }

  void by_axes(Grid& grid) const {
    if (!has("sizes")) return;
    require_no_space();
    const auto sizes = numbers_of(text("sizes"));
    const auto words = has("units") ? units("units", sizes.size()) : std::vector<std::string>(sizes.size());
    // of an axis before the others that holds the one value of a voxel
    const std::size_t before = sizes.size() > 3 && sizes[0] == 1 && grid.size[0] != 1 ? 1 : 0;
    for (std::size_t a = 0; a + before < sizes.size() && a < 3; ++a) {
      const std::size_t n = a + before;
      const double spacing = per_axis("spacings", n), low = per_axis("axismins", n), high = per_axis("axismaxs", n);
      const bool is_volume = sizes.size() - before <= 3;  // others are refused by the number of their axes
      const double unit = is_volume ? length("units", words[n]) : 1;
      if (is_volume && has("spacings") && !std::isfinite(spacing) && !std::isfinite(high) && sizes[n] > 1)
        refuse("spacings", fmt::format("do not say how far apart the samples of axis {} are; write a number", n));
      double step = std::isfinite(spacing) ? spacing : 1;
      double origin = std::isnan(low) ? grid.origin[a] : low;
      if (!std::isnan(low) || !std::isnan(high)) {
        step = step_of(n, sizes[n], spacing, low, high);
        origin = low + (centering(n) == "cell" ? 0.5 * step : 0);
        if (step < 0) grid.direction[4 * a] = -grid.direction[4 * a];
        step = std::abs(step);
      }
      grid.spacing[a] = unit * step;
      grid.origin[a] = unit * origin;
    }
  }

  // The distance of samples by the limits of an axis: samples lie at its ends (node), or in the middle of their cells.
  double step_of(std::size_t axis, double size, double spacing, double low, double high) const {
    if (!std::isfinite(low))
      refuse("axismaxs", fmt::format("are given without a number in 'axis mins' for axis {}; write 'space directions' "
                                     "and 'space origin'",
                                     axis));
    const std::string centre = centering(axis);
    if (centre.empty())
      refuse("axismins", fmt::format("are given without 'centers' (cell or node), and so do not say where the first "
                                     "sample of axis {} lies; add them, or write 'space directions' and 'space origin'",
                                     axis));
    if (std::isnan(high)) {
      if (std::isnan(spacing)) refuse("axismins", "are given without 'axis maxs' and 'spacings'; add one of the two");
      return spacing;
    }
    const double steps = centre == "cell" ? size : size - 1;
    const double step = steps > 0 ? (high - low) / steps : spacing;
    if (!std::isfinite(step) || step == 0) refuse("axismaxs", fmt::format("leave no length to axis {}", axis));
    if (!std::isnan(spacing) && std::abs(spacing - std::abs(step)) > 1e-4 * std::abs(step))
      refuse("spacings", fmt::format("say {:.6g} for axis {}, but 'axis mins', 'axis maxs' and 'centers' say {:.6g}",
                                     spacing, axis, step));
    return step;
  }

  std::string path_;
  std::map<std::string, std::string> fields_;
};

}  // namespace

Grid nrrd_grid(const std::string& path, const Grid& itk) {
  return Header(path).grid(itk);
}

void check_nrrd_space(const std::string& path) {
  const Header header(path);
  if (!header.is_nrrd()) return;
  header.space();
  header.grid({});
}

}  // namespace halocline
