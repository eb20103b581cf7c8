#include "apps/job/report_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/job/report.hpp"

namespace halocline {
namespace {

using nlohmann::json;

std::string decimal_bytes(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.3g} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.3g} MB", bytes / 1e6);
  return fmt::format("{:.3g} GB", bytes / 1e9);
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (!value.is_array()) return value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::vector<std::string> words;
  for (const auto& each : value) words.push_back(text_of(each));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string grid_text(const json& grid) {
  std::vector<std::string> sizes, spacings;
  for (const auto& each : grid.at("size")) sizes.push_back(text_of(each));
  for (const auto& each : grid.at("spacing_mm")) spacings.push_back(text_of(each));
  return fmt::format("{} of {} mm", fmt::join(sizes, " x "), fmt::join(spacings, " x "));
}

// "relative_gap" as "relative gap".
std::string spelled_out(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void add(std::vector<FactSection>& sections, FactSection section) {
  if (!section.facts.empty()) sections.push_back(std::move(section));
}

const std::set<std::string> certified{"relative_gap", "gap", "primal", "dual", "maximum", "projections_within"};

FactSection result_facts(const std::string& title, const json& results) {
  FactSection section{title, {}};
  for (const auto& [name, value] : results.items()) {
    const bool plain = value.is_primitive() ||
                       (value.is_array() && !value.empty() && value.size() < 16 &&
                        std::all_of(value.begin(), value.end(), [](const json& each) { return each.is_primitive(); }));
    if (value.is_object() && value.contains("size") && value.contains("spacing_mm"))
      section.facts.push_back({spelled_out(name), grid_text(value)});
    else if (plain && !certified.contains(name) && !value.is_null())
      section.facts.push_back({spelled_out(name), text_of(value)});
  }
  return section;
}

FactSection certificate(const json& results) {
  FactSection section{"Certificate", {}};
  if (!results.contains("relative_gap") || !results["relative_gap"].is_number()) return section;
  const double gap = results["relative_gap"];
  section.facts.push_back({"relative gap", fmt::format("{:.3g}", gap)});
  section.facts.push_back(
      {"meaning", gap < 1
                      ? fmt::format("no image has an objective more than {:.2g} % below that of this one", 100 * gap)
                      : std::string("no bound on the least objective is known yet")});
  for (const char* name : {"primal", "dual", "gap", "maximum", "projections_within"})
    if (results.contains(name) && results[name].is_number())
      section.facts.push_back({spelled_out(name), fmt::format("{:.8g}", results[name].get<double>())});
  section.note =
      "primal is the objective of this image, dual a value that no image comes below, and the relative gap is "
      "(primal - dual) / primal; of a reconstruction this holds for images up to the maximum. It tells how well the "
      "problem that was posed is solved, and nothing about whether its "
      "model and its strength suit the data.";
  return section;
}

FactSection device_facts(const json& report) {
  FactSection section{"Devices", {}};
  if (!report.contains("devices")) return section;
  for (const auto& device : report["devices"])
    section.facts.push_back(
        {text_of(device.at("name")),
         fmt::format("{}, {}, driver {}, {} of memory, budget {}", text_of(device.at("type")),
                     text_of(device.at("version")), text_of(device.at("driver")),
                     decimal_bytes(device.at("global_memory_bytes")), decimal_bytes(device.at("budget_bytes")))});
  if (report.contains("host_peak_bytes"))
    section.facts.push_back({"host memory, most", decimal_bytes(report["host_peak_bytes"])});
  return section;
}

FactSection plan_facts(const json& report) {
  FactSection section{"Plan and runs", {}};
  if (!report.contains("runs")) return section;
  for (const auto& [name, run] : report["runs"].items()) {
    const auto& plan = run.at("plan");
    const std::size_t slabs = plan.contains("slabs") ? plan["slabs"].size() : 0;
    section.facts.push_back(
        {name, fmt::format("{} slab{}, {} iteration{}", slabs, slabs == 1 ? "" : "s", text_of(run.at("iterations")),
                           run.at("iterations") == 1 ? "" : "s") +
                   fmt::format("\ntime {} (forecast {})", seconds_text(run["actual"]["seconds"]),
                               seconds_text(run["predicted"]["seconds"])) +
                   fmt::format("\ndevice memory {} (forecast {})", decimal_bytes(run["actual"]["device_peak_bytes"]),
                               decimal_bytes(run["predicted"]["device_peak_bytes"])) +
                   fmt::format("\nover the bus {} (forecast {})", decimal_bytes(run["actual"]["bus_bytes"]),
                               decimal_bytes(run["predicted"]["bus_bytes"]))});
  }
  return section;
}

FactSection file_facts(const json& report) {
  FactSection section{"Inputs and outputs", {}};
  for (const char* kind : {"inputs", "outputs"})
    for (const auto& file : report.at(kind)) {
      std::string text = text_of(file.at("path"));
      if (file.contains("grid")) text += "\n" + grid_text(file["grid"]);
      if (file.contains("component")) text += ", " + text_of(file["component"]);
      section.facts.push_back({std::string(kind) == "inputs" ? text_of(file.at("option")) + " (read)"
                                                             : text_of(file.at("option")) + " (written)",
                               text});
    }
  return section;
}

struct Measure {
  const char *name, *title;
  bool log;
};

constexpr Measure measures[] = {{"relative_gap", "relative gap", true},
                                {"normal_residual", "normal residual", true},
                                {"residual", "residual", true},
                                {"total_variation", "total variation", false}};

Curve curve_of(const Measure& measure, const std::string& of, const json& history) {
  Curve curve{of.empty() ? "Convergence: " + std::string(measure.title) : of + ": " + measure.title,
              {},
              measure.title,
              {},
              {},
              false,
              measure.log};
  for (const auto& record : history) {
    if (!record.contains(measure.name) || !record[measure.name].is_number()) continue;
    const bool passes = record.contains("passes");
    curve.x_title = passes ? "passes" : "iterations";
    curve.x.push_back(record.at(passes ? "passes" : "iteration"));
    curve.y.push_back(record[measure.name]);
  }
  return curve;
}

// The two measures of most interest that a history has, and the error to a truth.
void add_curves(std::vector<Curve>& curves, const std::string& of, const json& history) {
  constexpr std::size_t most = 2;
  const std::size_t before = curves.size();
  const auto add = [&](const Measure& measure) {
    Curve curve = curve_of(measure, of, history);
    if (curve.x.size() >= 2) curves.push_back(std::move(curve));
  };
  for (const Measure& measure : measures)
    if (curves.size() < before + most) add(measure);
  add({"truth_relative", "relative error to the truth", true});
}

}  // namespace

std::vector<FactSection> report_facts(const json& report, const std::string& command_line) {
  std::vector<FactSection> sections;
  add(sections, {"Command line", {{"command", command_line}}});
  const json& results = report.at("results");
  add(sections, result_facts("Results", results));
  add(sections, certificate(results));
  for (const auto& [name, value] : results.items())  // runs with results of their own
    if (value.is_object() && value.contains("method")) {
      add(sections, result_facts("Results: " + name, value));
      add(sections, certificate(value));
    }
  add(sections, device_facts(report));
  add(sections, plan_facts(report));
  FactSection times{"Times", {}};
  if (report.contains("seconds"))
    for (const auto& [stage, seconds] : report["seconds"].items())
      times.facts.push_back({stage, seconds_text(seconds)});
  add(sections, std::move(times));
  add(sections, file_facts(report));
  FactSection options{"All options", {}, "", true};
  for (const auto& [name, value] : report.at("options").items()) options.facts.push_back({name, text_of(value)});
  add(sections, std::move(options));
  return sections;
}

std::vector<Curve> report_curves(const json& report) {
  std::vector<Curve> curves;
  const json& results = report.at("results");
  if (results.contains("history")) add_curves(curves, "", results["history"]);
  for (const auto& [name, value] : results.items())
    if (value.is_object() && value.contains("history")) add_curves(curves, name, value["history"]);
  return curves;
}

}  // namespace halocline
