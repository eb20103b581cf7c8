// Figures and warnings of the calibration of counts, and of rings.
#pragma once

#include <cstddef>
#include <string>

#include "algorithms/preprocessing/calibrate_counts.hpp"

namespace halocline {

class Job;

/// Puts the figures into the report ("counts").
void report_counts(Job& job, const CountsCalibration& calibration);
/// Warns of what the user should know; after further views, but for what was `reported` of the first.
void warn_of_calibration(const CountsCalibrator& calibrator, const std::string& counts_path,
                         const CountsReport* reported = nullptr);
/// Warns if the object reaches edges of the detector that were not measured.
void warn_of_edges(const LostEdges& edges, const std::string& path);

/// "1 of 60 counts were raised ..., 3 detector pixels are bad ..."
std::string counts_summary(const CountsCalibration& calibration);
/// "ring offsets of 0.01 RMS taken off, of 3 pixels; ..."
std::string rings_text(std::size_t pixels, double rms);

}  // namespace halocline
