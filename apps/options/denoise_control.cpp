#include "apps/options/denoise_control.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/jobs/setting_values.hpp"
#include "host/system/error.hpp"

namespace halocline {

void add_control_options(Settings& settings, DenoiseControl& control) {
  const char* group = "Start, end and part of the volume";
  settings
      .add("init", control.init,
           "Image to start from, on the same grid. It saves tvgd iterations, but none for pdu and spdu, whose "
           "duals start from 0 all the same; their result is the same to within the gap. --alpha-path keeps the "
           "duals")
      .unit("FILE")
      .group(group);
  settings
      .add("checkpoint", control.checkpoint,
           "Keep the state of the iterations there, so that --resume can go on from it whatever ends the run: "
           "a kill, a crash, a lost device, Ctrl-C, --time-limit. --dry-run says how large it is; the disk has "
           "to have room for two. Removed when the result has been written")
      .writes(FileKind::any)
      .group(group);
  settings
      .add("checkpoint-every", control.checkpoint_every,
           "Seconds between two states, longer where writing them would take more than a tenth of the time; 0: "
           "after every pass over the volume, whatever it takes")
      .not_negative()
      .needs("checkpoint")
      .unit("S")
      .group(group);
  settings
      .add("resume", control.resume,
           "Go on from the --checkpoint of the same command, to the same bits as without the interruption; where "
           "there is no such file, start from the beginning")
      .needs("checkpoint")
      .group(group);
  settings
      .add("preview-roi", control.roi,
           "Denoise only this box, read only this part of the file, and write only the box: first voxel and "
           "size, or 'centre' for the central 128^3. Without --alpha the strength is chosen for the box alone")
      .unit("X,Y,Z,NX,NY,NZ")
      .group(group);
  settings.add("png", control.png, "Also a picture of the result's three middle slices (.png)")
      .writes(FileKind::picture)
      .group(group);
}

Cutout parse_roi(const std::string& text, const std::array<std::size_t, 3>& size) {
  constexpr std::size_t edge = 128;
  Cutout region;
  if (text == "centre" || text == "center") {
    for (int axis = 0; axis < 3; ++axis) {
      region.size[axis] = std::min(edge, size[axis]);
      region.first[axis] = (size[axis] - region.size[axis]) / 2;
    }
    return region;
  }
  const auto values = parse_numbers("--preview-roi", {text}, 6, "X,Y,Z,NX,NY,NZ (or 'centre')");
  require_whole("--preview-roi", values, 0);
  for (int axis = 0; axis < 3; ++axis) {
    region.first[axis] = static_cast<std::size_t>(values[axis]);
    region.size[axis] = static_cast<std::size_t>(values[3 + axis]);
    if (region.size[axis] == 0)
      throw InputError(fmt::format("--preview-roi '{}': every size must be at least 1", text));
    if (region.first[axis] + region.size[axis] > size[axis])
      throw InputError(
          fmt::format("--preview-roi '{}' reaches beyond the volume of {} x {} x {} voxels: along {} it ends at {}",
                      text, size[0], size[1], size[2], "xyz"[axis], region.first[axis] + region.size[axis]));
  }
  return region;
}

}  // namespace halocline
