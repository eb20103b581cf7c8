// The work of `halocline fdk`: the scan, its frames, and the volumes that are made of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "algorithms/fdk/half_scan.hpp"
#include "apps/commands/fdk_options.hpp"

namespace halocline {

/// One frame of a dynamic scan; any other scan is the only one.
struct FdkFrame {
  Geometry geometry;
  std::vector<HalfScan> halves;  // two, with --halves-out
  std::string output, variance_output, undenoised_output;
  std::array<std::string, 2> half_outputs;
};

struct FdkWork {
  ImageInfo input;
  ChosenProjections chosen;
  Grid stack, grid;  // the stack is that of a frame
  FdkParameters attenuation, variance;
  ImageStorage storage;
  std::vector<FdkFrame> frames;

  const char* beam() const;
  /// Projections of a half.
  Grid half_stack(const HalfScan& half) const;
};

constexpr const char* half_names[] = {"odd", "even"};
/// The name of the run that reconstructs it.
std::string half_name(std::size_t half);

/// Takes inputs and outputs for the job, and checks all that needs no projections: whether the scan, its frames and its
/// halves can be reconstructed. Warns of what is doubtful.
FdkWork prepare_fdk(Job& job, const FdkCommand& command);

}  // namespace halocline
