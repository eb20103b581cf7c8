#include "apps/options/chosen_scan.hpp"

#include "algorithms/preprocessing/counts_part.hpp"
#include "apps/job/job.hpp"

namespace halocline {

ChosenScan read_chosen(Job& job, const ChosenProjections& chosen, const ImageInfo& info, const std::string& path,
                       const CountsArguments& arguments, bool counts) {
  ChosenScan scan;
  if (chosen.whole) {
    scan.projections = counts ? job.read(path) : read_line_integrals(job, arguments, path);
    if (counts) scan.calibration = calibrate(job, arguments, MemorySource(scan.projections), info, path);
  } else {
    const auto file = counts ? job.open(path) : open_line_integrals(job, arguments, path);
    const ProjectionPart& part = chosen.frames.front();
    CountsCalibration whole;
    if (counts) {
      whole = calibrate(job, arguments, *file, info, path);
      scan.calibration = part_calibration(whole, part, "'" + path + "'");
    }
    scan.projections =
        job.timed("read", [&] { return counts ? take_counts(*file, part, whole) : take_part(*file, part); });
  }
  scan.projections.grid = chosen.stack();
  return scan;
}

}  // namespace halocline
