#include "capi/verb.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/system/error.hpp"

namespace halocline::capi {
namespace {

struct NamedVerb {
  const char* name;
  std::unique_ptr<Verb> (*make)();
};
constexpr NamedVerb verbs[] = {{"fdk", make_fdk},
                               {"project", make_project},
                               {"backproject", make_backproject},
                               {"denoise", make_denoise},
                               {"reconstruct", make_reconstruct}};

bool stands_for(const std::string& pattern, const std::string& name) {
  if (pattern.back() != '*') return pattern == name;
  const std::size_t length = pattern.size() - 1;
  const std::string number = name.substr(std::min(length, name.size()));
  return name.compare(0, length, pattern, 0, length) == 0 && !number.empty() &&
         number.find_first_not_of("0123456789") == std::string::npos && (number == "0" || number.front() != '0');
}

InputError missing(const char* kind, const std::string& name) {
  return InputError({.what = fmt::format("the {} `{}`", kind, name),
                     .found = "missing",
                     .expected = "an array",
                     .remedy = fmt::format("give it to the job by halocline_job_{}()", kind)});
}

}  // namespace

const Geometry& Work::geometry() const {
  if (geometry_ == nullptr)
    throw InputError({.what = "the geometry",
                      .found = "missing",
                      .expected = "that of the scan",
                      .remedy = "give it to the job by halocline_job_geometry()"});
  return *geometry_;
}

const VolumeSource* Work::input(const std::string& name) const {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : found->second.get();
}

VolumeSink* Work::output(const std::string& name) const {
  const auto found = outputs_.find(name);
  return found == outputs_.end() ? nullptr : found->second.get();
}

const VolumeSource& Work::required_input(const std::string& name) const {
  const VolumeSource* source = input(name);
  if (source == nullptr) throw missing("input", name);
  return *source;
}

VolumeSink& Work::required_output(const std::string& name) const {
  VolumeSink* sink = output(name);
  if (sink == nullptr) throw missing("output", name);
  return *sink;
}

Volume Work::copy_of(const std::string& name) const {
  const VolumeSource* source = input(name);
  return source == nullptr ? Volume() : read_volume(*source);
}

Verb::Verb() {
  settings_.add("allow-nonfinite", allows_nonfinite_, "Take NaN and infinite values instead of refusing them");
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const NamedVerb& verb : verbs) names.emplace_back(verb.name);
  return names;
}

std::unique_ptr<Verb> make_verb(const std::string& name) {
  for (const NamedVerb& verb : verbs)
    if (verb.name == name) return verb.make();
  throw InputError({.what = "`verb`", .found = "\"" + name + "\"", .expected = either(verb_names())});
}

void require_size(const Grid& grid, const std::string& name, const Grid& wanted, const std::string& of) {
  if (grid.size == wanted.size) return;
  const auto text = [](const Grid& each) {
    return fmt::format("{} x {} x {}", each.size[0], each.size[1], each.size[2]);
  };
  throw InputError({.what = fmt::format("the size of `{}`", name),
                    .found = text(grid),
                    .expected = fmt::format("that of {}, {}", of, text(wanted))});
}

void require_array_name(const std::string& name, const std::vector<std::string>& names, const std::string& kind) {
  if (std::any_of(names.begin(), names.end(), [&](const std::string& each) { return stands_for(each, name); })) return;
  throw InputError({.what = fmt::format("the {} `{}`", kind, name),
                    .found = "none of this verb",
                    .expected = either(names) + (names.back().back() == '*' ? " (a number from 0 on)" : "")});
}

std::string numbered(const std::string& prefix, std::size_t number) {
  return fmt::format("{}-{}", prefix, number);
}

void put_run(nlohmann::json& results, const RunResult& run) {
  results["seconds"] = run.seconds;
  results["peak_bytes"] = run.peak_bytes;
  results["bus_bytes"] = run.bus_bytes;
}

std::vector<float> no_tables(const std::string& image) {
  throw InputError("`projector_table` names the image '" + image +
                   "', and this interface reads no files; take the command, Python, or UserProjector of C++");
}

}  // namespace halocline::capi
