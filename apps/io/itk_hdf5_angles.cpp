#include <fmt/format.h>
#include <fmt/ranges.h>
#include <itk_H5Cpp.h>
#include <itk_hdf5.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include "apps/io/hdf5_angles.hpp"
#include "host/captured_stderr.hpp"
#include "host/error.hpp"
#include "host/input_file.hpp"
#include "host/lower_case.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_views = 10000000, most_objects = 100000, most_shown = 20;
constexpr const char* angles_remedy =
    "write the angles to a text file and use `CircularOptions::angles`, or keep them as /exchange/theta";

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

class AnglesFile {
 public:
  explicit AnglesFile(const std::string& path) : path_(path), file_(path, H5F_ACC_RDONLY) {
    look_into(file_.openGroup("/"), "/", 0);
  }

  std::vector<double> angles() {
    if (has("/exchange/theta")) return projections_only("/exchange/theta");
    if (const auto path = by_name()) {
      if (find(*path)->name() != "rotation_angle") spdlog::warn("{}: the angles are taken from {}", path_, *path);
      return projections_only(*path);
    }
    if (const auto steps = by_steps()) return *steps;
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
      } catch (const H5::Exception&) {  // of a link that leads nowhere
      }
    }
  }

  void add(const std::string& path) {
    const H5::DataSet data = file_.openDataSet(path);
    const auto kind = data.getTypeClass();
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) return;
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

  // In lower case, without blanks; of a text or of the first of several.
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

  // The list whose name says a rotation angle. Several that hold the same are one.
  std::optional<std::string> by_name() const {
    static const std::vector<std::string> exact{
        "rotation_angle", "rotation_angles",   "theta", "thetas", "angles", "angle", "rot_angle", "rot_angles",
        "rotangle",       "projection_angles", "omega"};
    std::vector<std::string> paths;
    for (const std::string& name : exact) {
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
    if (paths.empty()) return {};
    const auto first = numbers(paths.front());
    for (const std::string& other : paths)
      if (numbers(other) != first || units(other) != units(paths.front()))
        throw InputError(fmt::format("{}: several lists of angles hold different numbers: {}; {}", path_,
                                     fmt::join(paths, ", "), angles_remedy));
    return paths.front();
  }

  // Of a list whose name has a piece that rotation angles have, too.
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

  // Of Data Exchange's process/acquisition/rotation: start, step and number. The start lies beside the step; the number
  // may lie elsewhere.
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
  double number(const std::string& path) const { return numbers(path).front(); }

  // Without the views of flats and darks, which NeXus marks by its image_key (0: projection).
  std::vector<double> projections_only(const std::string& path) {
    auto angles = in_degrees(path, numbers(path));
    for (const Found& each : found_) {
      if (each.name() != "image_key" || each.count() != angles.size() || !each.is_list()) continue;
      const auto keys = numbers(each.path);
      std::vector<double> kept;
      for (std::size_t n = 0; n < keys.size(); ++n)
        if (keys[n] == 0) kept.push_back(angles[n]);
      if (kept.empty() || kept.size() == angles.size()) break;
      spdlog::warn("{}: of {} views {} are projections by {}; the angles are of these alone", path_, angles.size(),
                   kept.size(), each.path);
      return kept;
    }
    return angles;
  }

  std::vector<double> in_degrees(const std::string& path, std::vector<double> angles) const {
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
  std::size_t visited_ = 0;
};

}  // namespace

std::vector<double> read_hdf5_angles(const std::string& path) {
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
