// halocline geometry convert
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <memory>

#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "apps/commands/geometry_commands.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "host/system/lower_case.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

struct ConvertCommand {
  std::string input, output, from, to;
  DetectorPixels detector;
  bool reverse = false;
  std::optional<double> projection_offset_x, projection_offset_y, out_of_plane_angle, in_plane_angle;
};

// The format of the output. Refuses names whose extension would be read as another format.
GeometryFormat output_format(const ConvertCommand& command) {
  const std::string extension = lower_case(std::filesystem::path(command.output).extension().string());
  const bool xml = extension == ".xml";
  if (command.to.empty() && !xml)
    throw InputError(
        fmt::format("-o '{}': its extension does not say a format; give --to astra or --to matrices, or .xml, which "
                    "means rtk",
                    command.output));
  const GeometryFormat format = command.to.empty() ? GeometryFormat::rtk : geometry_format(command.to);
  if (format == GeometryFormat::rtk && !xml)
    throw InputError(fmt::format("-o '{}': --to rtk writes XML; give a name that ends in .xml", command.output));
  const std::array<const char*, 7> of_others{".xml", ".xtekct", ".pca", ".h5", ".hdf5", ".nxs", ".hdf"};
  if (format != GeometryFormat::rtk && std::find(of_others.begin(), of_others.end(), extension) != of_others.end())
    throw InputError(
        fmt::format("-o '{}': --to {} writes text, which would not be read from a file that ends in {}; give a name "
                    "that ends in .txt{}",
                    command.output, command.to, extension, xml ? ", or --to rtk" : ""));
  return format;
}

// Pixels that RTK's XML notes: those of a scanner's parameters, or of XML that keeps them.
DetectorPixels pixels_to_note(std::optional<GeometryFormat> from, const ScanFile& scan) {
  const bool notes = from == GeometryFormat::rtk || from == GeometryFormat::xtekct || from == GeometryFormat::pca;
  return notes ? scan.detector : DetectorPixels();
}

void change_views(const ConvertCommand& command, Geometry& geometry) {
  for (View& view : geometry.views) {
    if (command.reverse) view.gantry_angle = -view.gantry_angle;
    if (command.projection_offset_x) view.projection_offset_x = *command.projection_offset_x;
    if (command.projection_offset_y) view.projection_offset_y = *command.projection_offset_y;
    if (command.out_of_plane_angle) view.out_of_plane_angle = *command.out_of_plane_angle;
    if (command.in_plane_angle) view.in_plane_angle = *command.in_plane_angle;
  }
}

void run_convert(Job& job, const ConvertCommand& command) {
  job.input("-i", command.input);
  job.output("-o", command.output);
  const GeometryFormat format = output_format(command);
  const auto from = command.from.empty() ? std::nullopt : std::optional(geometry_format(command.from));
  ScanFile scan = load_geometry(command.input, from, command.detector, command.reverse);
  change_views(command, scan.geometry);
  const std::string text =
      format == GeometryFormat::rtk
          ? geometry_xml(scan.geometry, pixels_to_note(from ? from : guess_format(command.input), scan))
          : geometry_text(scan.geometry, format == GeometryFormat::astra ? TextFormat::astra : TextFormat::matrices,
                          scan.detector);
  job.results() = {{"views", scan.geometry.views.size()}, {"parallel", scan.geometry.parallel()}};
  const std::string what = fmt::format("{}, {}, as {}", views_text(scan.geometry.views.size()),
                                       scan.geometry.fan_stack()  ? "stack of fans"
                                       : scan.geometry.parallel() ? "parallel beam"
                                                                  : "divergent beam",
                                       geometry_format_names()[static_cast<std::size_t>(format)]);
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  write_file_atomically(command.output, [&](std::ostream& out) { out << text; });
  job.say(fmt::format("{}: {}", command.output, what));
}

}  // namespace

std::unique_ptr<Command> geometry_convert_command() {
  auto sub = std::make_unique<Command>("convert",
                                       "Convert a geometry between RTK's XML, ASTRA's vectors and matrices; read "
                                       ".xtekct, .pca and Data Exchange files");
  Settings& settings = sub->settings;
  auto command = std::make_shared<ConvertCommand>();
  add_input(settings, command->input, "Geometry to read", FileKind::geometry);
  settings.add("from", command->from, "Format of the input. Default: by its extension and content")
      .one_of(geometry_format_names());
  settings.add("to", command->to, "Format of the output: rtk to .xml, the others to .txt. Default: rtk for .xml")
      .one_of({"rtk", "astra", "matrices"});
  add_detector_options(settings, command->detector);
  const std::string changes = "Changes to all views";
  settings.add("reverse", command->reverse, "Negate the gantry angles: the scanner turned the other way")
      .group(changes);
  const auto change = [&](const char* name, std::optional<double>& value, const char* description, const char* type) {
    settings.add(name, value, description).unit(type).group(changes);
  };
  change("proj-offset-x", command->projection_offset_x, "Set the detector's offset along u, mm", "D");
  change("proj-offset-y", command->projection_offset_y, "Set the detector's offset along v, mm", "D");
  change("out-of-plane", command->out_of_plane_angle, "Set the out-of-plane angle, degrees", "A");
  change("in-plane", command->in_plane_angle, "Set the in-plane angle, degrees", "A");
  settings.add("output", command->output, "Geometry file to write")
      .named("-o,--output")
      .required()
      .writes(FileKind::geometry);
  sub->footer =
      "Example:\n  halocline geometry convert -i geometry.xml --to astra --detector 512,384 --pixel 0.4,0.4 -o "
      "vectors.txt";
  sub->run = [command](Job& job) { run_convert(job, *command); };
  return sub;
}

}  // namespace halocline
