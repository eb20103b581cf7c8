// Lists the devices, writes a small volume, reads it again, denoises it and makes a page of both with what is
// installed.
#include <cmath>
#include <halocline/algorithms/denoise/denoise.hpp>
#include <halocline/host/opencl/device.hpp>
#include <halocline/host/system/error.hpp>
#include <halocline/images/image_file.hpp>
#include <halocline/report/report_page.hpp>
#include <iostream>

namespace {

// A cube of 1 in a cube of 0, with a checkerboard of +-0.2 on it.
halocline::Volume noisy_cube(const halocline::Grid& grid) {
  halocline::Volume volume(grid);
  for (std::size_t k = 0; k < grid.size[2]; ++k)
    for (std::size_t j = 0; j < grid.size[1]; ++j)
      for (std::size_t i = 0; i < grid.size[0]; ++i) {
        const bool inside = i >= 2 && i < 6 && j >= 2 && j < 6 && k >= 2 && k < 6;
        volume.at(i, j, k) = (inside ? 1.0f : 0.0f) + ((i + j + k) % 2 == 0 ? 0.2f : -0.2f);
      }
  return volume;
}

// Sum of the differences between neighbours along x.
double roughness(const halocline::Volume& volume) {
  double sum = 0;
  for (std::size_t n = 1; n < volume.voxels.size(); ++n)
    if (n % volume.grid.size[0] != 0) sum += std::abs(volume.voxels[n] - volume.voxels[n - 1]);
  return sum;
}

}  // namespace

int main() {
  try {
    for (const auto& device : halocline::list_devices()) std::cout << device.index << "  " << device.name << '\n';
    halocline::Grid grid;
    grid.size = {8, 8, 8};
    halocline::write_image(noisy_cube(grid), "noisy.mha");
    const auto noisy = halocline::read_image("noisy.mha");
    halocline::DenoiseParameters parameters;
    parameters.alpha = 3;
    parameters.iterations = 100;
    const auto result = halocline::denoise(noisy, nullptr, parameters, halocline::open_devices({}));
    const double before = roughness(noisy), after = roughness(result.output);
    std::cout << "roughness " << before << " -> " << after << " after " << result.iterations << " iterations\n";
    halocline::ReportPage page;
    page.volumes = {halocline::page_volume("before", "", halocline::MemorySource(noisy)),
                    halocline::page_volume("after", "", halocline::MemorySource(result.output))};
    const bool shown = halocline::report_html(page).find("id=\"volume-1\"") != std::string::npos;
    return shown && after > 0 && after < 0.5 * before ? 0 : 1;
  } catch (const halocline::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
