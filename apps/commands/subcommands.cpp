#include "apps/commands/subcommands.hpp"

#include "apps/job/job.hpp"

namespace halocline {

void carry_out(const Action& action, Job& job) {
  try {
    action(job);
  } catch (...) {
    job.finish(true);
    throw;
  }
  job.finish(false);
}

std::span<const Subcommand> subcommands() {
  static constexpr Subcommand all[] = {
      {"devices", add_devices},
      {"phantom", add_phantom},
      {"geometry", add_geometry},
      {"project", add_project},
      {"backproject", add_backproject},
      {"noise", add_noise},
      {"counts", add_counts},
      {"fdk", add_fdk},
      {"reconstruct", add_reconstruct},
      {"slices", add_slices},
      {"noise-map", add_noise_map},
      {"denoise", add_denoise},
      {"metrics", add_metrics},
      {"preview", add_preview},
      {"view", add_view},
      {"bench", add_bench},
      {"tune", add_tune},
      {"plan", add_plan},
      {"help", add_help},
  };
  return all;
}

}  // namespace halocline
