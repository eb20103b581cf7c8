// One HTML file about a job: its images to look through, how it converged, and facts. It needs nothing but a browser.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/report/binned_volume.hpp"
#include "apps/report/curve_svg.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

struct PageOptions {
  std::size_t size = 256;       ///< most voxels along an axis of a volume; larger ones are binned
  std::size_t bytes = 5000000;  ///< limit of the page; volumes are binned further to keep to it
};

struct PageVolume {
  std::string name, unit;
  BinnedVolume voxels;
  bool projections = false;  ///< (u, v, view) instead of (i, j, k)
};

/// Reads and bins the volume, so that it may go before the page is written.
PageVolume page_volume(const std::string& name, const std::string& unit, const VolumeSource& volume,
                       const PageOptions& options = {});

struct Fact {
  std::string name, value;
};

struct FactSection {
  std::string title;
  std::vector<Fact> facts;
  std::string note = {};  ///< their meaning, below them
  bool folded = false;    ///< only the title shows at first
};

struct ReportPage {
  std::string title, subtitle;
  std::vector<PageVolume> volumes;  ///< those with one unit share grey values; those on one grid can be compared
  std::vector<FactSection> sections;
  std::vector<Curve> curves;
};

/// The page. Any text in it may hold anything.
std::string report_html(const ReportPage& page, const PageOptions& options = {});

}  // namespace halocline
