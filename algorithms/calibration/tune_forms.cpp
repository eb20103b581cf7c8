#include "algorithms/calibration/tune_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "algorithms/calibration/form_trial.hpp"
#include "algorithms/calibration/scan_loop.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr double spent = 0.02;  // seconds on a form at least

std::string pass_text(int stages) {
  return stages == 0 ? "in place" : fmt::format("{} iteration{} a pass", stages, stages > 1 ? "s" : "");
}

// A form, and what TunedValues::choices keeps of it.
struct Form {
  std::string value, mode;
};
struct Choice {
  const char *tune_class, *name;
  Form standard;
  std::vector<Form> others;
  bool within_slices = false;  // measured on a parallel beam
};

std::vector<Choice> choices() {
  Choice exact{"fdk", exact_form_choice, {quads_form, "exact"}, {}};
  for (const ScanForm& form : scan_forms())
    if (form.tile != nullptr) exact.others.push_back({form.tile->text(), form.mode});
  exact.others.push_back({images_form, "images"});
  return {exact,
          {"project", siddon_form_choice, {buffers_form, "siddon"}, {{images_form, "siddon-images"}}},
          {"project", slice_form_choice, {rays_form, "joseph"}, {{innermost_form, "joseph-slices"}}, true}};
}

// Another form than the standard where it is clearly faster, and right.
FormFound tuned_form(const Device& device, const Choice& choice, const std::vector<Form>& others, const Scan& scan,
                     const std::function<bool()>& has_time) {
  FormFound found{choice.name, choice.standard.value, {}};
  TunedItem& item = found.item;
  item.tune_class = choice.tune_class;
  item.name = choice.name;
  item.before = choice.standard.value;
  const auto times_of = [&](const Form& form) {
    const RunTimes times(seconds_of_form(device, scan_form(form.mode), scan, true, spent));
    item.trials.push_back({"form", form.value, times});
    return times.least;
  };
  item.seconds_before = item.seconds_after = times_of(choice.standard);
  item.trials.front().mark = TuneTrial::Mark::before;
  std::vector<double> seconds;
  for (const Form& form : others) {
    double& taken = seconds.emplace_back(std::numeric_limits<double>::infinity());
    if (!has_time()) continue;
    check_interrupt();
    try {
      taken = times_of(form);
    } catch (const PlanError&) {   // it takes more memory
    } catch (const BuildError&) {  // a compiler that does not take it
    } catch (const ClError&) {     // a group that is too large for its registers
    }
  }
  const auto best = clearly_fastest(seconds, item.seconds_before);
  if (best && check_variant(variant_of(scan_form(others[*best].mode)), device).verdict == Verdict::right) {
    found.value = others[*best].value;
    item.seconds_after = seconds[*best];
    for (TuneTrial& trial : item.trials)
      if (trial.value == found.value) trial.mark = TuneTrial::Mark::after;
    item.least_gain = item.largest_gain = item.seconds_before / item.seconds_after;
  }
  item.after = found.value;
  return found;
}

}  // namespace

std::vector<FormFound> tuned_forms(const Device& device, const std::string& tune_class, const Scan& scan, std::size_t n,
                                   bool scan_only, const std::function<bool()>& has_time) {
  std::vector<FormFound> result;
  if (device.info().cpu()) return result;
  for (const Choice& choice : choices()) {
    if (tune_class != choice.tune_class || (scan_only && choice.within_slices)) continue;
    const Scan measured = choice.within_slices ? sliced_bench_scan(n, n, n, n) : scan;
    std::vector<Form> others;
    for (const Form& form : choice.others)
      if (lack_of(scan_form(form.mode), measured, device.info()).empty()) others.push_back(form);
    if (!others.empty()) result.push_back(tuned_form(device, choice, others, measured, has_time));
  }
  return result;
}

std::vector<FormFound> tuned_passes(const Device& device, const std::string& method, std::size_t n) {
  if (device.info().cpu()) return {};  // barriers in a loop: in place is faster by far
  const auto trials = form_trials({device}, method == "spdu", {n, n, n});
  if (trials.empty()) return {};
  const auto best = std::min_element(trials.begin(), trials.end(),
                                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  TunedItem item;
  item.tune_class = method;
  item.name = "form of " + method;
  item.before = pass_text(trials.front().form.stages);
  item.after = pass_text(best->form.stages);
  item.seconds_before = trials.front().seconds;
  item.seconds_after = best->seconds;
  item.least_gain = item.largest_gain = item.seconds_before / item.seconds_after;
  for (const FormTrial& trial : trials)
    item.trials.push_back({"form", pass_text(trial.form.stages), RunTimes({trial.seconds}),
                           &trial == &trials.front() ? TuneTrial::Mark::before
                           : &trial == &*best        ? TuneTrial::Mark::after
                                                     : TuneTrial::Mark::none});
  return {{"stages of " + method, std::to_string(best->form.stages), item}};
}

}  // namespace halocline
