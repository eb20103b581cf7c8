// The verb denoise.
#include "algorithms/denoise/denoise.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/denoisers/frame_stack.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "algorithms/noise/noise_map.hpp"
#include "capi/penalty.hpp"
#include "capi/verb.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline::capi {
namespace {

constexpr const char* half_names[] = {"half-a", "half-b"};
const std::string frame_prefix = "frame", stage_prefix = "stage";

class DenoiseVerb : public Verb {
 public:
  DenoiseVerb();
  std::vector<std::string> inputs() const override {
    return {"volume", "weights", "reference", "init", half_names[0], half_names[1], frame_prefix + "-*"};
  }
  std::vector<std::string> outputs() const override { return {"volume", frame_prefix + "-*", stage_prefix + "-*"}; }
  nlohmann::json run(Work& work) override;

 private:
  // What the run reads; empty volumes: not given.
  struct Read {
    Volume init, reference, half_a, half_b, weights, frames;
    std::size_t frame_count = 0;
    Grid frame;
  };

  void add_strength();
  void add_method();
  void add_control();
  bool frames() const { return parameters_.method == "pdu4d"; }
  void read_frames(const Work& work, Read& read) const;
  Read read(const Work& work) const;
  Volume found_weights(const Work& work, const Read& read) const;
  void check_of_use(const Work& work) const;
  void check_combinations(const Work& work) const;
  void check_strength(const Work& work) const;
  DenoiseParameters complete(const Read& read) const;
  RunOptions run_options(const Work& work) const;
  DenoiseResult denoise_one(Work& work, const Read& read) const;
  DenoiseResult denoise_frames(Work& work, const Read& read) const;
  nlohmann::json results(const DenoiseResult& result) const;

  DenoiseParameters parameters_;
  std::string alpha_, weights_, time_axis_;
  std::optional<double> time_limit_;
  bool keep_partial_ = false;
};

DenoiseVerb::DenoiseVerb() {
  add_strength();
  add_method();
  add_control();
  add_penalty(settings_, parameters_.regulariser);
}

// A number, a number of units of the noise, or a rule.
void DenoiseVerb::add_strength() {
  settings_.add("alpha", [this](const SettingValue& value) {
    constexpr std::string_view per_noise = "/sigma";
    const auto& rules = parameter_rules();
    std::string text = value.text();
    auto& p = parameters_;
    if (text == "target" || std::find(rules.begin(), rules.end(), text) != rules.end()) {
      p.alpha.reset(), p.alpha_sigma.reset();
      p.strength = text == "target" ? "auto" : text;
    } else {
      const bool in_noise = text.ends_with(per_noise);
      if (in_noise) text.resize(text.size() - per_noise.size());
      std::optional<double> number;
      try {
        number = SettingValue(value.name(), text).positive();
      } catch (const InputError&) {
        throw InputError(
            {.what = "`alpha`",
             .found = "\"" + value.text() + "\"",
             .expected = "a positive number, one of units of the noise as 1.5/sigma, target, " + either(rules)});
      }
      p.alpha.reset(), p.alpha_sigma.reset();
      p.strength = "auto";
      (in_noise ? p.alpha_sigma : p.alpha) = number;
    }
    alpha_ = value.text();
  });
  settings_.add("alpha-path", [this](const SettingValue& value) { parameters_.alpha_path = value.numbers(); });
  settings_.add("weights", [this](const SettingValue& value) { weights_ = value.one_of({"halves", "estimate"}); });
  settings_.add("target-fidelity",
                [this](const SettingValue& value) { parameters_.target_fidelity = value.positive(); });
}

void DenoiseVerb::add_method() {
  auto& p = parameters_;
  settings_.add("method", [&p](const SettingValue& value) { p.method = value.one_of(denoiser_names()); });
  settings_.add("iterations", [&p](const SettingValue& value) { p.iterations = value.count(); });
  settings_.add("gap", [&p](const SettingValue& value) { p.gap = value.number(); });
  settings_.add("schedule", [&p](const SettingValue& value) {
    p.schedule = schedule_named(value.one_of({"default", "zhu-chan", "seed", "chambolle-pock"}));
  });
  settings_.add("stages", [&p](const SettingValue& value) { p.stages = value.count(); });
  settings_.add("duals",
                [&p](const SettingValue& value) { p.dual_bits = dual_bits_named(value.one_of(dual_names())); });
  settings_.add("weight-bits", [&p](const SettingValue& value) {
    p.weight_bits = value.one_of({"32", "16"}) == "16" ? 16 : 32;
  });
  settings_.add("step", [&p](const SettingValue& value) { p.step = value.positive(); });
  settings_.add("adaptive-delta", [&p](const SettingValue& value) { p.adaptive_delta = value.positive(); });
  settings_.add("sigma", [&p](const SettingValue& value) { p.filter.sigma = value.positive(); });
  settings_.add("radius", [&p](const SettingValue& value) { p.filter.radius = value.count(); });
  settings_.add("patch-radius", [&p](const SettingValue& value) { p.filter.patch_radius = value.count(); });
  settings_.add("search-radius", [&p](const SettingValue& value) { p.filter.search_radius = value.count(); });
  settings_.add("strength", [&p](const SettingValue& value) { p.filter.strength = value.positive(); });
}

void DenoiseVerb::add_control() {
  settings_.add("time-weight", [this](const SettingValue& value) { parameters_.time.weight = value.positive(); });
  settings_.add("time-axis", [this](const SettingValue& value) { time_axis_ = value.one_of({"z"}); });
  settings_.add("time-limit", [this](const SettingValue& value) { time_limit_ = value.positive(); });
  settings_.add("keep-partial", [this](const SettingValue& value) { keep_partial_ = value.flag(); });
}

void DenoiseVerb::read_frames(const Work& work, Read& read) const {
  for (std::size_t n = 0; work.input(numbered(frame_prefix, n)) != nullptr; ++n) read.frame_count = n + 1;
  if (read.frame_count < 2)
    throw InputError({.what = "pdu4d",
                      .found = "given " + std::to_string(read.frame_count) + " frames",
                      .expected = "two or more, the inputs `frame-0`, `frame-1` and so on"});
  read.frame = work.required_input(numbered(frame_prefix, 0)).grid();
  read.frames = Volume::uninitialised(stacked_grid(read.frame, read.frame_count));
  for (std::size_t n = 0; n < read.frame_count; ++n) {
    const Volume frame = work.copy_of(numbered(frame_prefix, n));
    require_size(frame.grid, numbered(frame_prefix, n), read.frame, "`frame-0`");
    put_frame(read.frames, n, frame);
  }
}

DenoiseVerb::Read DenoiseVerb::read(const Work& work) const {
  Read read;
  if (frames()) read_frames(work, read);
  read.init = work.copy_of("init");
  read.reference = work.copy_of("reference");
  read.half_a = work.copy_of(half_names[0]);
  read.half_b = work.copy_of(half_names[1]);
  if (!frames()) {
    const Grid& grid = work.required_input("volume").grid();
    for (const char* name : {"weights", "init", "reference", half_names[0], half_names[1]})
      if (const VolumeSource* other = work.input(name)) require_size(other->grid(), name, grid, "the input `volume`");
  }
  if (!weights_.empty()) read.weights = found_weights(work, read);
  return read;
}

Volume DenoiseVerb::found_weights(const Work& work, const Read& read) const {
  if (weights_ == "halves") return noise_map(read.half_a, read.half_b, "`half-a`", "`half-b`").variance;
  const Volume volume = work.copy_of("volume");
  const ValueRange values = value_range(MemorySource(volume));
  return values.least == values.greatest ? Volume(volume.grid, 1) : noise_map(volume).variance;
}

void DenoiseVerb::check_strength(const Work& work) const {
  const auto& p = parameters_;
  const bool halves = work.input(half_names[0]) != nullptr;
  if (halves != (work.input(half_names[1]) != nullptr))
    throw InputError({.what = "the inputs `half-a` and `half-b`", .found = "not both given", .expected = "both"});
  if (!halves && (alpha_ == "halves" || weights_ == "halves"))
    throw InputError({.what = alpha_ == "halves" ? "`alpha` = halves" : "`weights` = halves",
                      .found = "given without halves",
                      .expected = "the inputs `half-a` and `half-b`, which fdk makes"});
  if (alpha_ == "target" && !p.target_fidelity)
    throw InputError({.what = "`alpha` = target", .found = "given alone", .expected = "`target_fidelity` with it"});
  const bool rule = !alpha_.empty() && alpha_ != "target" && !p.alpha && !p.alpha_sigma;
  if (rule && p.target_fidelity)
    throw InputError(
        {.what = "`alpha` = " + alpha_, .found = "given with `target_fidelity`", .expected = "one of them"});
  const bool takes_alpha = p.method != "tvgd" && !is_filter(p.method);
  if (!takes_alpha && !alpha_.empty())
    throw InputError({.what = "`alpha`", .found = "given for " + p.method, .expected = own_options(p.method)});
  if (halves && frames())
    throw InputError({.what = "the inputs `half-a` and `half-b`", .found = "given for pdu4d", .expected = "none"});
  const bool chooses = takes_alpha && p.alpha_path.empty() && !p.alpha && !p.target_fidelity &&
                       (p.strength == "auto" || p.strength == "halves");
  if (halves && !chooses && weights_ != "halves")
    throw InputError({.what = "the inputs `half-a` and `half-b`",
                      .found = "of no use",
                      .expected = "`alpha` chosen by them, or `weights` = halves"});
}

// What methods do not take that check_denoise_parameters() cannot know to be given.
void DenoiseVerb::check_of_use(const Work& work) const {
  const std::string& method = parameters_.method;
  std::vector<std::string> others;
  if (is_filter(method)) others = {"gap", "schedule", "iterations", "time-limit", "keep-partial"};
  if (method == "tvgd") others = {"gap", "schedule"};
  for (const auto& name : others)
    if (settings_.given(name))
      throw InputError({.what = "`" + name + "`", .found = "given for " + method, .expected = own_options(method)});
  if (work.input("init") != nullptr && is_filter(method))
    throw InputError({.what = "the input `init`", .found = "given for " + method, .expected = own_options(method)});
}

void DenoiseVerb::check_combinations(const Work& work) const {
  DenoiseParameters p = parameters_;
  p.regulariser.guided = work.input("reference") != nullptr;
  const bool weights = !weights_.empty() || work.input("weights") != nullptr, weighted_time = p.time.weight.has_value();
  check_denoise_parameters(p);
  if (!weights_.empty() && work.input("weights") != nullptr)
    throw InputError({.what = "`weights`", .found = "a setting and an input", .expected = "one of them"});
  if (p.method == "spdu" && !weights)
    throw InputError({.what = "`weights`",
                      .found = "missing",
                      .expected = "the noise variance of each voxel, which spdu needs: an input, or the setting halves "
                                  "or estimate"});
  check_strength(work);
  if (weights) check_use_of_weights(p, work.input(half_names[0]) != nullptr);
  if (frames() && work.input("volume") != nullptr)
    throw InputError(
        {.what = "the input `volume`", .found = "given for pdu4d", .expected = "`frame-0`, `frame-1`, ..."});
  if (!frames() && work.input(numbered(frame_prefix, 0)) != nullptr)
    throw InputError({.what = "the input `frame-0`", .found = "given for " + p.method, .expected = "`volume`"});
  if (time_axis_.empty() && weighted_time && !frames())
    throw InputError({.what = "`time_weight`", .found = "given for " + p.method, .expected = "`time_axis` with it"});
  if (!time_axis_.empty() && !weighted_time)
    throw InputError({.what = "`time_axis`", .found = "given alone", .expected = "`time_weight` with it"});
  check_of_use(work);
}

DenoiseParameters DenoiseVerb::complete(const Read& read) const {
  DenoiseParameters parameters = parameters_;
  if (!read.init.voxels.empty()) parameters.init = &read.init;
  if (!read.half_a.voxels.empty()) parameters.half_a = &read.half_a, parameters.half_b = &read.half_b;
  parameters.regulariser.guided = !read.reference.voxels.empty();
  if (frames()) parameters.time.depth = read.frame.size[2];
  return parameters;
}

RunOptions DenoiseVerb::run_options(const Work& work) const {
  RunOptions options = work.options;
  options.time_limit = time_limit_.value_or(0);
  options.keep_partial = keep_partial_;
  if (!parameters_.alpha_path.empty())
    options.stage_output = [&work](int stage, const Volume& output) {
      VolumeSink* const sink = work.output(numbered(stage_prefix, static_cast<std::size_t>(stage)));
      if (sink == nullptr) return;
      require_size(sink->grid(), numbered(stage_prefix, static_cast<std::size_t>(stage)), output.grid, "the volume");
      sink->begin();
      copy_voxels(MemorySource(output), *sink);
    };
  return options;
}

DenoiseResult DenoiseVerb::denoise_one(Work& work, const Read& read) const {
  const VolumeSource& volume = work.required_input("volume");
  VolumeSink& output = work.required_output("volume");
  require_size(output.grid(), "volume", volume.grid(), "the input `volume`");
  const MemorySource found(read.weights);
  const VolumeSource* weights = weights_.empty() ? work.input("weights") : &found;
  return denoise_into(volume, weights, output, complete(read), work.devices, run_options(work),
                      read.reference.voxels.empty() ? nullptr : &read.reference);
}

DenoiseResult DenoiseVerb::denoise_frames(Work& work, const Read& read) const {
  for (std::size_t n = 0; n < read.frame_count; ++n)
    require_size(work.required_output(numbered(frame_prefix, n)).grid(), numbered(frame_prefix, n), read.frame,
                 "the input `frame-0`");
  Volume denoised = Volume::uninitialised(read.frames.grid);
  MemorySink sink(denoised);
  DenoiseResult result =
      denoise_into(MemorySource(read.frames), nullptr, sink, complete(read), work.devices, run_options(work));
  for (std::size_t n = 0; n < read.frame_count; ++n) {
    const Volume frame = take_frame(denoised, n, read.frame);
    VolumeSink& output = work.required_output(numbered(frame_prefix, n));
    output.begin();
    copy_voxels(MemorySource(frame), output);
  }
  return result;
}

nlohmann::json DenoiseVerb::results(const DenoiseResult& result) const {
  nlohmann::json results{
      {"method", parameters_.method},     {"iterations", result.iterations}, {"converged", result.converged},
      {"fidelity", result.fidelity},      {"seconds", result.seconds},       {"peak_bytes", result.peak_bytes},
      {"bus_bytes", result.bus_bytes},    {"rule_met", result.rule_met},     {"stalled", result.stalled},
      {"chosen_by", result.alpha_choice}, {"warnings", result.warnings},     {"weight_change", result.weight_change}};
  for (const auto& [name, value] : {std::pair("noise_sigma", result.noise_sigma),
                                    {"alpha", result.alpha},
                                    {"alpha_sigma", result.alpha_sigma},
                                    {"lambda", result.lambda},
                                    {"gap", result.gap},
                                    {"relative_gap", result.relative_gap},
                                    {"primal", result.primal},
                                    {"dual", result.dual}})
    put_number(results, name, value);
  if (parameters_.method == "tvgd") {
    put_number(results, "step", result.step);
    put_number(results, "epsilon", result.epsilon);
    put_number(results, "target_fidelity", result.target_fidelity);
  }
  const bool interrupted = result.stopped_by == StoppedBy::interrupt, late = result.stopped_by == StoppedBy::time;
  results["stopped_by"] = interrupted ? "interrupt" : late ? "time" : result.converged ? "target" : "iterations";
  results["history"] = nlohmann::json::array();
  for (const auto& record : result.history) {
    nlohmann::json entry{
        {"iteration", record.iteration}, {"total_variation", record.total_variation}, {"fidelity", record.fidelity}};
    put_number(entry, "primal", record.primal);
    put_number(entry, "relative_gap", record.relative_gap);
    results["history"].push_back(std::move(entry));
  }
  return results;
}

nlohmann::json DenoiseVerb::run(Work& work) {
  check_combinations(work);
  const Read given = read(work);
  const DenoiseResult result = frames() ? denoise_frames(work, given) : denoise_one(work, given);
  for (const auto& text : result.warnings) library_log()->warn("{}", text);
  return results(result);
}

}  // namespace

std::unique_ptr<Verb> make_denoise() {
  return std::make_unique<DenoiseVerb>();
}

}  // namespace halocline::capi
