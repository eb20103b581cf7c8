// Denoises noise around 1 and makes a page of it: the noise has to fall to less than half.
#include <cmath>
#include <halocline/algorithms/denoise/denoise.hpp>
#include <halocline/host/opencl/device.hpp>
#include <halocline/report/report_page.hpp>
#include <iostream>

static double distance_from_one(const halocline::Volume& volume) {
  double sum = 0;
  for (const float voxel : volume.voxels) sum += std::abs(voxel - 1);
  return sum / static_cast<double>(volume.voxels.size());
}

int main() {
  halocline::Grid grid;
  grid.size = {8, 8, 8};
  halocline::Volume noisy(grid);
  for (std::size_t n = 0; n < noisy.voxels.size(); ++n) noisy.voxels[n] = n * 2654435761u % 2 == 0 ? 0.8f : 1.2f;
  halocline::DenoiseParameters parameters;
  parameters.alpha = 3;
  parameters.iterations = 100;
  const auto result = halocline::denoise(noisy, nullptr, parameters, halocline::open_devices({}));
  halocline::ReportPage page;
  page.volumes = {halocline::page_volume("after", "", halocline::MemorySource(result.output))};
  const bool shown = !halocline::report_html(page).empty();
  const double before = distance_from_one(noisy), after = distance_from_one(result.output);
  std::cout << "distance from 1: " << before << " -> " << after << '\n';
  return shown && after < 0.5 * before ? 0 : 1;
}
