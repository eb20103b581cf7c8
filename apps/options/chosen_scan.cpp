#include "apps/options/chosen_scan.hpp"

#include <utility>

#include "algorithms/preprocessing/counts_part.hpp"
#include "apps/job/job.hpp"

namespace halocline {

ChosenScan read_chosen(Job& job, const ChosenProjections& chosen, const ImageInfo& info, const std::string& path,
                       const CountsArguments& arguments, bool counts) {
  ChosenScan scan;
  if (!counts && chosen.whole) {
    scan.projections = read_line_integrals(job, arguments, path, &scan.replaced);
  } else if (!counts) {
    const auto file = open_line_integrals(job, arguments, path, &scan.replaced);
    scan.projections = job.timed("read", [&] { return take_part(*file, chosen.frames.front()); });
  } else if (chosen.whole) {
    scan.projections = job.images().read_rays(path);
    scan.calibration = calibrate(job, arguments, MemorySource(scan.projections), info, path);
    std::swap(scan.replaced, scan.calibration.replaced);
    scan.replaced.put(0, scan.projections.voxels.size(), scan.projections.voxels.data());
  } else {
    const auto file = job.images().open_rays(path);
    CountsCalibration whole = calibrate(job, arguments, *file, info, path);
    scan.calibration = part_calibration(whole, chosen.frames.front());
    scan.projections = job.timed("read", [&] { return take_counts(*file, chosen.frames.front(), whole); });
    scan.replaced = std::move(whole.replaced);
  }
  scan.projections.grid = chosen.stack();
  return scan;
}

void withhold_unmeasured(const ChosenScan& scan, const ChosenProjections& chosen, Volume& weights) {
  if (chosen.whole)
    withhold(scan.replaced, weights);
  else
    withhold(scan.replaced, chosen.frames.front(), chosen.file.size[0], weights);
}

}  // namespace halocline
