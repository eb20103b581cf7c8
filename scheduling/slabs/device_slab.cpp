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
  } catch (const std::exception&) {  // the run reports another error
  }
}

namespace {

struct Bytes {
  std::size_t begin, count;
};

// Bytes of slices in memory that begins with slice number `first`.
Bytes bytes_of(std::size_t slice, Range slices, std::int64_t first = 0) {
  return {slice * unsigned_count(slices.begin - first), slice * slices.size()};
}

// Writes pieces of a download to the sink, the first at byte `start` of the whole volume.
Staging::Piece into(VolumeSink& sink, std::size_t start) {
  return [&sink, start](std::byte* at, std::size_t begin, std::size_t count) {
    sink.write((start + begin) / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
  };
}

// The part of `slices` whose voxels reside on a device, perhaps empty.
Range slices_in(const VoxelRange& voxels, std::size_t slice, Range slices) {
  const auto at = [&](std::size_t voxel) { return static_cast<std::int64_t>(voxel * sizeof(float) / slice); };
  const Range part = voxels.empty() ? Range{} : common(slices, {at(voxels.begin), at(voxels.end)});
  return part.empty() ? Range{slices.begin, slices.begin} : part;
}

bool holds(const VoxelRange& here, std::size_t first, std::size_t count) {
  return here.begin <= first && first + count <= here.end;
}

}  // namespace

std::size_t DeviceSlab::upload(const std::string& name, Range slices, const void* host, std::int64_t host_begin) {
  if (slices.empty()) return 0;
  const std::size_t slice = slice_bytes(name);
  const auto [begin, count] = bytes_of(slice, slices, plan_.extended.begin);
  upload_bytes(name, begin, static_cast<const std::byte*>(host) + bytes_of(slice, slices, host_begin).begin, count);
  return count;
}

std::size_t DeviceSlab::download(const std::string& name, Range slices, void* host, std::int64_t host_begin) {
  if (slices.empty()) return 0;
  const std::size_t slice = slice_bytes(name);
  const auto [begin, count] = bytes_of(slice, slices, plan_.extended.begin);
  download_bytes(name, begin, static_cast<std::byte*>(host) + bytes_of(slice, slices, host_begin).begin, count);
  return count;
}

void DeviceSlab::download_later(const std::string& name, Range slices, const Staging::Piece& take) {
  const Buffer& buffer = array(name).buffer;
  const auto [begin, count] = bytes_of(slice_bytes(name), slices, plan_.extended.begin);
  enqueue(Queue::download, {{name, Access::in}}, [&, begin, count](std::span<const Event> waits) {
    return later_.read_later(buffer, begin, count, take, waits);
  });
}

std::size_t DeviceSlab::download_later(const std::string& name, Range slices, void* host, std::int64_t host_begin) {
  if (slices.empty()) return 0;
  const auto [begin, count] = bytes_of(slice_bytes(name), slices, host_begin);
  if (later_.direct(count)) return download(name, slices, host, host_begin);
  download_later(name, slices,
                 [to = static_cast<std::byte*>(host) + begin](std::byte* at, std::size_t first, std::size_t bytes) {
                   stream_copy(to + first, at, bytes);
                 });
  return count;
}

std::size_t DeviceSlab::download_later(const std::string& name, Range slices, VolumeSink& sink) {
  require_float_volume(name);
  if (slices.empty()) return 0;
  const std::size_t slice = slice_bytes(name);
  if (!slices_in(sink.voxels_on(device_), slice, slices).empty()) return download(name, slices, sink);
  const auto [start, count] = bytes_of(slice, slices);
  download_later(name, slices, into(sink, start));
  return count;
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

std::size_t DeviceSlab::upload(const std::string& name, Range slices, const VolumeSource& source) {
  require_float_volume(name);
  if (slices.empty()) return 0;
  const std::size_t slice = slice_bytes(name);
  const Range here = slices_in(source.voxels_on(device_), slice, slices);
  if (!here.empty()) {
    const auto [first, count] = bytes_of(slice / sizeof(float), here);
    copy_from(source, first, count, name, bytes_of(slice, here, plan_.extended.begin).begin);
  }
  upload_over_bus(name, {slices.begin, here.begin}, source);
  upload_over_bus(name, {here.end, slices.end}, source);
  return slice * (slices.size() - here.size());
}

void DeviceSlab::upload_over_bus(const std::string& name, Range slices, const VolumeSource& source) {
  if (slices.empty()) return;
  if (source.data() != nullptr) {
    upload(name, slices, source.data(), 0);
    return;
  }
  const std::size_t slice = slice_bytes(name), start = bytes_of(slice, slices).begin;
  const auto [offset, bytes] = bytes_of(slice, slices, plan_.extended.begin);
  upload_bytes(name, offset, bytes, [&](std::byte* at, std::size_t begin, std::size_t count) {
    source.read((start + begin) / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
  });
}

std::size_t DeviceSlab::download(const std::string& name, Range slices, VolumeSink& sink) {
  require_float_volume(name);
  if (slices.empty()) return 0;
  const Buffer& buffer = array(name).buffer;
  const std::size_t slice = slice_bytes(name);
  const Range here = slices_in(sink.voxels_on(device_), slice, slices);
  if (!here.empty()) {
    const auto [first, count] = bytes_of(slice / sizeof(float), here);
    copy_to(sink, first, count, name, bytes_of(slice, here, plan_.extended.begin).begin);
  }
  for (const Range part : {Range{slices.begin, here.begin}, Range{here.end, slices.end}})
    if (!part.empty())
      enqueue(Queue::download, {{name, Access::in}}, [&](std::span<const Event> waits) {
        return read_slices(staging_, buffer, slice, part, plan_.extended.begin, sink, waits);
      });
  return slice * (slices.size() - here.size());
}

std::function<std::size_t()> DeviceSlab::fetch(const std::string& name, Range slices, Event written, VolumeSink& sink) {
  require_float_volume(name);
  return [this, &buffer = array(name).buffer, slice = slice_bytes(name), slices, begin = plan_.extended.begin,
          written = std::move(written), &sink] {
    const std::span<const Event> waits(&written, 1);
    const Range here = slices_in(sink.voxels_on(device_), slice, slices);
    if (!here.empty()) {
      const auto [first, count] = bytes_of(slice / sizeof(float), here);
      Device device = device_;
      sink.take_from({device, buffer, bytes_of(slice, here, begin).begin}, first, count, waits, {});
    }
    for (const Range part : {Range{slices.begin, here.begin}, Range{here.end, slices.end}})
      if (!part.empty()) read_slices(fetching_, buffer, slice, part, begin, sink, waits);
    return slice * (slices.size() - here.size());
  };
}

// Reads from a buffer that begins with slice number `buffer_begin`. Static: fetch() runs it on another thread.
Event DeviceSlab::read_slices(Staging& staging, const Buffer& buffer, std::size_t slice, Range slices,
                              std::int64_t buffer_begin, VolumeSink& sink, std::span<const Event> waits) {
  const std::size_t start = bytes_of(slice, slices).begin;
  const auto [offset, bytes] = bytes_of(slice, slices, buffer_begin);
  if (sink.data() == nullptr || !staging.direct(bytes))
    return staging.read(buffer, offset, bytes, into(sink, start), waits);
  float* const to = sink.data() + start / sizeof(float);
  const Event read = staging.read(buffer, offset, to, bytes, waits);
  read.wait();
  parallel_ranges(bytes / sizeof(float), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    sink.write(start / sizeof(float) + first, count, to + first);
  });
  return read;
}

void DeviceSlab::upload_bytes(const std::string& name, std::size_t offset, const void* host, std::size_t bytes) {
  const Buffer& buffer = array(name).buffer;
  // Uploads to parts of one array need no order between them: the upload queue is in order.
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

DeviceSlab::Keeping::Keeping(DeviceSlab& slab, KeptSteps& into, const std::string& step) : slab_(slab) {
  slab_.kept_ = &into;
  slab_.kept_step_ = step;
  slab_.device_.keep(&into.commands);
}

DeviceSlab::Keeping::~Keeping() {
  slab_.kept_ = nullptr;
  slab_.device_.keep(nullptr);
}

void DeviceSlab::replay(const KeptSteps& steps) {
  last_ = device_.replay(steps.commands, graph_.waits(steps.accesses));
  graph_.add(steps.accesses, last_, static_cast<int>(Queue::compute));
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
  const std::size_t before = slice_bytes(name) * unsigned_count(plan_.extended.begin);
  return Device(device_).read(array(name).buffer, begin - before, to, bytes, std::span(&made, 1));
}

Event DeviceSlab::write_part(const std::string& name, std::size_t begin, std::size_t bytes, const std::byte* from,
                             const Event& free) const {
  const std::size_t before = slice_bytes(name) * unsigned_count(plan_.extended.begin);
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
