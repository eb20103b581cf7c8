#include "apps/images/itk_hdf5_angles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <itk_H5Cpp.h>
#include <itk_hdf5.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <string_view>

#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_views = 1000000, most_objects = 100000, most_shown = 20;
constexpr const char* angles_remedy =
    "write the angles to a text file and use `CircularOptions::angles`, or keep them as /exchange/theta";
constexpr const char* different_remedy =
    "remove those that do not hold, or write the angles to a text file and use `CircularOptions::angles`";

// Names that say a rotation angle, by preference. Those of `general_names` may say another, too.
constexpr std::string_view exact_names[] = {
    "rotation_angle", "rotation_angles",   "theta", "thetas", "angles", "angle", "rot_angle", "rot_angles",
    "rotangle",       "projection_angles", "omega"};
constexpr std::string_view general_names[] = {"angles", "angle", "omega"};

// A data set of numbers, in the order of the file's names.
struct Found {
  std::string path;
  std::vector<hsize_t> size;
  std::size_t count() const {
    std::size_t product = 1;
    for (const hsize_t n : size) product *= n;
    return product;
  }
  std::string name() const { return lower_case(path.substr(path.rfind('/') + 1)); }
  std::string group() const { return path.substr(0, path.rfind('/')); }
  // Numbers in one row or one column.
  bool is_list() const {
    return std::count_if(size.begin(), size.end(), [](hsize_t n) { return n > 1; }) <= 1;
  }
  std::string shown() const {
    return fmt::format("{} ({})", path, size.empty() ? "1" : fmt::format("{}", fmt::join(size, " x ")));
  }
};

// A name that alone says a rotation angle.
bool is_exact(const std::string& name) {
  return std::find(std::begin(exact_names), std::end(exact_names), name) != std::end(exact_names);
}
bool is_general(const std::string& name) {
  return std::find(std::begin(general_names), std::end(general_names), name) != std::end(general_names);
}

class AnglesFile {
 public:
  explicit AnglesFile(const std::string& path) : path_(path), file_(path, H5F_ACC_RDONLY) {
    look_into(file_.openGroup("/"), "/", 0);
  }

  std::vector<double> angles() {
    if (no_numbers_.contains("/exchange/theta")) refuse_no_numbers("/exchange/theta");
    if (has("/exchange/theta")) return undisputed({"/exchange/theta"});
    if (const auto paths = by_name(); !paths.empty()) {
      if (find(paths.front())->name() != "rotation_angle")
        spdlog::warn("{}: the angles are taken from {}", path_, paths.front());
      return undisputed(paths);
    }
    if (const auto steps = by_steps()) return *steps;
    for (const std::string& path : no_numbers_)
      if (is_exact(Found{path, {}}.name())) refuse_no_numbers(path);
    std::vector<std::string> shown;
    for (const Found& each : found_)
      if (shown.size() < most_shown && each.is_list()) shown.push_back(each.shown());
    throw InputError(fmt::format(
        "{}: no angles were found: there is no /exchange/theta, and no list of numbers whose name says a rotation "
        "angle. The file has {}; {}",
        path_, shown.empty() ? "no list of numbers" : fmt::format("{}", fmt::join(shown, ", ")), angles_remedy));
  }

 private:
  // Links may lead round in circles.
  void look_into(const H5::Group& group, const std::string& path, int depth) {
    constexpr int deepest = 16;
    for (hsize_t n = 0; n < group.getNumObjs() && visited_ < most_objects; ++n, ++visited_) {
      const std::string name = group.getObjnameByIdx(n);
      try {
        const H5O_type_t type = group.childObjType(name);
        if (type == H5O_TYPE_DATASET) add(path + name);
        if (type == H5O_TYPE_GROUP && depth < deepest) look_into(group.openGroup(name), path + name + "/", depth + 1);
      } catch (const H5::Exception&) {  // a link that leads nowhere
      }
    }
  }

  void add(const std::string& path) {
    const H5::DataSet data = file_.openDataSet(path);
    const auto kind = data.getTypeClass();
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) {
      no_numbers_.insert(path);
      return;
    }
    Found found{path, std::vector<hsize_t>(static_cast<std::size_t>(data.getSpace().getSimpleExtentNdims()))};
    if (!found.size.empty()) data.getSpace().getSimpleExtentDims(found.size.data());
    found_.push_back(std::move(found));
  }
  const Found* find(const std::string& path) const {
    const auto found = std::find_if(found_.begin(), found_.end(), [&](const Found& each) { return each.path == path; });
    return found == found_.end() ? nullptr : &*found;
  }
  bool has(const std::string& path) const { return find(path) != nullptr; }

  std::vector<double> numbers(const std::string& path) const {
    const Found& found = *find(path);
    const std::size_t count = found.count();
    if (!found.is_list() || count == 0)
      throw InputError(fmt::format("{}: {} has {} dimensions and {} numbers; one angle a view in a row is expected",
                                   path_, path, found.size.size(), count));
    if (count > most_views)
      throw InputError(
          fmt::format("{}: {} has {} numbers; no more than {} are expected", path_, path, count, most_views));
    std::vector<double> values(count);
    file_.openDataSet(path).read(values.data(), H5::PredType::NATIVE_DOUBLE);
    return values;
  }

  [[noreturn]] void refuse_no_numbers(const std::string& path) const {
    const bool texts = file_.openDataSet(path).getTypeClass() == H5T_STRING;
    throw InputError(fmt::format("{}: {} holds {}, but numbers are expected, one angle a view in a row; {}", path_,
                                 path, texts ? "texts" : "values that are no numbers", angles_remedy));
  }

  void require_finite(const std::string& path, const std::vector<double>& values) const {
    const auto bad = std::find_if(values.begin(), values.end(), [](double each) { return !std::isfinite(each); });
    if (bad == values.end()) return;
    throw InputError(fmt::format("{}: number {} of the {} in {} is {}, but finite ones are expected; {}", path_,
                                 bad - values.begin() + 1, values.size(), path, *bad, angles_remedy));
  }

  // The attribute in lower case, without blanks; of a text or of the first of several.
  std::string units(const std::string& path) const {
    const H5::DataSet data = file_.openDataSet(path);
    for (const char* name : {"units", "unit"}) {
      if (!data.attrExists(name)) continue;
      const H5::Attribute attribute = data.openAttribute(name);
      if (attribute.getTypeClass() != H5T_STRING || attribute.getSpace().getSimpleExtentNpoints() < 1) continue;
      std::string text;
      if (attribute.getStrType().isVariableStr()) {
        std::vector<char*> texts(static_cast<std::size_t>(attribute.getSpace().getSimpleExtentNpoints()));
        attribute.read(attribute.getStrType(), static_cast<void*>(texts.data()));
        if (texts.front() != nullptr) text = texts.front();
        H5Dvlen_reclaim(attribute.getStrType().getId(), attribute.getSpace().getId(), H5P_DEFAULT, texts.data());
      } else {
        std::vector<char> bytes(attribute.getInMemDataSize() + 1);
        attribute.read(attribute.getStrType(), static_cast<void*>(bytes.data()));
        text = std::string(bytes.data(), std::min(std::string(bytes.data()).size(), attribute.getStrType().getSize()));
      }
      std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
      if (text.ends_with('.')) text.pop_back();
      return lower_case(text);
    }
    return {};
  }

  // The lists whose names say a rotation angle, of the first name or part of a name that there is.
  std::vector<std::string> by_name() const {
    std::vector<std::string> paths;
    for (const std::string_view name : exact_names) {
      for (const Found& each : found_)
        if (each.name() == name && each.is_list() && each.count() > 1) paths.push_back(each.path);
      if (!paths.empty()) break;
    }
    for (const char* part : {"rot", "theta", "angle"}) {  // such as "SampleRotation" in degrees
      if (!paths.empty()) break;
      for (const Found& each : found_)
        if (each.name().find(part) != std::string::npos && !means_another(each.name()) && each.is_list() &&
            each.count() > 1 && is_angle(units(each.path)))
          paths.push_back(each.path);
    }
    if (paths.size() > 1 && std::any_of(paths.begin(), paths.end(), [&](const auto& each) { return varies(each); }))
      std::erase_if(paths, [&](const std::string& each) { return !varies(each); });
    return paths;
  }

  // The angles of the projections by the first list, unless others of these, or other lists whose names say a rotation
  // angle, disagree.
  std::vector<double> undisputed(const std::vector<std::string>& paths) const {
    const std::string& path = paths.front();
    const auto all = in_degrees(path, numbers(path)), chosen = projections_only(all, true);
    std::vector<std::string> different{path};
    for (const Found& other : found_) {
      const bool named = std::find(paths.begin(), paths.end(), other.path) != paths.end();
      if (other.path != path && (named || is_rival(other, all.size(), chosen.size())) &&
          !agrees(other.path, all, chosen))
        different.push_back(other.path);
    }
    if (different.size() == 1) return chosen;
    throw InputError(fmt::format("{}: several lists of angles hold different numbers: {}; {}", path_,
                                 fmt::join(different, ", "), different_remedy));
  }

  // True for a list that may stand against one of so many angles, some of them of projections. Lists of other lengths
  // are settings, or of another scan.
  bool is_rival(const Found& list, std::size_t angles, std::size_t projections) const {
    return is_exact(list.name()) && list.is_list() && list.count() > 1 &&
           (list.count() == angles || (list.count() == projections && !is_general(list.name()))) && varies(list.path);
  }

  // True if a list has these angles but for rounding, with or without flats and darks. One without units may be in
  // degrees or in radians.
  bool agrees(const std::string& path, const std::vector<double>& all, const std::vector<double>& chosen) const {
    constexpr double least = 1e-3,
                     of_a_step = 0.25;  // degrees; float32, and encoders beside the angles that were asked
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    const double rounding = std::max(least, of_a_step * (*high - *low) / static_cast<double>(all.size()));
    const std::string unit = units(path);
    std::vector<double> factors{1, 180 / std::numbers::pi};
    if (!unit.empty()) factors = {factor_of(unit).value_or(std::nan(""))};
    const auto is_near = [rounding](double a, double b) { return std::abs(a - b) <= rounding; };
    const auto same = [&](const std::vector<double>& a, const std::vector<double>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_near);
    };
    return std::any_of(factors.begin(), factors.end(), [&](double factor) {
      auto angles = numbers(path);
      for (double& angle : angles) angle *= factor;
      return same(angles, all) || same(angles, chosen) || same(projections_only(angles, false), chosen);
    });
  }

  // True if a piece of a list's name shows that it holds no rotation angles.
  static bool means_another(const std::string& name) {
    static const std::vector<std::string> parts{"speed",  "velocity", "accel", "two_theta", "twotheta",
                                                "2theta", "2_theta",  "tilt",  "offset",    "axis",
                                                "center", "centre",   "bragg", "incidence", "error"};
    return std::any_of(parts.begin(), parts.end(),
                       [&](const std::string& part) { return name.find(part) != std::string::npos; });
  }
  bool varies(const std::string& path) const {
    const auto values = numbers(path);
    return std::any_of(values.begin(), values.end(), [&](double each) { return each != values.front(); });
  }
  void require_turn(const std::string& path, const std::vector<double>& angles) const {
    if (angles.size() < 2 || std::any_of(angles.begin(), angles.end(), [&](double a) { return a != angles.front(); }))
      return;
    throw InputError(
        fmt::format("{}: by {} the angles of all {} views are {:.6g} degrees; angles of a rotation are "
                    "expected: {}",
                    path_, path, angles.size(), angles.front(), angles_remedy));
  }

  static bool is_angle(const std::string& units) { return factor_of(units).has_value(); }
  // Degrees in one.
  static std::optional<double> factor_of(const std::string& units) {
    static const std::map<std::string, double> factors{{"deg", 1},
                                                       {"degree", 1},
                                                       {"degrees", 1},
                                                       {"\xc2\xb0", 1},
                                                       {"rad", 180 / std::numbers::pi},
                                                       {"rads", 180 / std::numbers::pi},
                                                       {"radian", 180 / std::numbers::pi},
                                                       {"radians", 180 / std::numbers::pi},
                                                       {"mrad", 0.18 / std::numbers::pi},
                                                       {"mdeg", 1e-3},
                                                       {"turn", 360},
                                                       {"turns", 360},
                                                       {"rev", 360},
                                                       {"revs", 360},
                                                       {"revolution", 360},
                                                       {"revolutions", 360}};
    const auto found = factors.find(units);
    return found == factors.end() ? std::nullopt : std::optional(found->second);
  }

  // Degrees in one of this data set; 1 where it has no units.
  double factor_at(const std::string& path) const {
    const std::string unit = units(path);
    if (unit.empty()) return 1;
    if (const auto known = factor_of(unit)) return *known;
    throw InputError(fmt::format("{}: the units of {} are '{}'; 'deg' or 'rad' is expected, or {}", path_, path, unit,
                                 angles_remedy));
  }

  // The data sets of one number that have the first of these names that any has, in this group if it is given, and
  // where the path says a rotation, but not that of flats or darks.
  std::vector<std::string> scalars(std::initializer_list<const char*> names, const std::string* group = nullptr) const {
    std::vector<std::string> paths;
    for (const char* name : names) {
      for (const Found& each : found_) {
        const std::string path = lower_case(each.path);
        const auto says = [&](const char* part) { return path.find(part) != std::string::npos; };
        if (each.name() == name && each.count() == 1 && says("rotation") && !says("flat") && !says("dark") &&
            (group == nullptr || each.group() == *group))
          paths.push_back(each.path);
      }
      if (!paths.empty()) break;
    }
    return paths;
  }

  // Angles of Data Exchange's process/acquisition/rotation: start, step and number. The start lies beside the step; the
  // number may lie elsewhere.
  std::optional<std::vector<double>> by_steps() const {
    const auto steps = scalars({"rotation_step", "angle_step", "angular_step", "step"});
    if (steps.empty()) return {};
    const std::string& where = steps.front();
    const double step = number(where) * factor_at(where);
    for (const std::string& other : steps)
      if (number(other) * factor_at(other) != step)
        throw InputError(fmt::format("{}: several steps of the angles differ: {}; {}", path_, fmt::join(steps, ", "),
                                     angles_remedy));
    const std::string group = find(where)->group();
    const auto counts_of = {"num_angles", "num_projections", "number_of_projections"};
    auto counts = scalars(counts_of, &group);
    if (counts.empty()) counts = scalars(counts_of);
    if (counts.empty()) return {};
    const double count = number(counts.front());
    if (!(count >= 1 && count <= most_views) || count != std::floor(count)) return {};
    const auto starts = scalars({"rotation_start", "start_angle", "angle_start", "start"}, &group);
    const double start = starts.empty() ? 0 : number(starts.front()) * factor_at(starts.front());
    std::vector<double> angles(static_cast<std::size_t>(count));
    for (std::size_t n = 0; n < angles.size(); ++n) angles[n] = start + step * static_cast<double>(n);
    require_turn(where, angles);
    spdlog::warn("{}: the angles are {:.6g}, {:.6g}, ... degrees, by {}", path_, start, start + step, where);
    return angles;
  }
  double number(const std::string& path) const {
    const auto values = numbers(path);
    require_finite(path, values);
    return values.front();
  }

  // The angles without the views of flats and darks, which NeXus marks by its image_key (0: projection).
  std::vector<double> projections_only(std::vector<double> angles, bool with_warning) const {
    for (const Found& each : found_) {
      if (each.name() != "image_key" || each.count() != angles.size() || !each.is_list()) continue;
      const auto keys = numbers(each.path);
      std::vector<double> kept;
      for (std::size_t n = 0; n < keys.size(); ++n)
        if (keys[n] == 0) kept.push_back(angles[n]);
      if (kept.empty() || kept.size() == angles.size()) break;
      if (with_warning)
        spdlog::warn("{}: of {} views {} are projections by {}; the angles are of these alone", path_, angles.size(),
                     kept.size(), each.path);
      return kept;
    }
    return angles;
  }

  std::vector<double> in_degrees(const std::string& path, std::vector<double> angles) const {
    require_finite(path, angles);
    const std::string unit = units(path);
    double factor = 1;
    if (!unit.empty()) {
      factor = factor_at(path);
    } else if (looks_like_radians(path, angles)) {
      spdlog::warn("{}: {} has no units, and spans half a turn or a turn in radians; taken for radians", path_, path);
      factor = 180 / std::numbers::pi;
    }
    for (double& angle : angles) angle *= factor;
    require_turn(path, angles);
    return angles;
  }

  // Half a turn or a turn in radians, with or without the step to its end. Other spans of this size are one or the
  // other: few scans are of less than 7 degrees.
  bool looks_like_radians(const std::string& path, const std::vector<double>& angles) const {
    const auto [low, high] = std::minmax_element(angles.begin(), angles.end());
    const double span = *high - *low;
    if (!(span > 0) || span > 2.02 * std::numbers::pi || angles.size() < 3) return false;
    const double step = span / static_cast<double>(angles.size() - 1);
    for (const double turn : {std::numbers::pi, 2 * std::numbers::pi})
      if (std::abs(span - turn) < 0.002 * turn || std::abs(span + step - turn) < 0.002 * turn) return true;
    throw InputError(
        fmt::format("{}: {} has no units, and its {} numbers span {:.6g}: degrees or radians? Give it the attribute "
                    "units ('deg' or "
                    "'rad'), or {}",
                    path_, path, angles.size(), span, angles_remedy));
  }

  const std::string& path_;
  H5::H5File file_;
  std::vector<Found> found_;
  std::set<std::string> no_numbers_;  // data sets of other types
  std::size_t visited_ = 0;
};

}  // namespace

std::vector<double> read_angles_of_hdf5(const std::string& path) {
  check_input_file(path, fmt::format("'{}'", path));
  const CapturedStderr captured("HDF5");
  H5::Exception::dontPrint();
  try {
    return AnglesFile(path).angles();
  } catch (const H5::Exception& error) {
    throw InputError(
        fmt::format("{}: the angles cannot be read ({}); a Data Exchange or NeXus file (HDF5) with one angle a view is "
                    "expected, or {}",
                    path, error.getDetailMsg(), angles_remedy));
  }
}

}  // namespace halocline
