#include "apps/bench/denoise_bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/calibration/denoise_phantom.hpp"
#include "algorithms/denoisers/frame_stack.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "apps/bench/flop_rate.hpp"
#include "apps/bench/kernel_bench.hpp"
#include "host/opencl/trace.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {
namespace {

constexpr double phantom_noise = 0.1, phantom_lambda = 1.0 / 15;
constexpr int most_iterations = 1000;        // on the way to a gap
constexpr int endless_iterations = 1 << 18;  // while a rate is measured
constexpr std::size_t smallest_edge = 8;     // least value of a missing `size`
constexpr std::size_t frame_count = 8;       // frames of pdu4d
const std::vector<std::string> benched_methods{"pdu", "spdu", "tvgd", "pdu4d"};

// The forms of a method in the order in which they are measured.
std::vector<BenchForm> forms_of(const std::string& method) {
  if (method == "tvgd") return {{method, {}}, {method, {}, true, false}, {method, {}, false, true}};
  if (method == "pdu4d") return {{method, {}}};
  std::vector<BenchForm> forms;
  for (const FusedForm& form : fused_forms) forms.push_back({method, form});
  for (const auto schedule : {Schedule::chambolle_pock, Schedule::seed})
    forms.push_back({method, {}, false, false, schedule});
  Regulariser huber, anisotropic, non_negative, guided;
  huber.variation = Variation::huber;
  huber.huber_delta = phantom_noise / 2;
  anisotropic.variation = Variation::anisotropic;
  non_negative.minimum = 0;
  guided.guided = true;
  guided.reference_eta = phantom_noise;
  for (const auto& regulariser : {huber, anisotropic, non_negative, guided})
    forms.push_back({method, {}, false, false, Schedule::standard, regulariser});
  return forms;
}

// Forms of most runs; others are slower, and only measured by name.
bool usual(const BenchForm& form) {
  return form.plain() || form.descends() || form.method == "pdu4d";
}

// The grid of so many voxels; pdu4d: of eight stacked frames of half the edges.
Grid grid_of(const BenchForm& form, const VolumeSize& volume) {
  Grid grid;
  grid.size = volume;
  if (form.method != "pdu4d") return grid;
  for (std::size_t& edge : grid.size) edge = std::max<std::size_t>(1, edge / 2);
  return stacked_grid(grid, frame_count);
}

MethodParameters parameters_for(const BenchForm& form, const VolumeSize& n, int iterations, double gap) {
  MethodParameters parameters;
  parameters.size = grid_of(form, n).size;
  parameters.iterations = iterations;
  parameters.lambda = phantom_lambda;
  parameters.gap = gap;
  parameters.fused = form.fused;
  parameters.step = 0.01 * phantom_noise;
  parameters.epsilon = 0.05 * phantom_noise;
  if (form.adaptive) parameters.adaptive_delta = 5 * phantom_noise;
  parameters.statistical = form.statistical;
  parameters.schedule = form.schedule;
  parameters.regulariser = form.regulariser;
  parameters.time = {1, form.method == "pdu4d" ? parameters.size[0] : 1};
  return parameters;
}

Requirements requirements_of(const BenchForm& form, const VolumeSize& n) {
  return make_denoiser(form.method, parameters_for(form, n, most_iterations, 0))->program().needs;
}

// Bytes on the device in one slab; nothing if it does not fit.
std::optional<std::size_t> whole_bytes(const Device& device, const BenchForm& form, const VolumeSize& n) {
  const auto plan = resident_plan(device, requirements_of(form, n));
  return plan ? std::optional(plan->slabs[0].bytes) : std::nullopt;
}

std::vector<BenchForm> wanted_forms(const DenoiseBenchOptions& options) {
  for (const auto& method : options.methods)
    if (std::find(benched_methods.begin(), benched_methods.end(), method) == benched_methods.end())
      throw InputError(fmt::format("`methods` is \"{}\"; the bench has: {}", method, fmt::join(benched_methods, ", ")));
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  const bool all = has(options.forms, "all");
  std::vector<BenchForm> wanted;
  std::vector<std::string> names;  // names of the forms that the methods have
  for (const auto& method : benched_methods) {
    if (!options.methods.empty() && !has(options.methods, method)) continue;
    std::vector<std::string> own;
    bool chosen = false;
    for (const auto& form : forms_of(method)) {
      own.push_back(form_name(form));
      if (!has(names, own.back())) names.push_back(own.back());
      if (!all && !(options.forms.empty() ? usual(form) : has(options.forms, own.back()))) continue;
      wanted.push_back(form);
      chosen = true;
    }
    if (!chosen && !options.methods.empty())
      throw InputError(fmt::format("`forms` {}: {} has none of them; it has {}, or leave it out of `methods`",
                                   fmt::join(options.forms, ","), method, fmt::join(own, ", ")));
  }
  for (const auto& name : options.forms)
    if (name != "all" && !has(names, name))
      throw InputError(fmt::format("`forms` has \"{}\"; expected all or some of: {}", name, fmt::join(names, ", ")));
  return wanted;
}

// The phantom with what the method takes besides it.
struct Inputs {
  VolumeSize n;
  Volume f, w, reference;
  float largest_weight = 1;
  std::map<std::string, const Volume*> named;

  Inputs(const BenchForm& form, const VolumeSize& size) : n(size) {
    if (form.weighted()) {
      w = ramp_weights(n);
      largest_weight = *std::max_element(w.voxels.begin(), w.voxels.end());
      named["w"] = &w;
    }
    const Grid grid = grid_of(form, n);
    if (form.method == "pdu4d") {
      f = Volume(grid);
      const VolumeSize frame{grid.size[0], grid.size[1], grid.size[2] / frame_count};
      for (std::size_t k = 0; k < frame_count; ++k) put_frame(f, k, denoise_phantom(frame, phantom_noise, k + 1));
    } else {
      f = denoise_phantom(n, phantom_noise, 1, form.weighted() ? &w : nullptr);
    }
    named["f"] = &f;
    if (form.regulariser.guided) named["reference"] = &(reference = denoise_phantom(n, 0));
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  MethodParameters parameters(const BenchForm& form, int iterations, double gap) const {
    MethodParameters result = parameters_for(form, n, iterations, gap);
    result.largest_weight = largest_weight;
    return result;
  }
};

// Forms that alone solve their problem, so that each is timed to a gap. tvgd has no dual, and no gap.
bool takes_own_time(const BenchForm& form) {
  return !form.plain() && !form.descends();
}

// Duals of 16 bits end at a relative gap of some 1e-6, and are slow before.
bool fine_enough(const FusedForm& form, double gap) {
  return form.dual_bits == 32 || gap >= 1e-4;
}

double copy_beside(const Device& device, const VolumeSize& n) {
  return copy_bandwidth(device, n[0] * n[1] * n[2] * sizeof(float));
}

// Seconds of an iteration.
RunTimes time_iteration(const Device& device, const BenchForm& form, const Inputs& inputs, double seconds) {
  DenoiseLoop loop(device, form, inputs.parameters(form, endless_iterations, 0), inputs.named);
  return repeat(
             loop.slab(), [&] { loop.iterate(loop.together()); }, seconds)
      .over(loop.together());
}

// Seconds of an iteration in each of its kernels, in passes for so many seconds.
std::vector<KernelRate> time_kernels(Device device, const BenchForm& form, const Inputs& inputs, double seconds) {
  std::map<std::string, std::vector<double>> runs;
  DenoiseLoop loop(device, form, inputs.parameters(form, endless_iterations, 0), inputs.named);
  loop.iterate(loop.together());  // compiles
  loop.slab().wait();
  const auto pass = [&] {
    const auto trace = std::make_shared<Trace>();
    device.record(trace);
    const double spent = seconds_of(loop.slab(), [&] { loop.iterate(loop.together()); });
    device.record(nullptr);
    for (const auto& [name, total] : trace->totals()) runs[name].push_back(total.first / loop.together());
    return spent;
  };
  constexpr int most_passes = 100;
  repeat(pass, most_passes, seconds);
  std::vector<KernelRate> rates;
  for (const KernelPart& part : kernel_parts(form, device.info().cpu()))
    for (auto& [name, times] : runs)
      if (name.ends_with(part.kernel))
        rates.push_back({form, name, static_cast<double>(inputs.f.grid.count()), part.cost, RunTimes(times)});
  return rates;
}

TimeToGap measure_time(const Device& device, const BenchForm& form, const Inputs& inputs, double gap, double seconds) {
  constexpr int most_runs = 3;
  const auto parameters = inputs.parameters(form, most_iterations, gap);
  TimeToGap result;
  result.form = form;
  result.target = gap;
  {
    DenoiseLoop loop(device, form, parameters, inputs.named);
    IterationRecord last;
    const auto run = [&] { return seconds_of(loop.slab(), [&] { last = loop.run(); }); };
    loop.warm_up();
    result.on_device = repeat(run, most_runs, seconds);
    result.reached = last.relative_gap;
    result.iterations = last.iteration;
  }
  const auto whole = [&] {
    return run_program(make_denoiser(form.method, parameters)->program(), inputs.named, inputs.f.grid, {device})
        .seconds;
  };
  result.host_to_host = repeat(whole, most_runs, seconds);
  return result;
}

// Forms of the same inputs, in the order of the methods: method, weights, reference.
using FormsByInputs = std::map<std::tuple<std::string, bool, bool>, std::vector<BenchForm>>;
FormsByInputs forms_by_inputs(const DenoiseBenchPlan& plan) {
  FormsByInputs by_inputs;
  for (const auto& form : plan.forms)
    by_inputs[{form.method, form.weighted(), form.regulariser.guided}].push_back(form);
  return by_inputs;
}

}  // namespace

DenoiseBenchPlan plan_denoise_bench(const Device& device, const DenoiseBenchOptions& options) {
  const auto wanted = wanted_forms(options);
  for (const std::size_t edge : options.volume.value_or(VolumeSize{1, 1, 1}))
    if (edge < 1 || edge > most_bench_size)
      throw InputError({.what = "`volume`",
                        .found = fmt::to_string(edge),
                        .expected = fmt::format("1 to {} voxels along each axis", most_bench_size)});
  const auto cube = [](std::size_t edge) { return VolumeSize{edge, edge, edge}; };
  DenoiseBenchPlan plan;
  plan.volume = options.volume.value_or(cube(device.info().cpu() ? 192 : 512));
  const auto all_fit = [&] {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const BenchForm& form) { return whole_bytes(device, form, plan.volume).has_value(); });
  };
  while (!options.volume && plan.volume[0] > smallest_edge && !all_fit())
    plan.volume = cube(plan.volume[0] * 3 / 4 / 4 * 4);
  for (const auto& form : wanted) {
    const std::string name = form.method + " " + form_name(form);
    if (!takes_stages(device.info(), form.fused.stages, plan.volume[0])) {
      plan.left_out.push_back(fmt::format("{}: the device's work-groups or local memory are too small for it", name));
      continue;
    }
    const auto bytes = whole_bytes(device, form, plan.volume);
    if (!bytes) {
      plan.left_out.push_back(fmt::format("{}: does not fit the device's memory as one slab", name));
      continue;
    }
    plan.forms.push_back(form);
    plan.bytes = std::max(plan.bytes, *bytes);
  }
  if (plan.forms.empty())
    throw PlanError(
        fmt::format("bench: nothing of what was asked for runs on {} with {} voxels:\n  {}\nGive a "
                    "smaller `volume`, more `device_memory`, or other `forms`.",
                    device.info().name, fmt::join(plan.volume, " x "), fmt::join(plan.left_out, "\n  ")));
  return plan;
}

DenoiseBench bench_denoise(const Device& device, const DenoiseBenchOptions& options, const Progress& progress) {
  DenoiseBench result;
  result.device = device.info();
  result.plan = plan_denoise_bench(device, options);
  const VolumeSize n = result.plan.volume;
  double done = 0, total = 0;
  const auto by_inputs = forms_by_inputs(result.plan);
  for (const auto& [key, forms] : by_inputs) {
    const bool plain = std::any_of(forms.begin(), forms.end(), [](const BenchForm& form) { return form.plain(); });
    const auto own = std::count_if(forms.begin(), forms.end(), takes_own_time);
    total +=
        static_cast<double>(forms.size() + (static_cast<std::size_t>(own) + (plain ? 1 : 0)) * options.gaps.size());
  }
  const auto report = [&](const std::string& note) {
    check_interrupt();
    if (progress) progress({"bench", done++, total, note});
  };
  for (const auto& [key, forms] : by_inputs) {
    const std::string& method = forms.front().method;
    const Inputs inputs(forms.front(), n);
    std::vector<FormRate> rates;
    double copy = copy_beside(device, n);
    for (const auto& form : forms) {
      report(method + " " + form_name(form));
      FormRate rate;
      rate.form = form;
      rate.cost = iteration_cost(form, device.info().cpu());
      rate.voxels = static_cast<double>(inputs.f.grid.count());
      rate.iteration = time_iteration(device, form, inputs, options.seconds);
      // before and after: on a machine with other users neither alone would be what was there for the form
      const double after = copy_beside(device, n);
      rate.copy_bandwidth = std::max(copy, after);
      copy = after;
      result.copy_bandwidth = std::max(result.copy_bandwidth, rate.copy_bandwidth);
      rates.push_back(rate);
    }
    result.rates.insert(result.rates.end(), rates.begin(), rates.end());
    const auto time = [&](const BenchForm& form, double gap) {
      report(fmt::format("{} {} to a gap of {:g}", method, form_name(form), gap));
      result.times.push_back(measure_time(device, form, inputs, gap, options.seconds));
    };
    for (const double gap : options.gaps) {
      const FormRate* fastest = nullptr;
      for (const auto& rate : rates)
        if (rate.form.plain() && fine_enough(rate.form.fused, gap) &&
            (fastest == nullptr || rate.voxel_iterations() > fastest->voxel_iterations()))
          fastest = &rate;
      if (fastest != nullptr) time(fastest->form, gap);
    }
    for (const auto& form : forms)
      for (const double gap : options.gaps)
        if (takes_own_time(form)) time(form, gap);
  }
  return result;
}

KernelBench bench_kernels(const Device& device, const DenoiseBenchOptions& options, const Progress& progress) {
  KernelBench bench;
  bench.device = device.info();
  bench.plan = plan_denoise_bench(device, options);
  bench.flop_rate = flop_rate(device, options.seconds);  // again below: another user may have slowed it
  bench.copy_bandwidth = copy_beside(device, bench.plan.volume);
  double done = 0;
  for (const auto& [key, forms] : forms_by_inputs(bench.plan)) {
    const Inputs inputs(forms.front(), bench.plan.volume);
    for (const BenchForm& form : forms) {
      if (progress)
        progress({"bench", done++, static_cast<double>(bench.plan.forms.size()), form.method + " " + form_name(form)});
      for (KernelRate& rate : time_kernels(device, form, inputs, options.seconds))
        bench.rates.push_back(std::move(rate));
    }
    bench.copy_bandwidth = std::max(bench.copy_bandwidth, copy_beside(device, bench.plan.volume));
    bench.flop_rate = std::max(bench.flop_rate, flop_rate(device, options.seconds));
  }
  return bench;
}

}  // namespace halocline
