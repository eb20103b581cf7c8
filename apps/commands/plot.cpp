// halocline plot
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "apps/commands/subcommands.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "apps/options/file_names.hpp"
#include "apps/report/curve_svg.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

using nlohmann::json;

struct PlotCommand {
  std::vector<std::string> reports, values;
  std::string output;
};

struct DrawnValue {
  const char *name, *title;
  bool log;
};
// In the order of interest.
constexpr DrawnValue drawn_values[] = {{"truth_relative", "relative error to the truth", true},
                                       {"truth_psnr", "PSNR to the truth, dB", false},
                                       {"truth_rmse", "RMS error to the truth", true},
                                       {"relative_gap", "relative gap", true},
                                       {"normal_residual", "normal residual", true},
                                       {"residual", "residual", true},
                                       {"fidelity", "change of the image, ||u - f||", false},
                                       {"total_variation", "total variation", false}};

std::vector<std::string> drawn_value_names() {
  std::vector<std::string> names;
  for (const DrawnValue& each : drawn_values) names.emplace_back(each.name);
  return names;
}

struct History {
  std::string name;
  json records;

  bool has(const char* value) const {
    return std::ranges::any_of(records, [&](const json& record) { return record.contains(value); });
  }
  // The value over seconds or over iterations.
  Curve curve(const DrawnValue& value, bool over_seconds) const {
    const char* count = records.front().contains("passes") ? "passes" : "iteration";
    Curve curve{name,        over_seconds ? "seconds" : count == std::string("passes") ? "passes" : "iterations",
                value.title, {},
                {},          false,
                value.log};
    for (const json& record : records) {
      if (!record.contains(value.name) || !record[value.name].is_number()) continue;
      curve.x.push_back(record.at(over_seconds ? "seconds" : count));
      curve.y.push_back(record.at(value.name));
    }
    return curve;
  }
};

// The histories of a report: of its results, and of runs with results of their own.
std::vector<History> histories_of(const std::string& path) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
  const std::string file = read_text_file(path, fmt::format("the report '{}'", path), most_bytes);
  const json report = json::parse(file, nullptr, false);
  if (report.is_discarded())
    throw InputError(fmt::format("'{}' is no JSON, or ends too early; write it again by --report", path));
  const auto name = std::filesystem::path(path).stem().string();
  std::vector<History> found;
  if (report.is_object() && report.contains("results") && report["results"].is_object()) {
    const json& results = report["results"];
    const auto take = [&](const std::string& of, const json& part) {
      if (!part.is_object() || !part.contains("history") || !part["history"].is_array()) return;
      const json& records = part["history"];
      const auto whole = [](const json& record) {
        if (!record.is_object()) return false;
        const auto number = [&](const char* key) { return record.contains(key) && record[key].is_number(); };
        return number("seconds") && (number("passes") || number("iteration"));
      };
      if (!records.empty() && std::ranges::all_of(records, whole)) found.push_back({of, records});
    };
    take(name, results);
    for (const auto& [part, value] : results.items()) take(name + ": " + part, value);
  }
  if (found.empty())
    throw InputError(
        fmt::format("'{}' is no report with a history; write one by --report of reconstruct, denoise or "
                    "fdk --denoise",
                    path));
  return found;
}

// The values that were asked for; else the errors to a truth, or the first value that all histories have.
std::vector<DrawnValue> chosen(const std::vector<std::string>& values, const std::vector<History>& histories) {
  std::vector<DrawnValue> result;
  for (const DrawnValue& each : drawn_values) {
    const bool wanted = std::ranges::find(values, each.name) != values.end();
    const bool known = std::ranges::all_of(histories, [&](const History& of) { return of.has(each.name); });
    const bool any = std::ranges::any_of(histories, [&](const History& of) { return of.has(each.name); });
    if (wanted && !any)
      throw InputError(fmt::format("--value {}: none of the reports has it{}", each.name,
                                   std::string(each.name).starts_with("truth")
                                       ? "; run reconstruct or denoise with --truth"
                                       : "; leave it out"));
    const bool second = !result.empty() && each.name != std::string("truth_psnr");
    if (values.empty() ? known && !second : wanted) result.push_back(each);
  }
  if (result.empty())
    throw InputError(fmt::format("the reports have no value in common; name one by --value, of {}",
                                 fmt::join(drawn_value_names(), ", ")));
  return result;
}

void run_plot(Job& job, const PlotCommand& command) {
  for (const auto& path : command.reports)
    if (!std::filesystem::is_directory(path)) job.input("FILE", path);
  require_svg("-o", command.output);
  job.output("-o", command.output);
  std::vector<History> histories;
  for (const auto& path : command.reports)
    for (History& each : histories_of(path)) histories.push_back(std::move(each));
  std::vector<std::vector<std::vector<Curve>>> rows;
  std::vector<std::string> titles;
  for (const DrawnValue& value : chosen(command.values, histories)) {
    titles.emplace_back(value.title);
    auto& row = rows.emplace_back(2);
    for (const History& history : histories)
      for (const bool over_seconds : {false, true}) row[over_seconds].push_back(history.curve(value, over_seconds));
  }
  const std::string what = fmt::format("{} of {} over iterations and seconds", fmt::join(titles, ", "),
                                       plural(histories.size(), "run", "runs"));
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  write_file_atomically(command.output, [&](std::ostream& out) { out << curves_svg_file(rows); });
  job.results() = {{"runs", histories.size()}, {"values", titles}};
  job.say(fmt::format("{}: {}", command.output, what));
}

}  // namespace

std::unique_ptr<Command> plot_command() {
  auto sub = std::make_unique<Command>("plot", "Curves of several runs in one picture, of their reports (SVG)");
  Settings& settings = sub->settings;
  auto command = std::make_shared<PlotCommand>();
  settings.add("reports", command->reports, "Files of --report of reconstruct, denoise or fdk --denoise")
      .positional()
      .required()
      .unit("FILE")
      .file(FileKind::json, false, true);
  settings
      .add("value", command->values,
           "What is drawn, over iterations or passes and over seconds. Default: the error to the truth, else what all "
           "reports have")
      .one_of(drawn_value_names())
      .unit("NAME");
  settings.add("output", command->output, "Picture to write (.svg)")
      .named("-o,--output")
      .required()
      .writes(FileKind::picture);
  sub->footer = "Example:\n  halocline plot cgls.json spdhg.json --value truth_psnr -o curves.svg";
  sub->run = [command](Job& job) { run_plot(job, *command); };
  return sub;
}

}  // namespace halocline
