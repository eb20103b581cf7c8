#include "scheduling/iteration.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "host/error.hpp"
#include "host/interrupt.hpp"
#include "scheduling/run_support.hpp"

namespace halocline {
namespace {

// Slices that a slab holds but does not own, of every state array, as they were before the pass: gathered before any
// slab is worked on, so that slabs may follow in any order and write their results in place.
struct Halos {
  std::map<std::string, std::vector<std::byte>> low, high;
};

class Run {
 public:
  Run(IterativeMethod& method, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
      const std::vector<Device>& devices, const Plan& plan, const Progress& progress)
      : method_(method),
        inputs_(inputs),
        devices_(devices),
        plan_(plan),
        requirements_(plan.requirements),
        progress_(progress) {
    result_.output = Volume(grid);
    halos_.resize(plan.slabs.size());
    for (const auto& need : requirements_.arrays) {
      if (need.lifetime == Lifetime::input && need.kind == ArrayKind::volume && !inputs.contains(need.name))
        throw std::logic_error(fmt::format("{} needs the input {}", requirements_.algorithm, need.name));
      if (need.lifetime == Lifetime::state || need.lifetime == Lifetime::output) states_.push_back(need.name);
      if (need.lifetime == Lifetime::sums) sums_name_ = need.name, components_ = need.elements;
      if (need.lifetime == Lifetime::output) output_name_ = need.name;
    }
    sums_.resize(requirements_.size[2] * components_);
  }

  RunResult run() {
    method_.begin();
    const int iterations = requirements_.iterations;
    int done = 0;
    bool stop = method_.next_reduction(-1) == 0 && pass(0, 0, true);
    while (!stop && done < iterations) {
      const int due = std::min(iterations, std::max(done + 1, method_.next_reduction(done)));
      const int count = std::min(plan_.iterations_per_exchange, due - done);
      stop = pass(done, count, done + count == due);
      done += count;
      if (progress_)
        progress_(
            {requirements_.algorithm, static_cast<double>(done), static_cast<double>(iterations), method_.note()});
    }
    if (plan_.resident)
      for_each_device(plan_, [&](int device) {
        Slab& slab = *resident_.at(device);
        slab.download(output_name_, slab.interior(), result_.output.voxels.data(), 0);
        count_bytes(slab.slice_bytes(output_name_) * static_cast<std::size_t>(slab.interior().count()));
        slab.wait();
      });
    result_.iterations = done;
    result_.bus_bytes = static_cast<double>(bus_bytes_.load());
    return std::move(result_);
  }

 private:
  // `count` iterations from number `first` over all slabs, then a reduction if it is due: whether to stop.
  bool pass(int first, int count, bool reduce) {
    if (!started_) {
      prepare();
    } else if (plan_.resident) {
      exchange_on_devices();
    } else {
      gather_from_host();
    }
    for_each_device(plan_, [&](int device) {
      if (plan_.resident) {
        iterate(*resident_.at(device), first, count, reduce);
        return;
      }
      Slab slab(devices_[device], plan_, device);
      for (std::size_t n = 0; n < plan_.slabs.size(); ++n) {
        if (plan_.slabs[n].device != device) continue;
        slab.move_to(plan_.slabs[n]);
        load(slab, n);
        iterate(slab, first, count, reduce);
        for (const auto& name : states_) {
          slab.download(name, slab.interior(), host_state(name), 0);
          count_bytes(slab.slice_bytes(name) * static_cast<std::size_t>(slab.interior().count()));
        }
        slab.wait();
      }
    });
    started_ = true;
    return reduce && method_.reduced(first + count, added_sums());
  }

  // Before the first pass: slabs that stay get their memory and inputs; otherwise the host gets room for the state.
  void prepare() {
    if (!plan_.resident) {
      for (const auto& need : requirements_.arrays)
        if (need.lifetime == Lifetime::state)
          host_states_[need.name].resize(
              array_bytes(need, requirements_, static_cast<std::int64_t>(requirements_.size[2]), 1, 1));
      return;
    }
    for (const auto& slab : plan_.slabs) resident_[slab.device] = nullptr;
    for_each_device(plan_, [&](int device) {
      auto slab = std::make_unique<Slab>(devices_[device], plan_, device);
      load_inputs(*slab);
      method_.start(*slab);
      slab->wait();
      resident_.at(device) = std::move(slab);
    });
  }

  void load_inputs(Slab& slab) {
    for (const auto& need : requirements_.arrays) {
      if (need.lifetime != Lifetime::input || need.kind != ArrayKind::volume) continue;
      slab.upload(need.name, slab.extended(), inputs_.at(need.name)->voxels.data(), 0);
      count_bytes(slab.slice_bytes(need.name) * static_cast<std::size_t>(slab.extended().count()));
    }
  }

  void load(Slab& slab, std::size_t number) {
    load_inputs(slab);
    if (!started_) return method_.start(slab);
    const Range interior = slab.interior(), extended = slab.extended();
    for (const auto& name : states_) {
      slab.upload(name, {extended.begin, interior.begin}, halos_[number].low[name].data(), extended.begin);
      slab.upload(name, interior, host_state(name), 0);
      slab.upload(name, {interior.end, extended.end}, halos_[number].high[name].data(), interior.end);
      count_bytes(slab.slice_bytes(name) * static_cast<std::size_t>(extended.count()));
    }
  }

  void iterate(Slab& slab, int first, int count, bool reduce) {
    const auto& need = requirements_;
    const auto limit = static_cast<std::int64_t>(need.size[2]);
    for (int n = 0; n < count; ++n) {
      check_interrupt();
      // what later iterations of this pass, and its reduction, will need of this one beyond the interior
      const std::int64_t later = count - 1 - n, extra = reduce ? need.reduction_halo : 0;
      method_.iterate(slab, first + n,
                      slab.interior().grown(later * need.halo_low + extra, later * need.halo_high + extra, limit));
      slab.mark_step();
    }
    check_interrupt();
    if (reduce) {
      method_.reduce(slab, slab.interior());
      slab.download(sums_name_, slab.interior(), sums_.data(), 0);
      slab.wait();
    }
  }

  // Slabs that stay on their devices: what neighbours need goes through the host.
  void exchange_on_devices() {
    if (plan_.slabs.size() == 1) return;
    make_room_for_halos();
    for_each_device(plan_, [&](int device) {
      Slab& slab = *resident_.at(device);
      for (std::size_t n = 0; n < plan_.slabs.size(); ++n) {
        if (plan_.slabs[n].device == device) continue;
        const Range low{plan_.slabs[n].extended.begin, plan_.slabs[n].interior.begin};
        const Range high{plan_.slabs[n].interior.end, plan_.slabs[n].extended.end};
        for (const auto& name : states_) {
          download_common(slab, name, low, halos_[n].low[name]);
          download_common(slab, name, high, halos_[n].high[name]);
        }
      }
      slab.wait();
    });
    for_each_device(plan_, [&](int device) {
      Slab& slab = *resident_.at(device);
      for (std::size_t n = 0; n < plan_.slabs.size(); ++n) {
        if (plan_.slabs[n].device != device) continue;
        const Range interior = slab.interior(), extended = slab.extended();
        for (const auto& name : states_) {
          slab.upload(name, {extended.begin, interior.begin}, halos_[n].low[name].data(), extended.begin);
          slab.upload(name, {interior.end, extended.end}, halos_[n].high[name].data(), interior.end);
          count_bytes(slab.slice_bytes(name) * static_cast<std::size_t>(extended.count() - interior.count()));
        }
      }
    });
  }

  // The part of `wanted` that `slab` owns, into a buffer that holds `wanted`.
  void download_common(Slab& slab, const std::string& name, Range wanted, std::vector<std::byte>& buffer) {
    const Range common{std::max(wanted.begin, slab.interior().begin), std::min(wanted.end, slab.interior().end)};
    if (common.empty()) return;
    slab.download(name, common, buffer.data(), wanted.begin);
    count_bytes(slab.slice_bytes(name) * static_cast<std::size_t>(common.count()));
  }

  void gather_from_host() {
    make_room_for_halos();
    for (std::size_t n = 0; n < plan_.slabs.size(); ++n) {
      const auto& slab = plan_.slabs[n];
      for (const auto& name : states_) {
        const std::size_t slice = slice_bytes(name);
        const std::byte* state = host_state(name);
        std::memcpy(halos_[n].low[name].data(), state + slice * static_cast<std::size_t>(slab.extended.begin),
                    halos_[n].low[name].size());
        std::memcpy(halos_[n].high[name].data(), state + slice * static_cast<std::size_t>(slab.interior.end),
                    halos_[n].high[name].size());
      }
    }
  }

  void make_room_for_halos() {
    for (std::size_t n = 0; n < plan_.slabs.size(); ++n) {
      const auto& slab = plan_.slabs[n];
      for (const auto& name : states_) {
        halos_[n].low[name].resize(slice_bytes(name) *
                                   static_cast<std::size_t>(slab.interior.begin - slab.extended.begin));
        halos_[n].high[name].resize(slice_bytes(name) *
                                    static_cast<std::size_t>(slab.extended.end - slab.interior.end));
      }
    }
  }

  std::vector<double> added_sums() const {
    std::vector<double> total(components_, 0.0);
    for (std::size_t slice = 0; slice < requirements_.size[2]; ++slice)
      for (std::size_t c = 0; c < components_; ++c) total[c] += sums_[slice * components_ + c];
    return total;
  }

  std::size_t slice_bytes(const std::string& name) const {
    for (const auto& need : requirements_.arrays)
      if (need.name == name) return array_bytes(need, requirements_, 1, 1, 1);
    throw std::logic_error("no array " + name);
  }

  std::byte* host_state(const std::string& name) {
    if (name == output_name_) return reinterpret_cast<std::byte*>(result_.output.voxels.data());
    return host_states_.at(name).data();
  }

  void count_bytes(std::size_t bytes) { bus_bytes_ += bytes; }

  IterativeMethod& method_;
  const std::map<std::string, const Volume*>& inputs_;
  std::vector<Device> devices_;
  const Plan& plan_;
  const Requirements& requirements_;
  const Progress& progress_;
  RunResult result_;
  std::vector<std::string> states_;
  std::string sums_name_, output_name_;
  std::size_t components_ = 0;
  std::vector<double> sums_;
  std::vector<Halos> halos_;                                   // by slab
  std::map<std::string, std::vector<std::byte>> host_states_;  // out of core, but for the output
  std::map<int, std::unique_ptr<Slab>> resident_;              // by device
  bool started_ = false;
  std::atomic<std::size_t> bus_bytes_{0};
};

}  // namespace

RunResult run_iterations(IterativeMethod& method, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
                         const std::vector<Device>& devices, const RunOptions& options) {
  for (const auto& [name, volume] : inputs)
    if (volume->grid.size != grid.size) throw std::logic_error("input " + name + " has another size than the result");
  return run_replanning(method.requirements(), devices, options, [&](const Plan& plan) {
    return Run(method, inputs, grid, devices, plan, options.progress).run();
  });
}

}  // namespace halocline
