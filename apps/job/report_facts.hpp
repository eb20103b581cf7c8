// The part of a report that a page shows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/report/report_page.hpp"

namespace halocline {

/// report: as --report writes it.
std::vector<FactSection> report_facts(const nlohmann::json& report, const std::string& command_line);
/// Convergence of the runs that have a history.
std::vector<Curve> report_curves(const nlohmann::json& report);

}  // namespace halocline
