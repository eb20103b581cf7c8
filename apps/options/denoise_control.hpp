// Options of `halocline denoise` that say where a run starts, when it ends and which voxels it takes; and the words for
// what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoise/denoise.hpp"
#include "host/volume/cutout.hpp"

namespace CLI {
class App;
}

namespace halocline {

struct DenoiseControl {
  double time_limit = 0;                   // seconds; 0: none
  bool keep_partial = false;               // what there is at Ctrl-C is the result
  std::string init, alpha_path, roi, png;  // as given; empty: none
  std::string checkpoint;                  // the file that keeps the state; empty: none
  double checkpoint_every = 60;            // seconds; 0: after every pass
  bool resume = false;

  std::vector<double> alphas() const;  // of --alpha-path; InputError if it is no list of different positive numbers
};

void add_control_options(CLI::App& app, DenoiseControl& control);

/// Voxels around a region that are denoised with it, so that the cut hardly shows. On two balls and on blocks (96^3,
/// noise 0.1, a region of 32^3) the result inside differs from that of the whole volume by 0.5 % of the noise removed
/// with the best alpha, by 2 % at twice its lambda and by 6 % at four times; with 4 voxels by 2, 5 and 12 %. A relative
/// gap of 1e-3 alone stands for 1 %.
constexpr std::size_t roi_margin = 12;

/// --preview-roi: "x,y,z,nx,ny,nz" in voxels, or "centre" for the central 128^3 as far as there are so many. Throws
/// InputError if it is neither, or not inside the volume.
Cutout parse_roi(const std::string& text, const std::array<std::size_t, 3>& size);

/// "den.mha" and 40: "den_alpha40.mha".
std::string path_output(const std::string& output, double alpha);
/// One line an alpha: iterations, relative gap, RMS change.
std::string path_table(const DenoiseResult& result, const std::vector<double>& alphas, double voxels);

/// "gap", "target", "flat" (nothing left for a descent without a target), "iterations", "time", "interrupt" or
/// "stalled", for reports.
std::string what_ended(const DenoiseResult& result, bool descends);
/// The same of a descent, after "ended by".
std::string descent_end(const DenoiseResult& result);
/// Warns of a gap or a target that was not reached, and of what the result itself warns of.
void warn_of_result(const DenoiseResult& result, const DenoiseParameters& parameters, const DenoiseControl& control,
                    double voxels);

}  // namespace halocline
