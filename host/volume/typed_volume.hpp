// Volumes in host memory in their own type.
#pragma once

#include <atomic>
#include <cstddef>

#include "host/volume/component.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// grid.count() values of `component` in the host's byte order, not initialised.
struct TypedVolume {
  Grid grid;
  Component component = Component::float32;
  Scaling scaling;

  TypedVolume() = default;
  TypedVolume(const Grid& g, Component c, const Scaling& s = {})
      : grid(g), component(c), scaling(s), memory((g.count() * component_bytes(c) + 3) / 4) {}
  std::byte* bytes() { return reinterpret_cast<std::byte*>(memory.data()); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(memory.data()); }
  std::size_t byte_count() const { return grid.count() * component_bytes(component); }

  Voxels memory;  // of floats, so that a volume of float32 can be had of it without a copy
};

/// The volume as float32, without a copy where possible.
Volume to_volume(TypedVolume volume);
/// Takes it over.
TypedVolume to_typed(Volume volume);

/// A typed volume as float32, converted as it is read. Holds it.
class TypedSource : public VolumeSource {
 public:
  explicit TypedSource(TypedVolume volume) : volume_(std::move(volume)) {}
  const Grid& grid() const override { return volume_.grid; }
  const TypedVolume& volume() const { return volume_; }
  /// Leaves the source empty.
  TypedVolume take() { return std::move(volume_); }
  void read(std::size_t first, std::size_t count, float* to) const override;
  const float* data() const override;

 private:
  TypedVolume volume_;
};

/// Float32 into a typed volume of the caller's, rounded to nearest; see convert_from_float().
class TypedSink : public VolumeSink {
 public:
  explicit TypedSink(TypedVolume& volume) : volume_(volume) {}
  const Grid& grid() const override { return volume_.grid; }
  void begin() override { changed_ = 0; }
  void write(std::size_t first, std::size_t count, float* from) override;
  /// Values that lay beyond what the type can hold.
  std::size_t changed() const { return changed_; }

 private:
  TypedVolume& volume_;
  std::atomic<std::size_t> changed_{0};
};

}  // namespace halocline
