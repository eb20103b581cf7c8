#include "algorithms/projectors/user_projector.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "algorithms/projectors/ray_model.hpp"
#include "algorithms/projectors/user_kernels.hpp"
#include "algorithms/support/user_text.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"

namespace halocline {
namespace {

constexpr int version_here = 1;  // PROJECTOR_VERSION_HERE of cl/user_projector.clh
constexpr int most_halo = 64;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;

constexpr const char* about_texts = "a ray model, void trace(TRACE_PARAMETERS), or the kernels project and backproject";

// The text with comments replaced by blanks.
std::string without_comments(const std::string& text) {
  static const std::regex comment(R"(//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)");
  return std::regex_replace(text, comment, " ");
}

// The value of `#define name value`, or of the macro of the caller.
std::optional<std::string> define_of(const std::string& text, const std::string& name) {
  std::smatch found;
  const std::regex line("(?:^|\n)[ \t]*#[ \t]*define[ \t]+" + name + "[ \t]+([^\n]*)");
  if (!std::regex_search(text, found, line)) return std::nullopt;
  const std::string value = found[1].str();
  return value.substr(0, value.find_last_not_of(" \t\r") + 1);
}

bool has_kernel(const std::string& text, const std::string& name) {
  return std::regex_search(text, std::regex(R"((?:__)?kernel\s+void\s+)" + name + R"(\s*\()"));
}

bool has_trace(const std::string& text) {
  return std::regex_search(text, std::regex(R"(\bvoid\s+trace\s*\(\s*TRACE_PARAMETERS\s*\))"));
}

// The text with `#line` around what it includes, so that compilers name the user's lines.
std::string with_lines_named(const std::string& source) {
  static const std::regex include("[ \t]*#[ \t]*include[ \t]*\"([^\"]*)\".*");
  constexpr const char* own = "projector.cl";
  std::string result = fmt::format("#line 1 \"{}\"\n", own);
  std::istringstream in(source);
  std::smatch found;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const bool includes = std::regex_match(line, found, include);
    if (includes) result += fmt::format("#line 1 \"{}\"\n", found[1].str());
    result += line + "\n";
    if (includes) result += fmt::format("#line {} \"{}\"\n", number + 1, own);
  }
  return result;
}

// The parameters of kernels for the tables, and the arguments for functions of the text.
std::string table_macros(const std::map<std::string, std::vector<float>>& tables) {
  std::string parameters, arguments;
  for (const auto& [name, values] : tables) {
    parameters += ", __global const float* restrict " + name;
    arguments += ", " + name;
  }
  return fmt::format("#define TABLE_PARAMETERS{}\n#define TABLE_ARGUMENTS{}\n", parameters, arguments);
}

}  // namespace

UserProjector::UserProjector(const std::string& name, const std::string& source, UserProjectorOptions options)
    : name_(name),
      tables_(std::make_shared<const std::map<std::string, std::vector<float>>>(std::move(options.tables))) {
  const std::string text = without_comments(source);
  ray_model_ = has_trace(text);
  const bool project = has_kernel(text, "project"), backproject = has_kernel(text, "backproject");
  if (ray_model_ ? project || backproject : !project || !backproject)
    throw InputError({.what = name_,
                      .found = ray_model_ && (project || backproject) ? "both a ray model and a pair of kernels"
                               : project                              ? "without the kernel backproject"
                               : backproject                          ? "without the kernel project"
                                                                      : "no projector",
                      .expected = about_texts,
                      .remedy = "docs/projectors has an example of each"});
  const std::string macros = macro_text("the macros", options.macros);
  for (const auto& [table, values] : *tables_) {
    check_identifier("the tables", table);
    if (values.empty())
      throw InputError({.what = "the tables", .found = table + " without numbers", .expected = "at least one"});
  }
  read_defines(macros + text);
  build_options_ = ray_model_ ? "-D RAY_MODEL" : "";
  file_ =
      keep_kernel_text(name_, fmt::format("#pragma OPENCL FP_CONTRACT OFF\n{}{}#include \"user_projector.clh\"\n{}{}",
                                          macros, table_macros(*tables_), with_lines_named(source),
                                          ray_model_ ? "#line 1 \"ray_model.clh\"\n#include \"ray_model.clh\"\n" : ""));
}

UserProjector UserProjector::from_file(const std::filesystem::path& file, UserProjectorOptions options) {
  const std::string what = fmt::format("the projector '{}'", file.string());
  return {what, read_text_file(file.string(), what, most_bytes), std::move(options)};
}

void UserProjector::read_defines(const std::string& text) {
  const auto number_of = [&](const char* define, const std::string& value, double least, double most,
                             const char* expected) {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool whole = end != value.c_str() && (*end == '\0' || std::string(end) == "f");
    if (!whole || !(number >= least && number <= most))
      throw InputError({.what = fmt::format("{} of {}", define, name_), .found = value, .expected = expected});
    return number;
  };
  const auto version = define_of(text, "PROJECTOR_VERSION");
  const std::string wanted = fmt::format("#define PROJECTOR_VERSION {}", version_here);
  if (!version || *version != std::to_string(version_here))
    throw InputError({.what = name_,
                      .found = version ? "PROJECTOR_VERSION " + *version : "without PROJECTOR_VERSION",
                      .expected = '"' + wanted + '"',
                      .remedy = "it says by which version of cl/user_projector.clh it is written"});
  if (const auto weight = define_of(text, "PROJECTOR_LARGEST_WEIGHT"))
    largest_weight_ = number_of("PROJECTOR_LARGEST_WEIGHT", *weight, 1e-30, 1e30, "a positive number of mm");
  if (const auto halo = define_of(text, "PROJECTOR_HALO"))
    halo_ = static_cast<int>(number_of("PROJECTOR_HALO", *halo, 0, most_halo, "0 to 64 slices"));
  if (const auto group = define_of(text, "PROJECTOR_GROUP")) {
    static const std::regex three(R"(\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,4})\s*)");
    std::smatch found;
    if (!std::regex_match(*group, found, three) || found[1] == "0" || found[2] == "0" || found[3] == "0")
      throw InputError({.what = "PROJECTOR_GROUP of " + name_,
                        .found = *group,
                        .expected = "work-items along columns, rows and views, such as 16, 8, 1"});
    for (std::size_t axis = 0; axis < 3; ++axis) group_[axis] = std::stoul(found[axis + 1].str());
  }
}

double UserProjector::largest_weight(const Grid& volume) const {
  const auto& s = volume.spacing;
  return largest_weight_.value_or(2 * std::hypot(s[0], s[1], s[2]));
}

std::shared_ptr<const ProjectionMethod> UserProjector::forward(const Geometry& geometry, const Grid& volume,
                                                               const Grid& projections) const {
  if (ray_model_) return std::make_shared<RayModelProjection>(*this, geometry, volume, projections);
  return std::make_shared<UserProjection>(*this, geometry, volume, projections);
}

std::shared_ptr<const BackprojectionMethod> UserProjector::adjoint(const Geometry& geometry, const Grid& volume,
                                                                   const Grid& projections) const {
  if (ray_model_) return std::make_shared<RayModelBackprojection>(*this, geometry, volume, projections);
  return std::make_shared<UserBackprojection>(*this, geometry, volume, projections);
}

bool is_projector_file(const std::string& name) {
  return name.ends_with(".cl");
}

}  // namespace halocline
