#include "scheduling/slabs/slab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "host/opencl/kernel_arguments.hpp"
#include "host/opencl/tuned_values.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void add_access(std::vector<std::pair<std::string, Access>>& accesses, const std::string& name, Access access) {
  const auto found =
      std::find_if(accesses.begin(), accesses.end(), [&](const auto& each) { return each.first == name; });
  if (found == accesses.end())
    accesses.emplace_back(name, access);
  else if (found->second != access)
    found->second = Access::inout;
}

}  // namespace

Slab::Slab(Device device, const Plan& plan, int device_index)
    : device_(device),
      staging_(device),
      requirements_(plan.requirements),
      timed_(plan.resident && plan.slabs.size() > 1 && is_iterative(plan.requirements)) {
  const auto first = std::find_if(plan.slabs.begin(), plan.slabs.end(),
                                  [&](const SlabPlan& slab) { return slab.device == device_index; });
  if (first == plan.slabs.end())
    throw std::logic_error(fmt::format("the plan has no slab for device {}", device_index));
  plan_ = *first;
  device_.set_problem(problem_class(requirements_.size, requirements_.stack));
  for (const auto& need : requirements_.arrays) add(need, plan, device_index);
}

void Slab::add(const ArrayNeed& need, const Plan& plan, int device_index) {
  const auto [slices, rows] = plan.extent_of(device_index);
  Array array;
  array.need = need;
  if (need.kind == ArrayKind::image)
    array.image = device_.image_array(need.name, halocline::image_extent(need, requirements_, plan.batch),
                                      {static_cast<int>(need.components), need.element_bytes == 2});
  else if (need.kind == ArrayKind::planes)
    array.image = device_.image_array(need.name, plane_extent(need, requirements_, slices),
                                      {static_cast<int>(need.components), need.element_bytes == 2});
  else
    array.buffer = device_.buffer(need.name, array_bytes(need, requirements_, slices, rows, plan.batch));
  arrays_.emplace(need.name, std::move(array));
}

int Slab::tuned(const std::string& name) const {
  return tuned_number(device_, name);
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
  require_kept(queue == Queue::compute, "one that moves " + (named.empty() ? "arrays" : named.front().first));
  const std::size_t kept = kept_ == nullptr ? 0 : kept_->commands.size();
  const auto waits = graph_.waits(named);
  const Event event = command(waits);
  if (!event) return event;  // it has ended
  if (kept_ != nullptr) {
    require_kept(kept_->commands.size() > kept, "one with a Fourier transform");
    for (const auto& [name, access] : named) add_access(kept_->accesses, name, access);
  }
  graph_.add(named, event, static_cast<int>(queue));
  if (timed_ && queue == Queue::compute) computed_.push_back(event);
  last_ = event;
  return event;
}

// Throws InputError where steps are kept and this command is none that can be.
void Slab::require_kept(bool kept, const std::string& found) const {
  if (kept_ == nullptr || kept) return;
  throw InputError({.what = "the step \"" + kept_step_ + "\" of a prepared job",
                    .found = found,
                    .expected = "kernels that work on the device's arrays alone",
                    .remedy = "compute it outside the job"});
}

StructArgument Slab::extent(Range slices) const {
  return argument_struct(structs::Extent{nx(), ny(), nz(), offset(), static_cast<std::int32_t>(slices.begin),
                                         static_cast<std::int32_t>(slices.end)});
}

DeclaredArguments Slab::declared_arguments(const KernelSpec& spec) {
  return halocline::declared_arguments(device_, spec);
}

void Slab::launch(const KernelSpec& spec, std::array<std::size_t, 3> global,
                  const std::vector<SlabArgument>& arguments) {
  launch(spec, global, {0, 0, 0}, arguments);
}

void Slab::launch(const KernelSpec& spec, Range slices, const std::vector<SlabArgument>& arguments) {
  if (slices.empty()) return;
  launch(spec, {requirements_.size[0], requirements_.size[1], slices.size()}, arguments);
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
                        slice * slices.size(), waits);
  });
}

void Slab::swap(const std::string& a, const std::string& b) {
  require_kept(false, "one that swaps " + a + " with another array");
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
                    count = need.rows > 0 ? need.rows : rows().size();
  enqueue(Queue::compute, {{from, Access::in}, {to, Access::out}},
          [&](std::span<const Event> waits) { return device_.copy(source, target, begin, count, layers, waits); });
}

void Slab::set(const std::string& name, const void* data, std::size_t bytes) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes);
  std::memcpy(copy->data(), data, bytes);
  const Buffer& buffer = array(name).buffer;
  keep_.emplace_back(Event(), copy);
  keep_.back().first = enqueue(Queue::upload, {{name, Access::out}}, [&](std::span<const Event> waits) {
    return staging_.write(buffer, 0, copy->data(), bytes, waits);
  });
  if (!keep_.back().first) keep_.pop_back();  // it has ended
  while (!keep_.empty() && keep_.front().first && keep_.front().first.ended()) keep_.pop_front();
}

void Slab::read(const std::string& name, void* host, std::size_t bytes) {
  const Buffer& buffer = array(name).buffer;
  enqueue(Queue::download, {{name, Access::in}},
          [&](std::span<const Event> waits) { return staging_.read(buffer, 0, host, bytes, waits); });
  device_.finish();
}

std::array<std::size_t, 3> Slab::image_extent(const std::string& name) const {
  return array(name).image.extent();
}

std::size_t Slab::slice_bytes(const std::string& name) const {
  return array_bytes(array(name).need, requirements_, 1, 1, 1);
}

}  // namespace halocline
