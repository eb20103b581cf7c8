#include "algorithms/geometry/geometry_vendor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <sstream>

#include "algorithms/support/angles.hpp"
#include "algorithms/support/decimal_comma.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n\"");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n\"") - first + 1);
}

std::size_t digits_from(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

/// True if the comma of a number such as "1,005" may separate thousands: behind one to three digits, of which the first
/// is not 0, and before three.
bool may_be_thousands(const std::string& text) {
  const std::size_t first = text.starts_with('-') || text.starts_with('+') ? 1 : 0, before = digits_from(text, first);
  if (before < 1 || before > 3 || text[first] == '0') return false;
  const std::size_t comma = first + before;
  return comma < text.size() && text[comma] == ',' && digits_from(text, comma + 1) == 3 && comma + 4 == text.size();
}

/// Lines of key=value under [section], compared without regard to case; what else there is, is passed over.
class ParameterFile {
 public:
  ParameterFile(const std::string& text, const std::string& name) : name_(name) {
    std::istringstream stream(text);
    std::string line, section;
    while (std::getline(stream, line)) {
      line = trimmed(line);
      if (line.size() > 1 && line.front() == '[' && line.back() == ']')
        sections_.insert(section = lower_case(line.substr(1, line.size() - 2)));
      const auto equals = line.find('=');
      if (equals == std::string::npos) continue;
      const std::string key = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
      const auto [first, added] = values_.emplace(section + "/" + lower_case(key), value);
      if (!added && first->second != value) other_values_.emplace(first->first, value);
      if (is_decimal(value, '.')) with_point_.emplace(section, key + "=" + value);
      if (is_decimal(value, ',') && !may_be_thousands(value)) with_comma_.insert(section);
    }
  }

  /// Throws InputError if there is no such section.
  void require_section(const std::string& section, const std::string& writer) const {
    if (sections_.contains(lower_case(section))) return;
    throw InputError(
        fmt::format("{}: there is no section [{}], which holds the scan's geometry; give the file as {} wrote it",
                    name_, section, writer));
  }

  std::optional<double> find(const std::string& section, const std::string& key) const {
    const auto found = values_.find(lower_case(section + "/" + key));
    if (found == values_.end()) return {};
    if (const auto other = other_values_.find(found->first); other != other_values_.end())
      throw InputError(fmt::format("{}: {} in [{}] is '{}' and, in a later line, '{}'; remove one of the two", name_,
                                   key, section, excerpt(found->second), excerpt(other->second)));
    if (found->second.empty()) return {};
    const std::string text = without_comma(found->second, section, key);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      throw InputError(
          fmt::format("{}: {} in [{}] is '{}'; a finite number is expected", name_, key, section, excerpt(text)));
    return value;
  }

  double need(const std::string& section, const std::string& key) const {
    if (const auto value = find(section, key)) return *value;
    throw InputError(
        fmt::format("{}: {} in [{}] is missing; without it the scan's geometry is not known", name_, key, section));
  }

  std::size_t count(const std::string& section, const std::string& key) const {
    require_no_comma(section, key);
    const double value = need(section, key);
    const std::string& text = values_.at(lower_case(section + "/" + key));
    constexpr double most = 1000000;  // as many as `geometry circular` makes
    if (!(value >= 1) || value != std::floor(value) || value > most)
      throw InputError(fmt::format("{}: {} in [{}] is {}; a whole number from 1 to {} is expected", name_, key, section,
                                   excerpt(text), most));
    return static_cast<std::size_t>(value);
  }

  /// Throws InputError for a whole number with a comma, wherever that may stand.
  void require_no_comma(const std::string& section, const std::string& key) const {
    const auto found = values_.find(lower_case(section + "/" + key));
    if (found == values_.end() || found->second.find(',') == std::string::npos) return;
    throw InputError(fmt::format("{}: {} in [{}] is {}; a whole number from 1 is expected, without a comma", name_, key,
                                 section, excerpt(found->second)));
  }

  double positive(const std::string& section, const std::string& key) const {
    const double value = need(section, key);
    if (!(value > 0))
      throw InputError(fmt::format("{}: {} in [{}] is {}; a positive number is expected", name_, key, section, value));
    return value;
  }

 private:
  // Makes the decimal comma of a number a point. No other number of its section may have a point; and a comma that may
  // stand between thousands needs one elsewhere that does not.
  std::string without_comma(const std::string& text, const std::string& section, const std::string& key) const {
    if (!is_decimal(text, ',')) return text;
    if (const auto other = with_point_.find(lower_case(section)); other != with_point_.end())
      throw InputError(fmt::format(
          "{}: {} in [{}] is '{}', with a decimal comma, but {} has a point; write all numbers with a point", name_,
          key, section, excerpt(text), excerpt(other->second)));
    if (may_be_thousands(text) && !commas_are_decimal(lower_case(section)))
      throw InputError(
          fmt::format("{}: {} in [{}] is '{}', whose comma may be a decimal one or stand between thousands, and no "
                      "other number of the file says which; write the number with a point, or without thousands",
                      name_, key, section, excerpt(text)));
    return with_points(text);
  }

  bool commas_are_decimal(const std::string& section) const {
    return with_comma_.contains(section) || (!with_comma_.empty() && with_point_.empty());
  }

  std::string name_;
  std::map<std::string, std::string> values_, other_values_;  // by section/key: the first value; one that differs
  std::map<std::string, std::string> with_point_;             // by section: the first number with a point
  std::set<std::string> with_comma_;  // sections in which a number has a comma that can only be a decimal one
  std::set<std::string> sections_;
};

// The volume, if all of it is there and makes sense.
std::optional<Grid> voxels_of(const ParameterFile& file, const std::string& section) {
  std::array<std::size_t, 3> size{};
  std::array<double, 3> spacing{};
  for (int axis = 0; axis < 3; ++axis) {
    const char name = "XYZ"[axis];
    file.require_no_comma(section, fmt::format("Voxels{}", name));
    const auto count = file.find(section, fmt::format("Voxels{}", name));
    const auto width = file.find(section, fmt::format("VoxelSize{}", name));
    const double offset = file.find(section, fmt::format("Offset{}", name)).value_or(0);
    if (!count || !width || !(*count >= 1 && *count <= 1e5) || *count != std::floor(*count) || !(*width > 0) ||
        offset != 0)
      return {};
    size[axis] = static_cast<std::size_t>(*count);
    spacing[axis] = *width;
  }
  return default_grid(size, spacing);
}

}  // namespace

ScanFile read_xtekct(const std::string& text, const std::string& name) {
  const ParameterFile file(text, name);
  const std::string s = "XTekCT";
  file.require_section(s, "Nikon's software");
  ScanFile out;
  out.detector.size = {file.count(s, "DetectorPixelsX"), file.count(s, "DetectorPixelsY")};
  out.detector.spacing = {file.positive(s, "DetectorPixelSizeX"), file.positive(s, "DetectorPixelSizeY")};
  out.volume = voxels_of(file, s);
  out.from_top = true;
  if (const auto white = file.find(s, "WhiteLevel"); white && *white > 0) out.white_level = *white;

  View view;
  view.sid = file.need(s, "SrcToObject");
  view.sdd = file.positive(s, "SrcToDetector");
  const double top = file.find(s, "CentreOfRotationTop").value_or(0),
               bottom = file.find(s, "CentreOfRotationBottom").value_or(0);
  const double offset = file.find(s, "ObjectOffsetX").value_or(0.5 * (top + bottom) * view.sid / view.sdd);
  const double height = static_cast<double>((*out.detector.size)[1]) * (*out.detector.spacing)[1];
  const auto given_roll = file.find(s, "ObjectRoll");
  const double roll = given_roll ? *given_roll * degree : -std::atan2(top - bottom, height);
  const double tilt = file.find(s, "ObjectTilt").value_or(0) * degree;

  // The images' columns run to the left as the source sees them and their rows downwards, which is the detector turned
  // by 180 degrees. The axis stands at +offset along the columns, and its lower end leans like (sin roll, cos roll cos
  // tilt, cos roll sin tilt) in (columns, rows, towards the source): the rotation's y column with the other sign.
  view.source_offset_x = -offset;
  view.projection_offset_x = -offset + file.find(s, "DetectorOffsetX").value_or(0);
  view.projection_offset_y = -file.find(s, "DetectorOffsetY").value_or(0);
  const double lean = std::atan2(std::sin(roll), std::cos(roll) * std::cos(tilt)) / degree;
  view.in_plane_angle = lean > 0 ? lean - 180 : lean + 180;
  view.out_of_plane_angle = std::asin(std::cos(roll) * std::sin(tilt)) / degree;

  const std::size_t views = file.count(s, "Projections");
  const double first = file.find(s, "InitialAngle").value_or(0), step = file.need(s, "AngularStep");
  if (step == 0 && views > 1)
    throw InputError(
        fmt::format("{}: AngularStep is 0 for {} projections; give the step of the turntable", name, views));
  for (std::size_t n = 0; n < views; ++n) {
    view.gantry_angle = first + step * static_cast<double>(n);
    out.geometry.views.push_back(view);
  }
  check_geometry(out.geometry, name);
  return out;
}

ScanFile read_pca(const std::string& text, const std::string& name) {
  const ParameterFile file(text, name);
  for (const char* section : {"Geometry", "CT", "Detector", "Image"}) file.require_section(section, "the scanner");
  ScanFile out;
  out.detector.size = {file.count("Image", "DimX"), file.count("Image", "DimY")};
  const double pixel = file.positive("Detector", "PixelsizeX");
  out.detector.spacing = {pixel, file.find("Detector", "PixelsizeY").value_or(pixel)};
  for (const char* key : {"Tilt", "DetectorRot"})
    if (file.find("Geometry", key).value_or(0) != 0)
      throw InputError(
          fmt::format("{}: {} in [Geometry] is {} degrees, whose sense is not documented; set it to 0 and "
                      "give the angle to `Geometry::views` as `out_of_plane_angle` or `in_plane_angle`",
                      name, key, *file.find("Geometry", key)));
  View view;
  view.sid = file.need("Geometry", "FOD");
  view.sdd = file.positive("Geometry", "FDD");
  double* const offsets[] = {&view.projection_offset_x, &view.projection_offset_y};
  for (int axis = 0; axis < 2; ++axis)
    if (const auto foot = file.find("Geometry", axis == 0 ? "cx" : "cy"))
      *offsets[axis] =
          (0.5 * (static_cast<double>((*out.detector.size)[axis]) - 1) - *foot) * (*out.detector.spacing)[axis];
  const std::size_t views = file.count("CT", "NumberImages");
  const double sector = file.need("CT", "RotationSector");
  if (sector == 0 && views > 1)
    throw InputError(
        fmt::format("{}: RotationSector in [CT] is 0 for {} images; give the sector in degrees", name, views));
  for (std::size_t n = 0; n < views; ++n) {
    view.gantry_angle = sector * static_cast<double>(n) / static_cast<double>(views);
    out.geometry.views.push_back(view);
  }
  out.sense =
      "a .pca file does not say which way the table turns: if the volume comes out doubled, negate the "
      "angles with `gantry_angle = -gantry_angle`";
  if (file.find("Geometry", "CalibValue").value_or(0) != 0)
    out.notes.push_back(
        fmt::format("CalibValue {} is not used, as its unit is not documented; find the axis with "
                    "`find_axis()`",
                    *file.find("Geometry", "CalibValue")));
  check_geometry(out.geometry, name);
  return out;
}

}  // namespace halocline
