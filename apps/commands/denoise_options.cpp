#include "apps/commands/denoise_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "algorithms/denoisers/registry.hpp"
#include "apps/job/common_options.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void check_options(const DenoiseCommand& command) {
  const auto& method = command.parameters.method;
  check_denoise_parameters(command.parameters);
  if (method == "spdu" && command.weights.empty())
    throw InputError(
        "--weights is missing: spdu needs the noise variance of each voxel; 'halocline fdk --variance-out' makes it, "
        "--weights halves or estimate finds it, or use --method pdu");
  if (!command.weights.empty()) check_use_of_weights(command.parameters, !command.strength.halves.empty());
  check_method_options(command.options, command.parameters);
  if (!is_filter(method)) return;
  for (const auto& [option, given] : {std::pair("--gap", command.options.given("--gap")),
                                      {"--schedule", command.options.given("--schedule")},
                                      {"--iterations", command.options.given("--iterations")},
                                      {"--time-limit", command.control.time_limit > 0},
                                      {"--keep-partial", command.control.keep_partial},
                                      {"--checkpoint", !command.control.checkpoint.empty()},
                                      {"--init", !command.control.init.empty()}})
    if (given)
      throw InputError(
          fmt::format("{} is for methods that iterate; {} takes {}", option, method, filter_options(method)));
}

void add_output_options(CLI::App& sub, DenoiseCommand& command) {
  sub.add_option("-o,--output", command.output,
                 std::string("Volume to write; for pdu4d with a place for the frames' numbers, "
                             "from 0 on, as in frame_%02d.mha") +
                     slice_files_help)
      ->required()
      ->type_name("FILE");
  sub.add_option(
         "--output-type", command.output_type,
         "Type of the voxels written. Whole numbers are rounded to nearest, those beyond the type's range are "
         "clamped and counted; "
         "same: that of the (first) input, with its slope and offset; float16: .mha, .mhd and .raw only, and hardly "
         "any other program reads it")
      ->check(CLI::IsMember({"same", "uint8", "int16", "uint16", "float16", "float32"}))
      ->type_name("TYPE");
  sub.add_flag(
      "--rescale", command.rescale,
      "With an --output-type of whole numbers: spread the values that the result may have (those of the input, "
      "within bounds) over the range of the type. Slope and offset "
      "are written into the header (.mha, .mhd: ElementToIntensityFunctionSlope and ...Offset, which "
      "halocline applies when it "
      "reads, and ITK does not; .nii: scl_slope and scl_inter) and into --report");
}

}  // namespace

void add_denoise_options(CLI::App& sub, DenoiseCommand& command) {
  auto& p = command.parameters;
  sub.add_option("-i,--input", command.frames.inputs, "Noisy volume; for pdu4d several, in the order of time")
      ->required()
      ->default_str("")
      ->type_name("FILE");
  sub.add_option("--method", p.method,
                 "pdu: the exact minimum of 1/2 ||u-f||^2 + 1/alpha TV(u), with a certificate; spdu: the same, "
                 "weighted with the noise "
                 "variance of each voxel; pdu4d: time frames together; tvgd: steps down the total variation. To "
                 "compare with: gaussian, median, nlm "
                 "(non-local means)")
      ->check(CLI::IsMember(denoiser_names()))
      ->required()
      ->default_str("");
  add_strength_options(sub, command.strength);
  sub.add_option(
         "--weights", command.weights,
         "spdu, tvgd, pdu: noise variance of each voxel on the same grid, as fdk --variance-out makes it; halves: from "
         "the --halves; estimate: from the volume alone, less reliable, because fine texture passes for noise "
         "(halocline noise-map writes either). tvgd does without, or takes steps proportional to the standard "
         "deviation; pdu does without, or chooses --alpha sure, discrepancy or A/sigma by it, its problem having no "
         "weights")
      ->type_name("FILE|halves|estimate");
  add_method_options(sub, p, command.options);
  add_control_options(sub, command.control);
  add_regulariser_options(sub, command.regulariser, p.regulariser);
  add_compared_filters(sub, p.filter);
  add_time_options(sub, command.frames, p.time);
  add_output_options(sub, command);
}

void take_denoise_options(DenoiseCommand& command) {
  command.input = command.frames.inputs.front();
  command.regulariser.put_into(command.parameters.regulariser, command.parameters.method);
  check_frame_options(command.frames, command.parameters);
  take_method_options(command.options, command.parameters);
  command.parameters.alpha_path = command.control.alphas();
  take_strength(command.strength, command.weights, command.parameters);
  check_options(command);
  command.parameters.statistical = command.descends() && !command.weights.empty();
  const auto& control = command.control;
  if (command.frames.several() && !(control.roi + control.init + control.png + control.alpha_path).empty())
    throw InputError("--preview-roi, --init, --png and --alpha-path are for one input volume; several -i were given");
}

}  // namespace halocline
