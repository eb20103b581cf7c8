#include "algorithms/geometry/geometry_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <ostream>
#include <pugixml.hpp>
#include <string_view>
#include <system_error>

#include "algorithms/support/decimal_comma.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"

namespace halocline {
namespace {

constexpr int deepest = 32;  // levels of elements: they are read by a function that calls itself

enum class Kind { length, angle, collimation };

/// A value of a view that may stand once for all projections.
struct XmlField {
  const char* tag;
  double View::*member;
  Kind kind = Kind::length;
};

// Fields in the order in which RTK writes them, so that its files are reproduced byte for byte.
constexpr XmlField fields[] = {
    {"SourceToIsocenterDistance", &View::sid},
    {"SourceToDetectorDistance", &View::sdd},
    {"SourceOffsetX", &View::source_offset_x},
    {"SourceOffsetY", &View::source_offset_y},
    {"ProjectionOffsetX", &View::projection_offset_x},
    {"ProjectionOffsetY", &View::projection_offset_y},
    {"InPlaneAngle", &View::in_plane_angle, Kind::angle},
    {"OutOfPlaneAngle", &View::out_of_plane_angle, Kind::angle},
    {"CollimationUInf", &View::collimation_u_inf, Kind::collimation},
    {"CollimationUSup", &View::collimation_u_sup, Kind::collimation},
    {"CollimationVInf", &View::collimation_v_inf, Kind::collimation},
    {"CollimationVSup", &View::collimation_v_sup, Kind::collimation},
};

// Open jaws are the largest double, which 15 digits round up to a number that no double holds. They are written rounded
// down, and every collimation from `open_jaw` on is read as open.
constexpr double open_jaw = 1e300;
constexpr const char* open_jaw_text = "1.79769313486231e+308";

// A processing instruction, which is XML's place for what one program alone understands: RTK passes over it.
constexpr std::string_view detector_note = "halocline-detector";

// Version of the format for stacks of fans, which RTK has not: it refuses the file by its version, and does not take it
// for a cone beam. Such files hold no matrices, as no projective map is a stack of fans.
constexpr std::string_view fan_stack_version = "fan stack 1";

bool same_tag(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t from = text.find_first_not_of(space);
    if (from == std::string_view::npos) return out;
    text.remove_prefix(from);
    const std::size_t length = std::min(text.find_first_of(space), text.size());
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Geometry read(DetectorPixels* detector) {
    text_ = read_text_file(path_, fmt::format("the geometry file '{}'", path_), most_geometry_bytes);
    if (text_.empty())
      throw InputError(fmt::format(
          "{}: this geometry file is empty; check the path, or make the file with 'halocline geometry'", path_));

    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(text_.data(), text_.size(), pugi::parse_default | pugi::parse_pi);
    if (!result)
      throw InputError(
          fmt::format("{}, line {}: not well-formed XML ({}); the file is damaged or truncated, so copy or "
                      "make it again",
                      path_, line(result.offset), result.description()));
    const pugi::xml_node root = document.document_element();
    if (!same_tag(root.name(), "RTKThreeDCircularGeometry"))
      throw InputError(
          fmt::format("{}: the root element is <{}>, but a geometry file has <RTKThreeDCircularGeometry>; "
                      "give a geometry file, as RTK or 'halocline geometry' write it",
                      path_, root.name()));
    const std::string_view version = root.attribute("version").value();
    view_.fan_stack = version == fan_stack_version;
    if (version != "2" && version != "3" && !view_.fan_stack)
      throw InputError(
          fmt::format("{}: version \"{}\" of the geometry format; 2, 3 and \"{}\" can be read, so make the file again "
                      "with a present RTK or with 'halocline geometry'",
                      path_, version, fan_stack_version));
    commas_ = has_decimal_commas(root);
    read_children(root, 1);
    check_geometry(geometry_, path_);
    if (detector != nullptr) *detector = detector_in(root);
    return std::move(geometry_);
  }

 private:
  std::size_t line(std::ptrdiff_t offset) const {
    const auto end = std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
    return 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + end, '\n'));
  }

  // True if some number has a decimal comma and none a point.
  static bool has_decimal_commas(const pugi::xml_node& root) {
    struct Walker : pugi::xml_tree_walker {
      bool comma = false, point = false;
      bool for_each(pugi::xml_node& node) override {
        if (node.type() != pugi::node_pcdata) return true;
        for (const std::string_view word : words(node.value())) {
          comma = comma || is_decimal(word, ',');
          point = point || is_decimal(word, '.');
        }
        return !point;
      }
    } walker;
    pugi::xml_node start = root;
    start.traverse(walker);
    return walker.comma && !walker.point;
  }

  // The pixels that write_geometry() noted; none if the note was spoilt.
  static DetectorPixels detector_in(const pugi::xml_node& root) {
    pugi::xml_document note;
    for (const pugi::xml_node& node : root.children())
      if (node.type() == pugi::node_pi && std::string_view(node.name()) == detector_note)
        note.load_string(fmt::format("<pixels {}/>", node.value()).c_str());
    const pugi::xml_node pixels = note.document_element();
    const auto pair = [&](const char* name) -> std::optional<std::array<double, 2>> {
      std::array<double, 2> values{};
      for (int axis = 0; axis < 2; ++axis) {
        const auto attribute = pixels.attribute(fmt::format("{}-{}", name, "uv"[axis]).c_str());
        if (parse(attribute.value(), values[axis]) != std::errc() || !std::isfinite(values[axis])) return {};
      }
      return values;
    };
    const auto size = pair("size"), spacing = pair("pitch");
    if (!size || !spacing || !(std::min((*size)[0], (*size)[1]) >= 1 && std::max((*size)[0], (*size)[1]) <= 1e7) ||
        !(std::min((*spacing)[0], (*spacing)[1]) > 0))
      return {};
    return {std::array{static_cast<std::size_t>((*size)[0]), static_cast<std::size_t>((*size)[1])}, spacing,
            pair("origin")};
  }

  void read_children(const pugi::xml_node& parent, int depth) {
    for (const pugi::xml_node& node : parent.children()) {
      if (node.type() != pugi::node_element) continue;
      if (depth > deepest)
        throw InputError(
            fmt::format("{}, line {}: elements are nested more than {} deep, where a geometry needs 3; give a geometry "
                        "file, as RTK or 'halocline geometry' write it",
                        path_, line(node.offset_debug()), deepest));
      const std::string_view tag = node.name();
      if (same_tag(tag, "Projection")) {
        matrix_.clear();
        angles_ = 0;
        read_children(node, depth + 1);
        require_one_angle(node);
        commit();
      } else if (same_tag(tag, "Matrix")) {
        read_matrix(node);
      } else if (same_tag(tag, "GantryAngle") || same_tag(tag, "Angle")) {  // the second one in old files
        view_.gantry_angle = number(node, node.text().get());
        ++angles_;
      } else if (same_tag(tag, "RadiusCylindricalDetector")) {
        geometry_.radius_cylindrical_detector = number(node, node.text().get());
      } else if (const XmlField* field = std::find_if(std::begin(fields), std::end(fields),
                                                      [&](const XmlField& f) { return same_tag(tag, f.tag); });
                 field != std::end(fields)) {
        view_.*field->member = field->kind == Kind::collimation && is_open(readable(node.text().get()))
                                   ? View{}.*field->member
                                   : number(node, node.text().get());
      } else {
        read_children(node, depth + 1);  // an unknown tag is passed over, but not what it holds
      }
    }
  }

  static std::errc parse(std::string_view text, double& value) {
    const auto parts = words(text);
    if (parts.size() != 1) return std::errc::invalid_argument;
    std::string_view part = parts.front();
    if (part.size() > 1 && part.front() == '+') part.remove_prefix(1);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return end == part.data() + part.size() ? error : std::errc::invalid_argument;
  }

  static bool is_open(std::string_view text) {
    double value = 0;
    const std::errc error = parse(text, value);
    const bool too_large = error == std::errc::result_out_of_range && text.find("e+") != std::string_view::npos;
    return too_large || (error == std::errc() && value >= open_jaw);
  }

  std::string readable(std::string_view text) const { return commas_ ? with_points(text) : std::string(text); }

  double number(const pugi::xml_node& node, std::string_view text) const {
    double value = 0;
    if (parse(readable(text), value) != std::errc() || !std::isfinite(value))
      throw InputError(fmt::format("{}, line {}: <{}> holds \"{}\"; one finite number is expected", path_,
                                   line(node.offset_debug()), node.name(), excerpt(text)));
    return value;
  }

  void read_matrix(const pugi::xml_node& node) {
    const auto parts = words(node.text().get());
    if (parts.size() != 12)
      throw InputError(fmt::format("{}, line {}: projection {}: <{}> holds {} numbers; 12 are expected (3 rows of 4)",
                                   path_, line(node.offset_debug()), geometry_.views.size(), node.name(),
                                   parts.size()));
    matrix_.clear();
    for (const auto part : parts) matrix_.push_back(number(node, part));
  }

  void require_one_angle(const pugi::xml_node& projection) const {
    if (angles_ != 1)
      throw InputError(fmt::format(
          "{}, line {}: projection {} has {} <GantryAngle> elements; each projection needs one of its own, "
          "so {}",
          path_, line(projection.offset_debug()), geometry_.views.size(), angles_ == 0 ? "no" : std::to_string(angles_),
          angles_ == 0 ? "add it" : "remove the others, or put them in <Projection> elements of their own"));
  }

  void commit() {
    if (!matrix_.empty() && view_.fan_stack)
      throw InputError(
          fmt::format("{}: projection {} has a <Matrix>, but the scan is a stack of fans, which no matrix describes; "
                      "remove the <Matrix> elements, or give version \"3\" if it is none",
                      path_, geometry_.views.size()));
    if (!matrix_.empty()) {
      const Matrix34 computed = projection_matrix(view_);
      for (int n = 0; n < 12; ++n)
        if (!(std::abs(matrix_[n] - computed[n]) <= 1e-3))
          throw InputError(
              fmt::format("{}: projection {}: element ({},{}) of the matrix is {:.15g}, but the distances, angles "
                          "and offsets give {:.15g}; correct the parameters, or remove the <Matrix> elements if "
                          "the parameters are right",
                          path_, geometry_.views.size(), n / 4, n % 4, matrix_[n], computed[n]));
    }
    geometry_.views.push_back(view_);
  }

  std::string path_, text_;
  Geometry geometry_;
  View view_;
  bool commas_ = false;  // in place of decimal points
  int angles_ = 0;       // angles of the projection that is being read
  std::vector<double> matrix_;
};

std::string digits(double value) {
  return value == 0 ? "0" : fmt::format("{:.15g}", value);  // no -0
}

/// Angle in [0, 360), after rounding to the digits that are written, too.
std::string angle_text(double degrees) {
  double angle = std::fmod(degrees, 360);
  if (angle < 0) angle += 360;
  const std::string text = digits(angle);
  return text == "360" ? "0" : text;
}

std::string field_text(const XmlField& field, const View& view) {
  const double value = view.*field.member;
  if (field.kind == Kind::angle) return angle_text(value);
  return field.kind == Kind::collimation && value >= open_jaw ? open_jaw_text : digits(value);
}

std::string matrix_text(const View& view) {
  const Matrix34 m = projection_matrix(view);
  std::string text = "    <Matrix>\n";
  for (int row = 0; row < 3; ++row)
    text += fmt::format("      {:>19} {:>19} {:>19} {:>19}\n", digits(m[4 * row]), digits(m[4 * row + 1]),
                        digits(m[4 * row + 2]), digits(m[4 * row + 3]));
  return text + "    </Matrix>\n";
}

std::string note_of(const DetectorPixels& detector) {
  if (!detector.size || !detector.spacing) return {};
  const auto& [columns, rows] = *detector.size;
  const auto& [du, dv] = *detector.spacing;
  std::string text = fmt::format("  <?{} size-u=\"{}\" size-v=\"{}\" pitch-u=\"{}\" pitch-v=\"{}\"", detector_note,
                                 columns, rows, digits(du), digits(dv));
  if (detector.origin)
    text +=
        fmt::format(" origin-u=\"{}\" origin-v=\"{}\"", digits((*detector.origin)[0]), digits((*detector.origin)[1]));
  return text + "?>\n";
}

}  // namespace

Geometry read_geometry(const std::string& path, DetectorPixels* detector) {
  return Reader(path).read(detector);
}

void write_geometry(const Geometry& geometry, std::ostream& stream, const DetectorPixels& detector) {
  stream << geometry_xml(geometry, detector);
}

std::string geometry_xml(const Geometry& geometry, const DetectorPixels& detector) {
  check_geometry(geometry, "the geometry to be written");
  const View& front = geometry.views.front();
  std::vector<XmlField> own;  // the fields that each projection states itself
  std::string text =
      fmt::format("<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version=\"{}\">\n",
                  geometry.fan_stack() ? fan_stack_version : "3");
  text += note_of(detector);
  for (const XmlField& field : fields) {
    const bool constant = std::all_of(geometry.views.begin(), geometry.views.end(),
                                      [&](const View& view) { return view.*field.member == front.*field.member; });
    if (!constant)
      own.push_back(field);
    else if (front.*field.member != View{}.*field.member)
      text += fmt::format("  <{0}>{1}</{0}>\n", field.tag, field_text(field, front));
  }
  if (geometry.radius_cylindrical_detector != 0)
    text += fmt::format("  <RadiusCylindricalDetector>{}</RadiusCylindricalDetector>\n",
                        digits(geometry.radius_cylindrical_detector));
  for (const View& view : geometry.views) {
    text += fmt::format("  <Projection>\n    <GantryAngle>{}</GantryAngle>\n", angle_text(view.gantry_angle));
    for (const XmlField& field : own) text += fmt::format("    <{0}>{1}</{0}>\n", field.tag, field_text(field, view));
    if (!view.fan_stack) text += matrix_text(view);
    text += "  </Projection>\n";
  }
  return text + "</RTKThreeDCircularGeometry>\n";
}

}  // namespace halocline
