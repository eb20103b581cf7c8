// halocline geometry circular
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "algorithms/support/decimal_comma.hpp"
#include "apps/commands/geometry_commands.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

struct CircularCommand {
  CircularOptions circular;
  std::optional<std::size_t> projections;
  std::string angles, output;
};

// Lines without what follows a #. Where there are decimal commas and no points, points stand for them.
std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream file(text);
  std::vector<std::string> lines;
  bool commas = false, others = false;
  for (std::string line; std::getline(file, line); lines.push_back(line)) {
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const bool comma = is_decimal(word, ',');
      commas = commas || comma;
      others = others || (!comma && word.find_first_of(".,") != std::string::npos);
    }
  }
  if (commas && !others)
    for (std::string& line : lines) line = with_points(line);
  return lines;
}

// One angle in degrees a line; empty lines and what follows a # are passed over.
std::vector<double> read_angles(const std::string& path) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 26;  // a million lines of 64
  std::vector<double> angles;
  int number = 0;
  for (const std::string& line : lines_of(read_text_file(path, fmt::format("--angles '{}'", path), most_bytes))) {
    ++number;
    const std::string where = fmt::format("--angles '{}', line {}:", path, number);
    if (line.size() > 1000)
      throw InputError(fmt::format("{} {} characters, one angle in degrees is expected", where, line.size()));
    const auto values = parse_numbers(where, {line});
    if (values.size() > 1)
      throw InputError(fmt::format("{} {} numbers, one angle in degrees is expected", where, values.size()));
    angles.insert(angles.end(), values.begin(), values.end());
  }
  if (angles.empty())
    throw InputError(fmt::format("--angles '{}' holds no angle; one angle in degrees a line is expected", path));
  return angles;
}

void run_circular(Job& job, CircularCommand& command) {
  job.input("--angles", command.angles);
  job.output("-o", command.output);
  if (!command.angles.empty()) {
    command.circular.angles = read_angles(command.angles);
    if (command.projections && *command.projections != command.circular.angles.size())
      throw InputError(fmt::format("--projections {}, but --angles '{}' holds {} angles; leave --projections out",
                                   *command.projections, command.angles, command.circular.angles.size()));
  } else if (!command.projections) {
    throw InputError("the number of views is not known; give --projections N, or --angles with a file of them");
  } else {
    command.circular.projections = *command.projections;
  }
  const Geometry geometry = circular_geometry(command.circular);
  job.results() = {
      {"views", geometry.views.size()}, {"parallel", geometry.parallel()}, {"fan_stack", geometry.fan_stack()}};
  const std::string what = fmt::format("{}, {}", views_text(geometry.views.size()),
                                       geometry.fan_stack()  ? "stack of fans"
                                       : geometry.parallel() ? "parallel beam"
                                                             : "divergent beam");
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  write_file_atomically(command.output, [&](std::ostream& out) { write_geometry(geometry, out); });
  job.say(fmt::format("{}: {}", command.output, what));
}

}  // namespace

std::unique_ptr<Command> geometry_circular_command() {
  auto sub = std::make_unique<Command>("circular", "Make the geometry of a circular scan (RTK's XML)");
  Settings& settings = sub->settings;
  auto command = std::make_shared<CircularCommand>();
  auto& c = command->circular;
  settings.add("sid", c.sid, "Source to isocentre distance, mm").positive().required().initial("").unit("D");
  settings
      .add("sdd", c.sdd,
           "Source to detector distance, mm, no less than --sid (equal: a virtual detector through the "
           "rotation axis); 0 for a parallel beam")
      .not_negative()
      .required()
      .initial("")
      .unit("D");
  settings.add("projections", command->projections, "Number of views, at first-angle + i * arc / N")
      .whole_from(1, 1000000)
      .unit("N");
  settings.add("arc", c.arc, "Degrees that the gantry turns; negative: backwards").finite().unit("A");
  settings.add("first-angle", c.first_angle, "Gantry angle of the first view, degrees").finite().unit("A");
  settings.add("angles", command->angles, "Text file with the gantry angles, degrees, one a line")
      .file(FileKind::text)
      .excludes("arc")
      .excludes("first-angle");
  const auto offset = [&](const char* name, double& value, const char* description) {
    settings.add(name, value, description).unit("D");
  };
  offset("proj-offset-x", c.projection_offset_x, "Detector's offset along u, mm");
  offset("proj-offset-y", c.projection_offset_y, "Detector's offset along v, mm");
  offset("source-offset-x", c.source_offset_x, "Source's offset along u, mm");
  offset("source-offset-y", c.source_offset_y, "Source's offset along v, mm");
  offset("out-of-plane", c.out_of_plane_angle, "Out-of-plane angle, degrees");
  offset("in-plane", c.in_plane_angle, "In-plane angle, degrees");
  settings.add("fan-stack", c.fan_stack,
               "Stack of fans: each detector row is seen by a source of its own, at its height, and stays in a slice");
  settings.add("output", command->output, "Geometry file to write (.xml)")
      .named("-o,--output")
      .required()
      .writes(FileKind::geometry);
  sub->footer = "Example:\n  halocline geometry circular --sid 1000 --sdd 1536 --projections 360 -o geometry.xml";
  sub->run = [command](Job& job) { run_circular(job, *command); };
  return sub;
}

}  // namespace halocline
