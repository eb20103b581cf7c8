// NaN and infinite values of an input: refused, or set to 0.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/volume/volume_source.hpp"

namespace halocline {

/// Throws InputError with the name, the first index and how many, if a value is NaN or infinite.
void require_finite(const VolumeSource& source, const std::string& name);

/// Remedies for NaN and infinite values: with `allow_nonfinite`, and where there is none.
constexpr const char* may_allow_nonfinite =
    "mend the file, or give `allow_nonfinite` to set them to 0, or of projections to take them for not measured";
constexpr const char* mend_nonfinite = "mend them, as a filter spreads them over their rows";

/// Largest line integral or count that is taken: filters add them up.
constexpr float largest_ray = 1e30f;
/// Throws the same, and for rays that are larger. allow_nonfinite: NaN and infinite ones pass, for they were not
/// measured.
void require_rays(const VolumeSource& source, const std::string& name, bool allow_nonfinite,
                  const char* remedy = may_allow_nonfinite);

/// Another source, checked as it is read: a value that is NaN or infinite makes read() throw require_finite()'s
/// InputError, for which the whole source is then read, or becomes 0 with `allow_nonfinite`. `rays` are checked by
/// require_rays(), and values that are not finite are unchanged.
class FiniteSource : public VolumeSource {
 public:
  FiniteSource(std::unique_ptr<VolumeSource> source, std::string name, bool allow_nonfinite, bool rays = false)
      : source_(std::move(source)), name_(std::move(name)), allow_nonfinite_(allow_nonfinite), rays_(rays) {}
  const Grid& grid() const override { return source_->grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;
  // Voxels of a source on devices, which check all voxels first; if not all are finite, they are read by read().
  VoxelRange voxels_on(const Device& device) const override {
    return on_devices() ? source_->voxels_on(device) : VoxelRange{};
  }
  Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                std::span<const Event> waits) const override {
    return source_->copy_to(to, first, count, waits);
  }
  bool on_devices() const override;
  std::optional<std::vector<RunSums>> sums_of_runs(std::span<const VoxelRange> runs) const override;
  std::optional<VoxelFacts> facts() const override;
  std::size_t bus_bytes() const override { return source_->bus_bytes(); }
  /// Number of voxels set to 0 so far, each counted once. Outlives the source.
  std::shared_ptr<const std::atomic<std::size_t>> replaced() const { return replaced_; }

 private:
  std::unique_ptr<VolumeSource> source_;
  std::string name_;
  bool allow_nonfinite_, rays_;
  mutable std::once_flag looked_;
  mutable std::optional<VoxelFacts> facts_;  // where all are finite
  mutable std::mutex mutex_;
  mutable std::exception_ptr error_;  // so that only the first thread to find something reads all
  mutable std::vector<bool> zeroed_;  // empty until there is one
  std::shared_ptr<std::atomic<std::size_t>> replaced_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace halocline
