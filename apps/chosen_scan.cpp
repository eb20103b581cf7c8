#include "apps/chosen_scan.hpp"

#include "algorithms/counts_part.hpp"
#include "apps/job.hpp"

namespace halocline {

ChosenScan read_chosen(Job& job, const ChosenProjections& chosen, const ImageInfo& info, const std::string& path,
                       const CountsArguments* counts) {
  ChosenScan scan;
  if (chosen.whole) {
    scan.projections = job.read(path);
    if (counts != nullptr) scan.calibration = calibrate(job, *counts, MemorySource(scan.projections), info, path);
  } else {
    const auto file = job.open(path);
    const ProjectionPart& part = chosen.frames.front();
    CountsCalibration whole;
    if (counts != nullptr) {
      whole = calibrate(job, *counts, *file, info, path);
      scan.calibration = part_calibration(whole, part, "'" + path + "'");
    }
    scan.projections =
        job.timed("read", [&] { return counts != nullptr ? take_counts(*file, part, whole) : take_part(*file, part); });
  }
  scan.projections.grid = chosen.stack();
  return scan;
}

}  // namespace halocline
