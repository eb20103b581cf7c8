#include "host/volume/typed_volume.hpp"

#include <utility>

namespace halocline {

Volume to_volume(TypedVolume volume) {
  if (volume.component != Component::float32 || !volume.scaling.identity())
    return read_volume(TypedSource(std::move(volume)));
  Volume result;
  result.grid = volume.grid;
  result.voxels = std::move(volume.memory);
  return result;
}

TypedVolume to_typed(Volume volume) {
  TypedVolume result;
  result.grid = volume.grid;
  result.memory = std::move(volume.voxels);
  return result;
}

void TypedSource::read(std::size_t first, std::size_t count, float* to) const {
  convert_to_float(volume_.component, volume_.bytes() + first * component_bytes(volume_.component), false, to, count,
                   volume_.scaling);
}

const float* TypedSource::data() const {
  return volume_.component == Component::float32 && volume_.scaling.identity() ? volume_.memory.data() : nullptr;
}

void TypedSink::write(std::size_t first, std::size_t count, float* from) {
  changed_ += convert_from_float(volume_.component, from, volume_.bytes() + first * component_bytes(volume_.component),
                                 count, volume_.scaling);
}

}  // namespace halocline
