#include "scheduling/slabs/device_slab.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "host/system/stream_copy.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {

DeviceSlab::DeviceSlab(Device device, const Plan& plan, int device_index)
    : Slab(std::move(device), plan, device_index), later_(device_), fetching_(device_) {}

DeviceSlab::~DeviceSlab() {
  try {
    device_.finish();
    for (auto& [name, array] : arrays_) array.buffer.retire();
  } catch (const std::exception&) {  // the error that ended the run is already on its way
  }
}

void DeviceSlab::add(const ArrayNeed& need, const Plan& plan, int device_index) {
  std::int64_t slices = 0, rows = 0;
  for (const auto& slab : plan.slabs)
    if (slab.device == device_index) {
      slices = std::max(slices, slab.extended.count());
      rows = std::max(rows, slab.rows.count());
    }
  Array array;
  array.need = need;
  array.buffer = device_.buffer(need.name, array_bytes(need, requirements_, slices, rows, plan.batch));
  arrays_.emplace(need.name, std::move(array));
}

void DeviceSlab::move_to(const SlabPlan& slab) {
  plan_ = slab;
}

void DeviceSlab::upload(const std::string& name, Range slices, const void* host, std::int64_t host_begin) {
  if (slices.empty()) return;
  const std::size_t slice = slice_bytes(name);
  upload_bytes(name, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
               static_cast<const std::byte*>(host) + slice * static_cast<std::size_t>(slices.begin - host_begin),
               slice * static_cast<std::size_t>(slices.count()));
}

void DeviceSlab::download(const std::string& name, Range slices, void* host, std::int64_t host_begin) {
  if (slices.empty()) return;
  const std::size_t slice = slice_bytes(name);
  download_bytes(name, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
                 static_cast<std::byte*>(host) + slice * static_cast<std::size_t>(slices.begin - host_begin),
                 slice * static_cast<std::size_t>(slices.count()));
}

void DeviceSlab::download_later(const std::string& name, Range slices, void* host, std::int64_t host_begin) {
  if (slices.empty()) return;
  const std::size_t slice = slice_bytes(name), bytes = slice * static_cast<std::size_t>(slices.count());
  if (later_.direct(bytes)) return download(name, slices, host, host_begin);
  auto* to = static_cast<std::byte*>(host) + slice * static_cast<std::size_t>(slices.begin - host_begin);
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::download, {{name, Access::in}}, [&](std::span<const Event> waits) {
    return later_.read_later(
        buffer, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin), bytes,
        [to](std::byte* at, std::size_t begin, std::size_t count) { stream_copy(to + begin, at, count); }, waits);
  });
}

std::size_t DeviceSlab::download_later(const std::string& name, Range slices, VolumeSink& sink) {
  require_float_volume(name);
  if (slices.empty()) return 0;
  if (!slices_here(sink, slice_bytes(name), slices).empty()) return download(name, slices, sink);
  const Buffer& buffer = array(name).buffer;
  const std::size_t slice = slice_bytes(name), start = slice * static_cast<std::size_t>(slices.begin);
  enqueue(Queue::download, {{name, Access::in}}, [&](std::span<const Event> waits) {
    return later_.read_later(
        buffer, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
        slice * static_cast<std::size_t>(slices.count()),
        [&sink, start](std::byte* at, std::size_t begin, std::size_t count) {
          sink.write((start + begin) / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
        },
        waits);
  });
  return slice * static_cast<std::size_t>(slices.count());
}

void DeviceSlab::settle() {
  later_.settle();
}

void DeviceSlab::copy(const std::vector<Copy>& copies) {
  std::vector<BufferCopy> parts;
  std::vector<std::pair<std::string, Access>> accesses;
  for (const auto& each : copies) {
    if (each.bytes == 0) continue;
    parts.push_back({&array(each.from).buffer, each.from_offset, &array(each.to).buffer, each.to_offset, each.bytes});
    accesses.insert(accesses.end(), {{each.from, Access::in}, {each.to, Access::inout}});
  }
  if (parts.empty()) return;
  enqueue(Queue::compute, accesses, [&](std::span<const Event> waits) { return device_.copy(parts, waits); });
}

void DeviceSlab::require_float_volume(const std::string& name) const {
  const ArrayNeed& need = array(name).need;
  if (need.kind != ArrayKind::volume || need.element_bytes * need.components != sizeof(float))
    throw std::logic_error(fmt::format("{} is no volume of float32", name));
}

// Slices whose voxels lie, or have a place, on this device.
template <class Voxels>
Range DeviceSlab::slices_here(const Voxels& voxels, std::size_t slice, Range slices) const {
  const VoxelRange here = voxels.voxels_on(device_);
  if (here.empty()) return {slices.begin, slices.begin};
  const auto at = [&](std::size_t voxel) { return static_cast<std::int64_t>(voxel * sizeof(float) / slice); };
  const Range common{std::max(slices.begin, at(here.begin)), std::min(slices.end, at(here.end))};
  return common.empty() ? Range{slices.begin, slices.begin} : common;
}

std::size_t DeviceSlab::upload(const std::string& name, Range slices, const VolumeSource& source) {
  require_float_volume(name);
  if (slices.empty()) return 0;
  const std::size_t slice = slice_bytes(name);
  const Range here = slices_here(source, slice, slices);
  if (!here.empty()) {
    const DevicePlace place{device_, array(name).buffer,
                            slice * static_cast<std::size_t>(here.begin - plan_.extended.begin)};
    const std::size_t voxels = slice / sizeof(float);
    enqueue(Queue::compute, {{name, Access::out}}, [&](std::span<const Event> waits) {
      return source.copy_to(place, voxels * static_cast<std::size_t>(here.begin),
                            voxels * static_cast<std::size_t>(here.count()), waits);
    });
  }
  upload_over_bus(name, {slices.begin, here.begin}, source);
  upload_over_bus(name, {here.end, slices.end}, source);
  return slice * static_cast<std::size_t>(slices.count() - here.count());
}

void DeviceSlab::upload_over_bus(const std::string& name, Range slices, const VolumeSource& source) {
  if (slices.empty()) return;
  if (source.data() != nullptr) return upload(name, slices, source.data(), 0);
  const std::size_t slice = slice_bytes(name), start = slice * static_cast<std::size_t>(slices.begin);
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::upload, {{name, Access::out}}, [&](std::span<const Event> waits) {
    return staging_.write(
        buffer, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
        slice * static_cast<std::size_t>(slices.count()),
        [&](std::byte* at, std::size_t begin, std::size_t count) {
          source.read((start + begin) / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
        },
        waits);
  });
}

std::size_t DeviceSlab::download(const std::string& name, Range slices, VolumeSink& sink) {
  require_float_volume(name);
  if (slices.empty()) return 0;
  const Buffer& buffer = array(name).buffer;
  const std::size_t slice = slice_bytes(name);
  const Range here = slices_here(sink, slice, slices);
  if (!here.empty())
    enqueue(Queue::compute, {{name, Access::in}}, [&](std::span<const Event> waits) {
      hand_over(buffer, slice, here, plan_.extended.begin, sink, waits);
      return Event();
    });
  for (const Range part : {Range{slices.begin, here.begin}, Range{here.end, slices.end}})
    if (!part.empty())
      enqueue(Queue::download, {{name, Access::in}}, [&](std::span<const Event> waits) {
        return read_slices(staging_, buffer, slice, part, plan_.extended.begin, sink, waits);
      });
  return slice * static_cast<std::size_t>(slices.count() - here.count());
}

std::function<std::size_t()> DeviceSlab::fetch(const std::string& name, Range slices, Event written, VolumeSink& sink) {
  require_float_volume(name);
  return [this, &buffer = array(name).buffer, slice = slice_bytes(name), slices, begin = plan_.extended.begin,
          written = std::move(written), &sink] {
    const Range here = slices_here(sink, slice, slices);
    if (!here.empty()) hand_over(buffer, slice, here, begin, sink, std::span(&written, 1));
    for (const Range part : {Range{slices.begin, here.begin}, Range{here.end, slices.end}})
      if (!part.empty()) read_slices(fetching_, buffer, slice, part, begin, sink, std::span(&written, 1));
    return slice * static_cast<std::size_t>(slices.count() - here.count());
  };
}

// To a sink that has its place on this device. By any thread.
void DeviceSlab::hand_over(const Buffer& buffer, std::size_t slice, Range slices, std::int64_t buffer_begin,
                           VolumeSink& sink, std::span<const Event> waits) const {
  Device device = device_;
  const std::size_t voxels = slice / sizeof(float);
  sink.take_from({device, buffer, slice * static_cast<std::size_t>(slices.begin - buffer_begin)},
                 voxels * static_cast<std::size_t>(slices.begin), voxels * static_cast<std::size_t>(slices.count()),
                 waits, {});
}

// Of a buffer whose first slice is number `buffer_begin`. Static: fetch() runs it on another thread.
Event DeviceSlab::read_slices(Staging& staging, const Buffer& buffer, std::size_t slice, Range slices,
                              std::int64_t buffer_begin, VolumeSink& sink, std::span<const Event> waits) {
  const std::size_t start = slice * static_cast<std::size_t>(slices.begin),
                    offset = slice * static_cast<std::size_t>(slices.begin - buffer_begin),
                    bytes = slice * static_cast<std::size_t>(slices.count());
  if (sink.data() != nullptr && staging.direct(bytes)) {
    const std::size_t first_of_all = start / sizeof(float);
    const Event read = staging.read(buffer, offset, sink.data() + first_of_all, bytes, waits);
    read.wait();
    parallel_ranges(bytes / sizeof(float), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
      sink.write(first_of_all + first, count, sink.data() + first_of_all + first);
    });
    return read;
  }
  return staging.read(
      buffer, offset, bytes,
      [&](std::byte* at, std::size_t begin, std::size_t count) {
        sink.write((start + begin) / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
      },
      waits);
}

void DeviceSlab::upload_bytes(const std::string& name, std::size_t offset, const void* host, std::size_t bytes) {
  const Buffer& buffer = array(name).buffer;
  // Two uploads to parts of one array need no order between them: both are on the upload queue, which is in order.
  enqueue(Queue::upload, {{name, Access::out}},
          [&](std::span<const Event> waits) { return staging_.write(buffer, offset, host, bytes, waits); });
}

void DeviceSlab::download_bytes(const std::string& name, std::size_t offset, void* host, std::size_t bytes) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::download, {{name, Access::in}},
          [&](std::span<const Event> waits) { return staging_.read(buffer, offset, host, bytes, waits); });
}

void DeviceSlab::download_bytes(const std::string& name, std::size_t offset, std::size_t bytes,
                                const Staging::Piece& take) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::download, {{name, Access::in}},
          [&](std::span<const Event> waits) { return staging_.read(buffer, offset, bytes, take, waits); });
}

void DeviceSlab::upload_bytes(const std::string& name, std::size_t offset, std::size_t bytes,
                              const Staging::Piece& fill) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::upload, {{name, Access::out}},
          [&](std::span<const Event> waits) { return staging_.write(buffer, offset, bytes, fill, waits); });
}

namespace {

bool holds(const VoxelRange& here, std::size_t first, std::size_t count) {
  return here.begin <= first && first + count <= here.end;
}

}  // namespace

bool DeviceSlab::copy_from(const VolumeSource& source, std::size_t first, std::size_t count, const std::string& name,
                           std::size_t offset) {
  if (!holds(source.voxels_on(device_), first, count)) return false;
  const DevicePlace place{device_, array(name).buffer, offset};
  enqueue(Queue::compute, {{name, Access::out}},
          [&](std::span<const Event> waits) { return source.copy_to(place, first, count, waits); });
  return true;
}

bool DeviceSlab::copy_to(VolumeSink& sink, std::size_t first, std::size_t count, const std::string& name,
                         std::size_t offset) {
  if (!holds(sink.voxels_on(device_), first, count)) return false;
  const DevicePlace place{device_, array(name).buffer, offset};
  enqueue(Queue::compute, {{name, Access::in}}, [&](std::span<const Event> waits) {
    sink.take_from(place, first, count, waits, {});
    return Event();
  });
  return true;
}

void DeviceSlab::wait() {
  settle();
  device_.finish();
  for (const auto& event : computed_) busy_seconds_ += event.seconds();
  computed_.clear();
  graph_.clear();
  steps_.clear();
  keep_.clear();
}

void DeviceSlab::release_staging() {
  staging_.release();
  later_.release();
}

Event DeviceSlab::read_part(const std::string& name, std::size_t begin, std::size_t bytes, std::byte* to,
                            const Event& made) const {
  const std::size_t before = slice_bytes(name) * static_cast<std::size_t>(plan_.extended.begin);
  return Device(device_).read(array(name).buffer, begin - before, to, bytes, std::span(&made, 1));
}

Event DeviceSlab::write_part(const std::string& name, std::size_t begin, std::size_t bytes, const std::byte* from,
                             const Event& free) const {
  const std::size_t before = slice_bytes(name) * static_cast<std::size_t>(plan_.extended.begin);
  return Device(device_).write(array(name).buffer, begin - before, from, bytes, std::span(&free, 1));
}

void DeviceSlab::mark_step(std::size_t newer, const std::function<bool()>& meanwhile) {
  steps_.push_back(last_);
  while (steps_.size() > newer) {
    if (meanwhile && !steps_.front().ended() && meanwhile()) continue;
    steps_.front().wait();
    steps_.pop_front();
  }
}

}  // namespace halocline
