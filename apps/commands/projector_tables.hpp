// Tables of users' projectors, which are images.
#pragma once

#include "algorithms/jobs/ray_settings.hpp"
#include "apps/job/job.hpp"

namespace halocline {

/// Reads the images of --projector-table, which become inputs of the job.
inline NumbersOf table_numbers(Job& job) {
  return [&job](const std::string& image) {
    job.input("--projector-table", image);
    return job.images().read(image).voxels;
  };
}

}  // namespace halocline
