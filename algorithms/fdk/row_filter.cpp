#include "algorithms/fdk/row_filter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <set>
#include <string>

#include "algorithms/fdk/row_filter_variants.hpp"
#include "host/opencl/fft_library.hpp"
#include "host/opencl/quirks.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// Radices of the stages, from the one with the longest stride on.
std::vector<std::size_t> radices_of(std::size_t length) {
  std::vector<std::size_t> radices;
  for (std::size_t left = length; left > 1;) {
    const std::size_t over = std::size_t{1} << std::countr_zero(left) % 3;
    radices.push_back(over > 1 ? over : 8);
    left /= radices.back();
  }
  return radices;
}

// The frequency that stands at `place` after the forward stages.
std::size_t frequency_at(std::size_t place, std::size_t length, const std::vector<std::size_t>& radices) {
  std::size_t frequency = 0, weight = 1;
  for (const std::size_t radix : radices) {
    length /= radix;
    frequency += weight * (place / length);
    place %= length;
    weight *= radix;
  }
  return frequency;
}

std::size_t longest_rows(std::size_t local_memory) {
  return std::bit_floor(local_memory / (2 * sizeof(float)));
}

}  // namespace

std::size_t longest_rows_in(const DeviceInfo& device) {
  return longest_rows(usable_local_memory(device));
}

std::size_t longest_local_rows(std::span<const DeviceModel> models, std::size_t length) {
  std::size_t longest = models.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const DeviceModel& model : models) longest = std::min(longest, model.cpu ? 0 : longest_rows(model.local_memory));
  return length > longest ? 0 : longest;
}

std::size_t longest_local_rows(const std::vector<Device>& devices, std::optional<std::size_t> length, Ranks& all) {
  std::size_t longest = devices.empty() ? 0 : std::numeric_limits<std::uint32_t>::max();
  for (const Device& device : devices) {
    const bool wanted = !device.info().cpu() || fft_library(device) != FftLibrary::clfft;
    longest = std::min(longest, wanted ? longest_rows_in(device.info()) : 0);
  }
  longest = static_cast<std::size_t>(all.least("rows in local memory", static_cast<double>(longest)));
  if (longest == 0 || length.value_or(0) > longest ||
      !variant_works(local_rows_variant(length), devices, "transforms in device memory serve", all))
    longest = 0;
  if (longest == 0) require_one_fft_library(devices, all);
  return longest;
}

void require_one_fft_library(const std::vector<Device>& devices, Ranks& all) {
  if (!all.several()) return;
  std::set<std::string> own;
  for (const Device& device : devices) own.insert(fft_library(device) == FftLibrary::clfft ? "clFFT" : "VkFFT");
  const auto libraries = all.gather("libraries of transforms", fmt::format("{}", fmt::join(own, " and ")));
  for (std::size_t rank = 1; rank < libraries.size(); ++rank)
    if (libraries[rank] != libraries.front())
      throw InputError(
          fmt::format("rank {} transforms rows by {} and rank 0 by {}, whose last bits differ, as on one of them a "
                      "library does not work; use the same `device` and driver on all nodes",
                      rank, libraries[rank], libraries.front()));
}

std::size_t local_row_items(const DeviceInfo& device, std::size_t length) {
  return work_group_within({std::clamp<std::size_t>(length / 8, 1, 256), 1, 1}, device)[0];
}

std::vector<float> local_row_table(std::span<const double> transfer) {
  const std::size_t length = transfer.size();
  const auto radices = radices_of(length);
  std::vector<float> table;
  for (std::size_t place = 0; place < length; ++place)
    table.push_back(static_cast<float>(transfer[frequency_at(place, length, radices)] / static_cast<double>(length)));
  for (std::size_t stage = radices.size(), stride = 1; stage-- > 0;) {
    const std::size_t block = stride * radices[stage];
    for (const std::size_t power : {1, 2, 4})
      for (std::size_t j = 0; j < stride; ++j) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(power * j) / static_cast<double>(block);
        table.push_back(static_cast<float>(std::cos(angle)));
        table.push_back(static_cast<float>(std::sin(angle)));
      }
    stride = block;
  }
  return table;
}

}  // namespace halocline
