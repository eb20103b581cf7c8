#include "scheduling/slabs/slab.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "host/stream_copy.hpp"
#include "host/thread_pool.hpp"

namespace halocline {

Slab::Slab(Device device, const Plan& plan, int device_index)
    : device_(device),
      staging_(device),
      later_(device),
      fetching_(device),
      requirements_(plan.requirements),
      timed_(plan.resident && plan.slabs.size() > 1 && is_iterative(plan.requirements)) {
  std::int64_t slices = 0, rows = 0;
  const SlabPlan* first = nullptr;
  for (const auto& slab : plan.slabs) {
    if (slab.device != device_index) continue;
    if (first == nullptr) first = &slab;
    slices = std::max(slices, slab.extended.count());
    rows = std::max(rows, slab.rows.count());
  }
  if (first == nullptr) throw std::logic_error(fmt::format("the plan has no slab for device {}", device_index));
  plan_ = *first;
  for (const auto& need : requirements_.arrays) {
    Array array;
    array.need = need;
    if (need.kind == ArrayKind::image) {
      array.image = device_.image_array(need.name, halocline::image_extent(need, requirements_, plan.batch),
                                        {static_cast<int>(need.components), need.element_bytes == 2});
    } else if (need.kind == ArrayKind::planes) {
      array.image = device_.image_array(need.name, plane_extent(need, requirements_, slices),
                                        {static_cast<int>(need.components), false});
    } else {
      array.buffer = device_.buffer(need.name, array_bytes(need, requirements_, slices, rows, plan.batch));
    }
    arrays_.emplace(need.name, std::move(array));
  }
}

Slab::~Slab() {
  try {
    device_.finish();
    for (auto& [name, array] : arrays_) array.buffer.retire();
  } catch (const std::exception&) {  // the error that ended the run is already on its way
  }
}

void Slab::move_to(const SlabPlan& slab) {
  plan_ = slab;
}

Slab::Names::Names(Slab& slab, const std::map<std::string, std::string>& names)
    : slab_(slab), before_(std::exchange(slab.names_, &names)) {}

Slab::Names::~Names() {
  slab_.names_ = before_;
}

const std::string& Slab::resolved(const std::string& name) const {
  if (names_ == nullptr) return name;
  const auto found = names_->find(name);
  return found == names_->end() ? name : found->second;
}

Slab::Array& Slab::array(const std::string& name) {
  const auto found = arrays_.find(resolved(name));
  if (found == arrays_.end())
    throw std::logic_error(fmt::format("{} did not declare an array {}", requirements_.algorithm, name));
  return found->second;
}

const Slab::Array& Slab::array(const std::string& name) const {
  return const_cast<Slab*>(this)->array(name);
}

Event Slab::enqueue(Queue queue, const std::vector<std::pair<std::string, Access>>& accesses,
                    const std::function<Event(std::span<const Event>)>& command) {
  std::vector<std::pair<std::string, Access>> named = accesses;
  for (auto& [name, access] : named) name = resolved(name);
  const auto waits = graph_.waits(named);
  const Event event = command(waits);
  if (!event) return event;  // it has ended
  graph_.add(named, event, static_cast<int>(queue));
  if (timed_ && queue == Queue::compute) computed_.push_back(event);
  last_ = event;
  return event;
}

StructArgument Slab::extent(Range slices) const {
  return argument_struct(structs::Extent{nx(), ny(), nz(), offset(), static_cast<std::int32_t>(slices.begin),
                                         static_cast<std::int32_t>(slices.end)});
}

void Slab::launch(const KernelSpec& spec, std::array<std::size_t, 3> global,
                  const std::vector<SlabArgument>& arguments) {
  launch(spec, global, {0, 0, 0}, arguments);
}

void Slab::launch(const KernelSpec& spec, Range slices, const std::vector<SlabArgument>& arguments) {
  if (slices.empty()) return;
  launch(spec, {requirements_.size[0], requirements_.size[1], static_cast<std::size_t>(slices.count())}, arguments);
}

void Slab::launch(const KernelSpec& spec, std::array<std::size_t, 3> global, std::array<std::size_t, 3> group,
                  const std::vector<SlabArgument>& arguments) {
  std::vector<KernelArgument> kernel_arguments;
  std::vector<std::pair<std::string, Access>> accesses;
  for (const auto& argument : arguments)
    std::visit(
        [&](const auto& value) {
          using Type = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Type, ArrayAccess>) {
            const Array& named = array(value.name);
            accesses.emplace_back(value.name, value.access);
            if (named.need.kind == ArrayKind::image || named.need.kind == ArrayKind::planes) {
              kernel_arguments.emplace_back(&named.image);
            } else {
              kernel_arguments.emplace_back(&named.buffer);
            }
          } else {
            kernel_arguments.emplace_back(value);
          }
        },
        argument);
  enqueue(Queue::compute, accesses, [&](std::span<const Event> waits) {
    return device_.launch(spec, global, kernel_arguments, waits,
                          group[0] == 0 ? std::nullopt : std::optional<std::array<std::size_t, 3>>(group));
  });
}

void Slab::fill(const std::string& name, float value) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::compute, {{name, Access::out}},
          [&](std::span<const Event> waits) { return device_.fill(buffer, value, 0, buffer.bytes(), waits); });
}

void Slab::fill(const std::string& name, float value, Range slices) {
  if (slices.empty()) return;
  const Buffer& buffer = array(name).buffer;
  const std::size_t slice = slice_bytes(name);
  enqueue(Queue::compute, {{name, Access::out}}, [&](std::span<const Event> waits) {
    return device_.fill(buffer, value, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
                        slice * static_cast<std::size_t>(slices.count()), waits);
  });
}

void Slab::swap(const std::string& a, const std::string& b) {
  std::swap(array(a).buffer, array(b).buffer);
  graph_.swap(resolved(a), resolved(b));
}

void Slab::fft(const std::string& name, std::size_t length, std::size_t batch, bool inverse) {
  const auto key = std::pair(length, batch);
  auto found = ffts_.find(key);
  if (found == ffts_.end()) found = ffts_.emplace(key, Fft(device_, length, batch)).first;
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::compute, {{name, Access::inout}}, [&](std::span<const Event> waits) {
    return inverse ? found->second.inverse(buffer, waits) : found->second.forward(buffer, waits);
  });
}

void Slab::copy_to_image(const std::string& from, const std::string& to, std::size_t layers) {
  const ArrayNeed& need = array(from).need;
  const Buffer& source = array(from).buffer;
  const ImageArray& target = array(to).image;
  const std::size_t begin = need.rows > 0 ? 0 : static_cast<std::size_t>(rows().begin),
                    count = need.rows > 0 ? need.rows : static_cast<std::size_t>(rows().count());
  enqueue(Queue::compute, {{from, Access::in}, {to, Access::out}},
          [&](std::span<const Event> waits) { return device_.copy(source, target, begin, count, layers, waits); });
}

void Slab::set(const std::string& name, const void* data, std::size_t bytes) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes);
  std::memcpy(copy->data(), data, bytes);
  keep_.push_back(copy);
  upload_bytes(name, 0, copy->data(), bytes);
}

std::array<std::size_t, 3> Slab::image_extent(const std::string& name) const {
  return array(name).image.extent();
}

std::size_t Slab::slice_bytes(const std::string& name) const {
  return array_bytes(array(name).need, requirements_, 1, 1, 1);
}

void Slab::upload(const std::string& name, Range slices, const void* host, std::int64_t host_begin) {
  if (slices.empty()) return;
  const std::size_t slice = slice_bytes(name);
  upload_bytes(name, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
               static_cast<const std::byte*>(host) + slice * static_cast<std::size_t>(slices.begin - host_begin),
               slice * static_cast<std::size_t>(slices.count()));
}

void Slab::download(const std::string& name, Range slices, void* host, std::int64_t host_begin) {
  if (slices.empty()) return;
  const std::size_t slice = slice_bytes(name);
  download_bytes(name, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
                 static_cast<std::byte*>(host) + slice * static_cast<std::size_t>(slices.begin - host_begin),
                 slice * static_cast<std::size_t>(slices.count()));
}

void Slab::download_later(const std::string& name, Range slices, void* host, std::int64_t host_begin) {
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

std::size_t Slab::download_later(const std::string& name, Range slices, VolumeSink& sink) {
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

void Slab::settle() {
  later_.settle();
}

void Slab::copy(const std::vector<Copy>& copies) {
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

void Slab::require_float_volume(const std::string& name) const {
  const ArrayNeed& need = array(name).need;
  if (need.kind != ArrayKind::volume || need.element_bytes * need.components != sizeof(float))
    throw std::logic_error(fmt::format("{} is no volume of float32", name));
}

// Pieces are encoded by the threads that fill the memory for the bus.
void Slab::upload_encoded(const Array& array, Range slices, const VolumeSource& source) {
  const std::size_t slice = slice_bytes(array.need.name), element = array.need.element_bytes;
  enqueue(Queue::upload, {{array.need.name, Access::out}}, [&](std::span<const Event> waits) {
    return staging_.write(
        array.buffer, slice * static_cast<std::size_t>(slices.begin - plan_.extended.begin),
        slice * static_cast<std::size_t>(slices.count()),
        [&](std::byte* at, std::size_t begin, std::size_t bytes) {
          const std::size_t first = (slice * static_cast<std::size_t>(slices.begin) + begin) / element,
                            count = bytes / element;
          UninitialisedVector<float> values(source.data() == nullptr ? count : 0);
          if (source.data() == nullptr) source.read(first, count, values.data());
          array.need.encode(source.data() == nullptr ? values.data() : source.data() + first, at, count);
        },
        waits);
  });
}

// Of voxels that lie, or have a place, on this device.
template <class Voxels>
Range Slab::slices_here(const Voxels& voxels, std::size_t slice, Range slices) const {
  const VoxelRange here = voxels.voxels_on(device_);
  if (here.empty()) return {slices.begin, slices.begin};
  const auto at = [&](std::size_t voxel) { return static_cast<std::int64_t>(voxel * sizeof(float) / slice); };
  const Range common{std::max(slices.begin, at(here.begin)), std::min(slices.end, at(here.end))};
  return common.empty() ? Range{slices.begin, slices.begin} : common;
}

std::size_t Slab::upload(const std::string& name, Range slices, const VolumeSource& source) {
  if (!array(name).need.encode) require_float_volume(name);
  if (slices.empty()) return 0;
  const std::size_t slice = slice_bytes(name);
  const Range here = array(name).need.encode ? Range{slices.begin, slices.begin} : slices_here(source, slice, slices);
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

void Slab::upload_over_bus(const std::string& name, Range slices, const VolumeSource& source) {
  if (slices.empty()) return;
  if (array(name).need.encode) return upload_encoded(array(name), slices, source);
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

std::size_t Slab::download(const std::string& name, Range slices, VolumeSink& sink) {
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

std::function<std::size_t()> Slab::fetch(const std::string& name, Range slices, Event written, VolumeSink& sink) {
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
void Slab::hand_over(const Buffer& buffer, std::size_t slice, Range slices, std::int64_t buffer_begin, VolumeSink& sink,
                     std::span<const Event> waits) const {
  Device device = device_;
  const std::size_t voxels = slice / sizeof(float);
  sink.take_from({device, buffer, slice * static_cast<std::size_t>(slices.begin - buffer_begin)},
                 voxels * static_cast<std::size_t>(slices.begin), voxels * static_cast<std::size_t>(slices.count()),
                 waits);
}

// Of a buffer whose first slice is number `buffer_begin`. Static: fetch() runs it on another thread.
Event Slab::read_slices(Staging& staging, const Buffer& buffer, std::size_t slice, Range slices,
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

void Slab::upload_bytes(const std::string& name, std::size_t offset, const void* host, std::size_t bytes) {
  const Buffer& buffer = array(name).buffer;
  // Two uploads to parts of one array need no order between them: both are on the upload queue, which is in order.
  enqueue(Queue::upload, {{name, Access::out}},
          [&](std::span<const Event> waits) { return staging_.write(buffer, offset, host, bytes, waits); });
}

void Slab::download_bytes(const std::string& name, std::size_t offset, void* host, std::size_t bytes) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::download, {{name, Access::in}},
          [&](std::span<const Event> waits) { return staging_.read(buffer, offset, host, bytes, waits); });
}

void Slab::download_bytes(const std::string& name, std::size_t offset, std::size_t bytes, const Staging::Piece& take) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::download, {{name, Access::in}},
          [&](std::span<const Event> waits) { return staging_.read(buffer, offset, bytes, take, waits); });
}

void Slab::upload_bytes(const std::string& name, std::size_t offset, std::size_t bytes, const Staging::Piece& fill) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::upload, {{name, Access::out}},
          [&](std::span<const Event> waits) { return staging_.write(buffer, offset, bytes, fill, waits); });
}

void Slab::wait() {
  settle();
  device_.finish();
  for (const auto& event : computed_) busy_seconds_ += event.seconds();
  computed_.clear();
  graph_.clear();
  steps_.clear();
  keep_.clear();
}

void Slab::release_staging() {
  staging_.release();
  later_.release();
}

Event Slab::read_part(const std::string& name, std::size_t begin, std::size_t bytes, std::byte* to,
                      const Event& made) const {
  const std::size_t before = slice_bytes(name) * static_cast<std::size_t>(plan_.extended.begin);
  return Device(device_).read(array(name).buffer, begin - before, to, bytes, std::span(&made, 1));
}

Event Slab::write_part(const std::string& name, std::size_t begin, std::size_t bytes, const std::byte* from,
                       const Event& free) const {
  const std::size_t before = slice_bytes(name) * static_cast<std::size_t>(plan_.extended.begin);
  return Device(device_).write(array(name).buffer, begin - before, from, bytes, std::span(&free, 1));
}

void Slab::mark_step(std::size_t newer, const std::function<bool()>& meanwhile) {
  steps_.push_back(last_);
  while (steps_.size() > newer) {
    if (meanwhile && !steps_.front().ended() && meanwhile()) continue;
    steps_.front().wait();
    steps_.pop_front();
  }
}

}  // namespace halocline
