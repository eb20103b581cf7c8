#include "algorithms/projectors/user_projector.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "algorithms/projectors/projector_text.hpp"
#include "algorithms/projectors/ray_model.hpp"
#include "algorithms/projectors/user_kernels.hpp"
#include "algorithms/support/user_text.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/text_encoding.hpp"

namespace halocline {
namespace {

constexpr int version_here = 1;  // of cl/user_projector.clh
constexpr int most_halo = 64;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;

constexpr const char* about_texts = "a ray model, void trace(TRACE_PARAMETERS), or the kernels project and backproject";

// The value of a define, by the caller's macros or by the text, which may define it once.
std::optional<std::string> define_of(const ProjectorText& text, const std::map<std::string, std::string>& macros,
                                     const std::string& name, const std::string& projector) {
  if (const auto macro = macros.find(name); macro != macros.end()) return macro->second;
  const auto found = text.defines.find(name);
  if (found == text.defines.end()) return std::nullopt;
  if (found->second.size() > 1)
    throw InputError({.what = fmt::format("{} of {}", name, projector),
                      .found = fmt::format("defined {} times", found->second.size()),
                      .expected = "one define",
                      .remedy = "where a condition (#if) depends on the compiler, the toolkit reads all its branches"});
  return found->second.front();
}

// Numbers n, n, n from 1 to 9999.
bool read_group(const std::string& text, std::array<std::size_t, 3>& group) {
  std::istringstream in(text);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    char comma = ',';
    int number = 0;
    if ((axis > 0 && !(in >> comma)) || comma != ',' || !(in >> number) || number < 1 || number > 9999) return false;
    group[axis] = static_cast<std::size_t>(number);
  }
  return (in >> std::ws).eof();
}

// The parameters of kernels for the tables, and the arguments for functions of the text.
std::string table_macros(const std::map<std::string, std::vector<float>>& tables) {
  std::string parameters, arguments, counts;
  for (const auto& [name, values] : tables) {
    parameters += ", __global const float* restrict " + name;
    arguments += ", " + name;
    counts += fmt::format("#define {}_count {}\n", name, values.size());
  }
  return fmt::format("#define TABLE_PARAMETERS{}\n#define TABLE_ARGUMENTS{}\n{}", parameters, arguments, counts);
}

// The values of macros before the text: the caller's, and those of table_macros() that conditions may compare.
std::map<std::string, std::string> known_macros(const UserProjectorOptions& options) {
  std::map<std::string, std::string> known = options.macros;
  for (const auto& [name, values] : options.tables) known[name + "_count"] = std::to_string(values.size());
  return known;
}

thread_local const MemoryProjectors::Map* memory_projectors = nullptr;

}  // namespace

UserProjector::UserProjector(const std::string& name, const std::string& given, UserProjectorOptions options)
    : name_(name) {
  const std::string source = decoded_text(given, name_);
  const ProjectorText text = read_projector_text(source, known_macros(options));
  tables_ = std::make_shared<const std::map<std::string, std::vector<float>>>(std::move(options.tables));
  ray_model_ = text.trace;
  knows_ends_ = text.knows_ends;
  lines_ = {text.project, text.backproject};
  const bool project = text.project > 0, backproject = text.backproject > 0;
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
  read_defines(text, options.macros);
  build_options_ = ray_model_ ? "-D RAY_MODEL" : "";
  file_ =
      keep_kernel_text(name_, fmt::format("#pragma OPENCL FP_CONTRACT OFF\n{}{}#include \"user_projector.clh\"\n{}{}",
                                          macros, table_macros(*tables_), with_lines_named(source),
                                          ray_model_ ? "#line 1 \"ray_model.clh\"\n#include \"ray_model.clh\"\n" : ""));
}

UserProjector UserProjector::from_file(const std::filesystem::path& file, UserProjectorOptions options) {
  if (memory_projectors != nullptr)
    if (const auto found = memory_projectors->find(file.string()); found != memory_projectors->end()) {
      if (!options.tables.empty())
        throw InputError("`projector_table` belongs to a projector's file; a Projector has tables of its own");
      return found->second;
    }
  const std::string what = fmt::format("the projector '{}'", file.string());
  return {what, read_text_file(file.string(), what, most_bytes), std::move(options)};
}

void UserProjector::read_defines(const ProjectorText& text, const std::map<std::string, std::string>& macros) {
  const auto value_of = [&](const char* define) { return define_of(text, macros, define, name_); };
  const auto number_of = [&](const char* define, const std::string& value, double least, double most,
                             const char* expected) {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool whole = end != value.c_str() && (*end == '\0' || std::string(end) == "f");
    if (!whole || !(number >= least && number <= most))
      throw InputError({.what = fmt::format("{} of {}", define, name_), .found = value, .expected = expected});
    return number;
  };
  const auto version = value_of("PROJECTOR_VERSION");
  const std::string wanted = fmt::format("#define PROJECTOR_VERSION {}", version_here);
  if (!version || *version != std::to_string(version_here))
    throw InputError({.what = name_,
                      .found = version ? "PROJECTOR_VERSION " + *version : "without PROJECTOR_VERSION",
                      .expected = '"' + wanted + '"',
                      .remedy = "it says by which version of cl/user_projector.clh it is written"});
  if (const auto weight = value_of("PROJECTOR_LARGEST_WEIGHT"))
    largest_weight_ = number_of("PROJECTOR_LARGEST_WEIGHT", *weight, 1e-20, 1e20, "1e-20 to 1e20 mm");
  const auto halo = value_of("PROJECTOR_HALO");
  if (halo && ray_model_)
    throw InputError({.what = "PROJECTOR_HALO of " + name_,
                      .found = "given for a ray model",
                      .expected = "one of a pair of kernels",
                      .remedy = "take it away: the toolkit knows which slices a ray model reads"});
  if (halo) halo_ = static_cast<int>(number_of("PROJECTOR_HALO", *halo, 0, most_halo, "0 to 64 slices"));
  if (const auto group = value_of("PROJECTOR_GROUP")) {
    if (!read_group(*group, group_))
      throw InputError({.what = "PROJECTOR_GROUP of " + name_,
                        .found = *group,
                        .expected = "work-items along columns, rows and views, such as 16, 8, 1"});
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

MemoryProjectors::MemoryProjectors(const Map* projectors) : before_(std::exchange(memory_projectors, projectors)) {}

MemoryProjectors::~MemoryProjectors() {
  memory_projectors = before_;
}

bool is_projector_file(const std::string& name) {
  return name.ends_with(".cl");
}

}  // namespace halocline
