#include "algorithms/geometry/geometry_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>

#include "algorithms/geometry/geometry_decompose.hpp"
#include "algorithms/support/decimal_comma.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"

namespace halocline {
namespace {

constexpr std::string_view format_names[] = {"astra cone_vec", "astra parallel3d_vec", "matrices mm",
                                             "matrices pixels"};

Vector3 to_astra(const Vector3& p) {
  return {p[0], -p[2], p[1]};
}
Vector3 from_astra(const Vector3& p) {
  return {p[0], p[2], -p[1]};
}

/// Text after "# key:" in a comment, or nothing.
std::optional<std::string> header_value(std::string_view line, std::string_view key) {
  const auto trim = [](std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
  };
  line = trim(line);
  if (line.empty() || line.front() != '#') return {};
  line = trim(line.substr(1));
  if (line.substr(0, key.size()) != key || line.size() == key.size() || line[key.size()] != ':') return {};
  return std::string(trim(line.substr(key.size() + 1)));
}

struct Row {
  std::vector<double> numbers;
  int line = 0;
};

/// Characters between numbers; where numbers have decimal commas, the comma is none of them.
constexpr std::string_view separators = " \t\r;,", separators_of_commas = separators.substr(0, 4);

/// Calls take(word) for each.
template <class Take>
void for_words(std::string_view text, std::string_view between, Take&& take) {
  while (true) {
    const std::size_t from = text.find_first_not_of(between);
    if (from == std::string_view::npos) return;
    text.remove_prefix(from);
    const std::string_view word = text.substr(0, std::min(text.find_first_of(between), text.size()));
    text.remove_prefix(word.size());
    take(word);
  }
}

std::string_view without_comment(std::string_view line) {
  return line.substr(0, line.find('#'));
}

/// True if the rows are of numbers with decimal commas: some have one between digits, none has a point, and there are
/// 12 or 4 of them a row if other commas than these separate nothing.
bool has_decimal_commas(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  bool found = false;
  while (std::getline(stream, line)) {
    std::size_t words = 0;
    bool others = false;
    for_words(without_comment(line), separators_of_commas, [&](std::string_view word) {
      ++words;
      const bool comma = is_decimal(word, ',');
      found = found || comma;
      others = others || (!comma && word.find_first_of(",.") != std::string_view::npos);
    });
    if (others || (words != 0 && words != 12 && words != 4)) return false;
  }
  return found;
}

std::vector<double> parse_row(std::string_view text, const std::string& where, bool commas) {
  std::vector<double> numbers;
  const auto take = [&](std::string_view given) {
    const std::string changed = commas ? with_points(given) : std::string();
    const std::string_view word = commas ? std::string_view(changed) : given;
    const std::string_view digits = word.size() > 1 && word.front() == '+' ? word.substr(1) : word;
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
      throw InputError(
          fmt::format("{}: '{}' is no finite number; rows of numbers are expected", where, excerpt(given)));
    numbers.push_back(value);
  };
  for_words(text, commas ? separators_of_commas : separators, take);
  return numbers;
}

struct Parsed {
  std::string format;  // one of format_names, or empty
  DetectorPixels detector;
  std::vector<Row> rows;
};

std::array<double, 2> two_numbers(const std::string& text, const std::string& where, bool commas, bool any_sign) {
  const auto numbers = parse_row(text, where, commas);
  if (numbers.size() != 2 || (!any_sign && !(numbers[0] > 0 && numbers[1] > 0)))
    throw InputError(
        fmt::format("{}: '{}'; two {}numbers are expected", where, excerpt(text), any_sign ? "" : "positive "));
  return {numbers[0], numbers[1]};
}

Parsed parse(const std::string& text, const std::string& name) {
  Parsed parsed;
  const bool commas = has_decimal_commas(text);
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string where = fmt::format("{}, line {}", name, number);
    if (const auto format = header_value(line, "format")) {
      if (std::find(std::begin(format_names), std::end(format_names), *format) == std::end(format_names))
        throw InputError(
            fmt::format("{}: the format is '{}'; 'astra cone_vec', 'astra parallel3d_vec', 'matrices mm' "
                        "and 'matrices pixels' can be read",
                        where, excerpt(*format)));
      parsed.format = *format;
    } else if (const auto size = header_value(line, "detector")) {
      const auto values = two_numbers(*size, where, commas, false);
      if (values[0] != std::floor(values[0]) || values[1] != std::floor(values[1]) || values[0] > 1e9 ||
          values[1] > 1e9)
        throw InputError(fmt::format("{}: '{}'; two whole numbers of pixels are expected", where, *size));
      parsed.detector.size = {static_cast<std::size_t>(values[0]), static_cast<std::size_t>(values[1])};
    } else if (const auto pixel = header_value(line, "pixel")) {
      parsed.detector.spacing = two_numbers(*pixel, where, commas, false);
    } else if (const auto origin = header_value(line, "origin")) {
      parsed.detector.origin = two_numbers(*origin, where, commas, true);
    } else {
      auto numbers = parse_row(without_comment(line), where, commas);
      if (!numbers.empty()) parsed.rows.push_back({std::move(numbers), number});
    }
  }
  return parsed;
}

/// Rows of 12; three rows of 4 count as one.
std::vector<Row> rows_of_twelve(const std::vector<Row>& rows, bool matrices, const std::string& name) {
  std::vector<Row> out;
  for (const Row& row : rows) {
    const std::string where = fmt::format("{}, line {}", name, row.line);
    if (row.numbers.size() != 12 && !(matrices && row.numbers.size() == 4))
      throw InputError(fmt::format("{}: {} numbers; {} are expected", where, row.numbers.size(),
                                   matrices ? "12, or 3 lines of 4," : "12"));
    if (row.numbers.size() == 12 && !out.empty() && out.back().numbers.size() != 12)
      throw InputError(
          fmt::format("{}: the matrix before has {} numbers; 12 are expected", where, out.back().numbers.size()));
    if (row.numbers.size() == 12 || out.empty() || out.back().numbers.size() == 12)
      out.push_back(row);
    else
      out.back().numbers.insert(out.back().numbers.end(), row.numbers.begin(), row.numbers.end());
  }
  if (out.empty()) throw InputError(fmt::format("{} holds no view; a row of 12 numbers a view is expected", name));
  if (out.back().numbers.size() != 12)
    throw InputError(
        fmt::format("{}: the last matrix has {} numbers; 12 are expected", name, out.back().numbers.size()));
  return out;
}

Vector3 three(const Row& row, int first) {
  return {row.numbers[first], row.numbers[first + 1], row.numbers[first + 2]};
}

/// True if the rows describe a parallel beam: ASTRA's vectors do not say which beam they mean. The first three numbers
/// of a parallel beam are a direction across the detector; a source would have to be at least a detector's pixel away.
bool looks_parallel(const Row& row) {
  const Vector3 ray = three(row, 0), normal = cross(three(row, 6), three(row, 9));
  return length(cross(ray, normal)) <= 1e-6 * length(ray) * length(normal) && std::abs(length(ray) - 1) < 1e-6;
}

std::string view_name(const std::string& name, std::size_t n, std::size_t count) {
  return fmt::format("{}: projection {} of {}", name, n, count);
}

void read_astra(const std::vector<Row>& rows, const std::string& format, const std::string& name, ScanFile& out) {
  const bool parallel = format.empty() ? looks_parallel(rows.front()) : format == format_names[1];
  if (format.empty())
    out.notes.push_back(fmt::format(
        "taken for {}, as the first three numbers are {}; a line '# format: astra cone_vec' "
        "or '# format: astra parallel3d_vec' in the file says so",
        parallel ? "parallel3d_vec" : "cone_vec", parallel ? "a direction across the detector" : "a position"));
  const std::array<double, 2> pixel{length(three(rows.front(), 6)), length(three(rows.front(), 9))};
  if (out.detector.spacing)
    for (int axis = 0; axis < 2; ++axis)
      if (!(std::abs((*out.detector.spacing)[axis] / pixel[axis] - 1) < 1e-6))
        throw InputError(
            fmt::format("{}: the steps between pixels are {:.9g} x {:.9g} mm, but a pixel is to be {:.9g} "
                        "x {:.9g} mm; leave the size out, or correct it",
                        name, pixel[0], pixel[1], (*out.detector.spacing)[0], (*out.detector.spacing)[1]));
  if (!out.detector.spacing) out.detector.spacing = pixel;
  const auto centre = out.detector.centre();
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const std::string where = view_name(name, n, rows.size());
    Placement p;
    p.parallel = parallel;
    p.source = from_astra(three(rows[n], 0));
    p.u = from_astra(three(rows[n], 6));
    p.v = from_astra(three(rows[n], 9));
    const double du = length(p.u), dv = length(p.v);
    if (!(std::abs(du / pixel[0] - 1) < 1e-6 && std::abs(dv / pixel[1] - 1) < 1e-6))
      throw InputError(
          fmt::format("{}: a pixel is {:.9g} x {:.9g} mm, but {:.9g} x {:.9g} mm in projection 0; a stack "
                      "has one pixel size, so resample its images",
                      where, du, dv, pixel[0], pixel[1]));
    p.detector = add_scaled(add_scaled(from_astra(three(rows[n], 3)), -centre[0] / du, p.u), -centre[1] / dv, p.v);
    out.geometry.views.push_back(view_from_placement(p, where));
  }
}

void read_matrices(const std::vector<Row>& rows, const std::string& format, const std::string& name, ScanFile& out) {
  const bool pixels = format.empty() ? out.detector.spacing.has_value() : format == format_names[3];
  if (pixels && !out.detector.spacing)
    throw InputError(fmt::format(
        "{}: the matrices are in pixels, whose size is not known; give `detector.spacing = DU,DV` in mm", name));
  const std::array<double, 2> spacing = pixels ? *out.detector.spacing : std::array<double, 2>{1, 1};
  const std::array<double, 2> first = pixels ? out.detector.first() : std::array<double, 2>{0, 0};
  for (std::size_t n = 0; n < rows.size(); ++n) {
    Matrix34 m{};
    for (int column = 0; column < 4; ++column) {
      const double w = rows[n].numbers[8 + column];
      for (int axis = 0; axis < 2; ++axis)
        m[4 * axis + column] = spacing[axis] * rows[n].numbers[4 * axis + column] + first[axis] * w;
      m[8 + column] = w;
    }
    out.geometry.views.push_back(view_from_matrix(m, view_name(name, n, rows.size())));
  }
}

std::string text_row(const std::array<double, 12>& numbers) {
  std::string text;
  for (const double number : numbers) text += fmt::format("{}{}", text.empty() ? "" : " ", number == 0 ? 0 : number);
  return text + "\n";
}

std::array<double, 12> astra_row(const View& view, const DetectorPixels& detector) {
  const Placement p = placement_of(view);
  const auto centre = detector.centre();
  const Vector3 parts[] = {p.source, detector_point(view, centre[0], centre[1]), scaled((*detector.spacing)[0], p.u),
                           scaled((*detector.spacing)[1], p.v)};
  std::array<double, 12> row{};
  for (int part = 0; part < 4; ++part) {
    const Vector3 vector = to_astra(parts[part]);
    std::copy(vector.begin(), vector.end(), row.begin() + 3 * part);
  }
  return row;
}

std::array<double, 12> matrix_row(const View& view, const DetectorPixels& detector) {
  Matrix34 m = projection_matrix(view);
  if (!detector.spacing) return m;
  const auto first = detector.first();
  for (int column = 0; column < 4; ++column)
    for (int axis = 0; axis < 2; ++axis)
      m[4 * axis + column] = (m[4 * axis + column] - first[axis] * m[8 + column]) / (*detector.spacing)[axis];
  return m;
}

}  // namespace

bool has_text_format(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line))
    if (header_value(line, "format")) return true;
  return false;
}

ScanFile read_geometry_text(const std::string& text, const std::string& name, const DetectorPixels& detector,
                            const TextFormat* format) {
  Parsed parsed = parse(text, name);
  if (parsed.format.empty() && format == nullptr)
    throw InputError(
        fmt::format("{}: it is not clear what the numbers are; put '# format: astra cone_vec' (or "
                    "astra parallel3d_vec, matrices mm, matrices pixels) in the first line, or give `format = astra` "
                    "or `format = matrices`",
                    name));
  const bool matrices =
      parsed.format.empty() ? *format == TextFormat::matrices : parsed.format.substr(0, 8) == "matrices";
  if (format != nullptr && matrices != (*format == TextFormat::matrices))
    throw InputError(fmt::format("{} says that its format is '{}'; leave `format` out", name, parsed.format));
  ScanFile out;
  require_same_pixels(parsed.detector, detector, name);
  out.detector = detector.or_else(parsed.detector);
  const auto rows = rows_of_twelve(parsed.rows, matrices, name);
  if (matrices)
    read_matrices(rows, parsed.format, name, out);
  else
    read_astra(rows, parsed.format, name, out);
  check_geometry(out.geometry, name);
  return out;
}

std::string geometry_text(const Geometry& geometry, TextFormat format, const DetectorPixels& detector) {
  check_geometry(geometry, "the geometry to be written");
  if (geometry.radius_cylindrical_detector != 0)
    throw InputError(fmt::format("the detector is a cylinder of radius {} mm, which only RTK's XML can say",
                                 geometry.radius_cylindrical_detector));
  refuse_fan_stack(geometry, "the format of ASTRA's vectors and of matrices", "write RTK's XML (.xml)");
  if (format == TextFormat::astra && !detector.spacing)
    throw InputError(
        "ASTRA's vectors hold the steps between pixels, which are not known; give `detector.spacing = DU,DV` in mm");
  const bool astra = format == TextFormat::astra;
  std::string text = fmt::format("# format: {}\n", astra              ? format_names[geometry.parallel() ? 1 : 0]
                                                   : detector.spacing ? format_names[3]
                                                                      : format_names[2]);
  text += !astra
              ? "# a row: the matrix from world mm to the detector, row by row\n"
              : fmt::format("# a row: {}, detector centre, step to the next column, step to the next row; axis z, mm\n",
                            geometry.parallel() ? "ray direction" : "source");
  if (detector.size) text += fmt::format("# detector: {} {}\n", (*detector.size)[0], (*detector.size)[1]);
  if (detector.spacing) text += fmt::format("# pixel: {} {}\n", (*detector.spacing)[0], (*detector.spacing)[1]);
  if (detector.origin) text += fmt::format("# origin: {} {}\n", (*detector.origin)[0], (*detector.origin)[1]);
  for (const View& view : geometry.views)
    text += text_row(astra ? astra_row(view, detector) : matrix_row(view, detector));
  return text;
}

}  // namespace halocline
