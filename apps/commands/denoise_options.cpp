#include "apps/commands/denoise_options.hpp"

#include <fmt/format.h>

#include "algorithms/denoisers/filter_parameters.hpp"
#include "apps/job/common_options.hpp"
#include "apps/options/file_names.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void add_output_options(Settings& settings, DenoiseCommand& command) {
  settings
      .add("output", command.output,
           std::string("Volume to write; for pdu4d with a place for the frames' numbers, "
                       "from 0 on, as in frame_%02d.mha") +
               slice_files_help)
      .named("-o,--output")
      .required()
      .writes(FileKind::image);
  settings
      .add("output-type", command.output_type,
           "Type of the voxels written. Whole numbers are rounded to nearest, those beyond the type's range are "
           "clamped and counted; "
           "same: that of the (first) input, with its slope and offset; float16: .mha, .mhd and .raw only, and hardly "
           "any other program reads it")
      .one_of({"same", "uint8", "int16", "uint16", "float16", "float32"})
      .unit("TYPE");
  settings.add(
      "rescale", command.rescale,
      "With an --output-type of whole numbers: spread the values that the result may have (those of the input, "
      "within bounds) over the range of the type. Slope and offset "
      "are written into the header (.mha, .mhd: ElementToIntensityFunctionSlope and ...Offset, which "
      "halocline applies when it "
      "reads, and ITK does not; .nii: scl_slope and scl_inter) and into --report");
}

}  // namespace

void add_denoise_options(Settings& settings, DenoiseCommand& command) {
  settings.add("input", command.frames.inputs, "Noisy volume; for pdu4d several, in the order of time")
      .named("-i,--input")
      .required()
      .initial("")
      .unit("FILE");
  command.settings = &settings;
  add_denoise_settings(settings, command);
  settings.find("method")->required();
  settings
      .add("halves", command.halves,
           "Reconstructions of the odd and of the even views, as fdk --halves-out makes them: for --alpha halves, "
           "auto or A/sigma, and --weights halves")
      .unit("A,B")
      .file(FileKind::image, false, true);
  add_reference_setting(settings, command.reference);
  add_control_options(settings, command.control);
  add_truth_setting(settings, command.truth, settings.find("init")->group());
  add_output_options(settings, command);
}

void take_denoise_options(DenoiseCommand& command) {
  command.input = command.frames.inputs.front();
  const auto& control = command.control;
  take_denoise_settings(command, *command.settings,
                        {.weights = command.weights_given(),
                         .halves = !command.halves.empty(),
                         .init = !control.init.empty(),
                         .reference = !command.reference.empty(),
                         .volumes = command.frames.inputs.size()});
  if (!command.halves.empty()) command.half_volumes = parse_pair("--halves", command.halves);
  const auto& method = command.parameters.method;
  if (is_filter(method) && !control.checkpoint.empty())
    throw InputError(
        fmt::format("--checkpoint is for methods that iterate; {} takes {}", method, filter_options(method)));
  command.parameters.compared = !command.truth.empty();
  if (command.frames.several() &&
      !(control.roi + control.init + control.png + command.alpha_path + command.truth).empty())
    throw InputError(
        "--preview-roi, --init, --png, --alpha-path and --truth are for one input volume; several -i were given");
}

}  // namespace halocline
