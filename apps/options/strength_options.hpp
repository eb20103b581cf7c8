// Options of denoise that say how strongly: --alpha with a number or a rule, and --halves.
#pragma once

#include <array>
#include <string>

#include "algorithms/denoise/denoise.hpp"

namespace CLI {
class App;
}

namespace halocline {

struct StrengthOptions {
  std::string alpha;   // a number, one with /sigma, auto, discrepancy, halves, sure or target; empty: auto
  std::string halves;  // "A,B"
  std::array<std::string, 2> files;  // A and B, once take_strength() has looked
};

/// --alpha and --halves, or --alpha alone.
void add_strength_options(CLI::App& app, StrengthOptions& options);
void add_alpha_option(CLI::App& app, StrengthOptions& options);

/// Puts them into the parameters, all but the halves' voxels. `weights`: what --weights says. InputError that names
/// the option if a word is none, --halves is missing or serves nothing, or --alpha contradicts the method,
/// --target-fidelity or --alpha-path.
void take_strength(StrengthOptions& options, const std::string& weights, DenoiseParameters& parameters);

/// "A.mha,B.mha" as two paths; InputError that names `option` if it is not that.
std::array<std::string, 2> parse_pair(const std::string& option, const std::string& text);

}  // namespace halocline
