// labels: app
// Facts of a report on its page.
#include "apps/job/report_facts.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace halocline::report_facts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

nlohmann::json report() {
  return nlohmann::json::parse(R"({
    "command": "denoise", "options": {"--alpha": 2.5, "--input": "<a>.mha"}, "outputs": [],
    "inputs": [{"option": "-i", "path": "<a>.mha", "component": "int16",
                "grid": {"size": [4, 5, 6], "spacing_mm": [1, 1, 0.5], "origin_mm": [0, 0, 0]}}],
    "seconds": {"denoise": 0.5, "total": 62.0},
    "runs": {"denoise": {"iterations": 1, "plan": {"slabs": [{}, {}]},
             "actual": {"seconds": 2.0, "device_peak_bytes": 5000000, "bus_bytes": 1500},
             "predicted": {"seconds": 1.0, "device_peak_bytes": 4000000000, "bus_bytes": 1500}}},
    "results": {"method": "pdu", "converged": true, "relative_gap": 0.0125, "primal": 8.0, "dual": 7.9,
                "history": [{"iteration": 1, "relative_gap": 0.5, "total_variation": 9.0},
                            {"iteration": 2, "relative_gap": 0.1, "total_variation": 8.0}]}})");
}

std::string fact(const std::vector<FactSection>& sections, const std::string& title, const std::string& name) {
  for (const auto& section : sections)
    for (const auto& each : section.facts)
      if (section.title == title && each.name == name) return each.value;
  return "none";
}

TEST(ReportFacts, HasWhatTheReportHas) {
  const auto facts = report_facts(report(), "halocline denoise -i '<a>.mha'");
  EXPECT_EQ(fact(facts, "Command line", "command"), "halocline denoise -i '<a>.mha'");
  EXPECT_EQ(fact(facts, "Results", "method"), "pdu");
  EXPECT_EQ(fact(facts, "Results", "converged"), "yes");
  EXPECT_EQ(fact(facts, "Times", "total"), "1 min 2 s");
  EXPECT_EQ(fact(facts, "Inputs and outputs", "-i (read)"), "<a>.mha\n4 x 5 x 6 of 1 x 1 x 0.5 mm, int16");
  EXPECT_EQ(fact(facts, "All options", "--alpha"), "2.5");
  EXPECT_EQ(fact(facts, "Plan and runs", "denoise"),
            "2 slabs, 1 iteration\ntime 2.00 s (forecast 1.00 s)\ndevice memory 5 MB (forecast 4 GB)\n"
            "over the bus 1.5 kB (forecast 1.5 kB)");
}

TEST(ReportFacts, TheCertificateSaysWhatItMeans) {
  auto json = report();
  EXPECT_EQ(fact(report_facts(json, ""), "Certificate", "meaning"),
            "no image has an objective more than 1.2 % below that of this one");
  EXPECT_EQ(fact(report_facts(json, ""), "Certificate", "primal"), "8");
  json["results"]["relative_gap"] = 1.1;
  EXPECT_THAT(fact(report_facts(json, ""), "Certificate", "meaning"), HasSubstr("no bound"));
  json["results"].erase("relative_gap");
  EXPECT_EQ(fact(report_facts(json, ""), "Certificate", "meaning"), "none");
}

TEST(ReportFacts, RunsWithResultsOfTheirOwnHaveSections) {
  auto json = report();
  json["results"] = {{"unit", "HU"}, {"denoise", report()["results"]}};
  const auto facts = report_facts(json, "");
  EXPECT_EQ(fact(facts, "Results", "unit"), "HU");
  EXPECT_EQ(fact(facts, "Results: denoise", "method"), "pdu");
  const auto curves = report_curves(json);
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].title, "denoise: relative gap");
}

TEST(ReportFacts, HistoriesBecomeCurves) {
  const auto curves = report_curves(report());
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].y_title, "relative gap");
  EXPECT_EQ(curves[0].x_title, "iterations");
  EXPECT_TRUE(curves[0].log_y);
  EXPECT_THAT(curves[0].x, ElementsAre(1, 2));
  EXPECT_THAT(curves[0].y, ElementsAre(0.5, 0.1));
  EXPECT_FALSE(curves[1].log_y);
  EXPECT_TRUE(report_curves({{"results", nlohmann::json::object()}}).empty());
}

TEST(ReportFacts, ErrorsToATruthBecomeACurveBesideTheOthers) {
  auto json = report();
  for (auto& record : json["results"]["history"]) record["truth_relative"] = 0.25, record["seconds"] = 1;
  const auto curves = report_curves(json);
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[2].y_title, "relative error to the truth");
  EXPECT_THAT(curves[2].y, ElementsAre(0.25, 0.25));
}

}  // namespace
}  // namespace halocline::report_facts_test
