// Options of `halocline denoise` that name files and a part of the volume.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "algorithms/jobs/settings.hpp"
#include "host/volume/cutout.hpp"

namespace halocline {

struct DenoiseControl {
  std::string init, roi, png;    // as given; empty: none
  std::string checkpoint;        // the file that keeps the state; empty: none
  double checkpoint_every = 60;  // seconds; 0: after every pass
  bool resume = false;
};

void add_control_options(Settings& settings, DenoiseControl& control);

/// Voxels around a region that are denoised with it, so that the cut hardly shows. On two balls and on blocks (96^3,
/// noise 0.1, a region of 32^3) the result inside differs from that of the whole volume by 0.5 % of the noise removed
/// with the best alpha, by 2 % at twice its lambda and by 6 % at four times; with 4 voxels by 2, 5 and 12 %. A relative
/// gap of 1e-3 alone stands for 1 %.
constexpr std::size_t roi_margin = 12;

/// --preview-roi: "x,y,z,nx,ny,nz" in voxels, or "centre" for the central 128^3 as far as there are so many. Throws
/// InputError if it is neither, or not inside the volume.
Cutout parse_roi(const std::string& text, const std::array<std::size_t, 3>& size);

}  // namespace halocline
