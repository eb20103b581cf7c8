#include "algorithms/calibration/denoise_loop.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/denoisers/registry.hpp"

namespace halocline {

DenoiseLoop::DenoiseLoop(const Device& device, const BenchForm& form, MethodParameters parameters,
                         const std::map<std::string, const Volume*>& inputs)
    : method_(make_denoiser(form.method, parameters)),
      slab_(device, whole_plan(method_->requirements()), 0),
      iterations_(parameters.iterations) {
  for (const auto& [name, volume] : inputs) slab_.upload(name, slab_.extended(), MemorySource(*volume));
  waits_ = method_->requirements().reduction_every_iteration;
  method_->begin();
  method_->start(slab_);
  if (waits_) reduce();
  slab_.wait();
}

void DenoiseLoop::iterate(int count) {
  for (int n = 0; n < count; n += together()) {
    if (done_ + together() > iterations_) done_ = 0;
    method_->iterate_together(slab_, done_, together(), slab_.interior());
    done_ += together();
    if (waits_) reduce();
  }
}

void DenoiseLoop::warm_up() {
  for (int count = 1; count <= together(); ++count) method_->iterate_together(slab_, 0, count, slab_.interior());
  reduce();
  slab_.wait();
}

void DenoiseLoop::reduce() {
  method_->reduce(slab_, done_, slab_.interior());
  if (const DeviceSteering* steering = method_->on_device(); steering != nullptr && steering->window(slab_) > 0)
    steering->steer(slab_, done_);
}

IterationRecord DenoiseLoop::run() {
  const auto need = method_->requirements();
  const auto sums_array = std::find_if(need.arrays.begin(), need.arrays.end(),
                                       [](const ArrayNeed& array) { return array.lifetime == Lifetime::sums; });
  std::vector<double> slices(need.size[2] * sums_array->elements);
  method_->begin();
  method_->start(slab_);
  for (int done = 0; done < iterations_;) {
    const int due = std::min(iterations_, std::max(done + 1, method_->next_reduction(done)));
    while (done < due) {
      const int count = std::min(together(), due - done);
      method_->iterate_together(slab_, done, count, slab_.interior());
      done += count;
    }
    method_->reduce(slab_, done, slab_.interior());
    slab_.download(sums_array->name, slab_.interior(), slices.data(), 0);
    slab_.wait();
    std::vector<double> sums(sums_array->elements, 0.0);
    for (std::size_t n = 0; n < slices.size(); ++n) sums[n % sums.size()] += slices[n];
    if (method_->reduced(done, sums)) break;
  }
  return method_->history().back();
}

}  // namespace halocline
