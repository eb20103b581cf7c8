// halocline view
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "apps/commands/browser.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "apps/job/job_page.hpp"
#include "apps/job/report.hpp"
#include "apps/report/report_page.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "host/system/temporary_folder.hpp"

namespace halocline {
namespace {

struct ViewCommand {
  std::vector<std::string> inputs;
  std::string output;
  bool projections = false;
};

// A folder that remains: the browser reads the page later.
std::string temporary_page(const std::string& input) {
  std::string folder;
  try {
    folder = make_temporary_folder("view");
  } catch (const FileError& error) {
    throw FileError(fmt::format("{}; or name the page with -o", error.what()));
  }
  const auto stem = std::filesystem::path(input).stem().string();
  return (std::filesystem::path(folder) / ((stem.empty() ? "view" : stem) + ".html")).string();
}

// The shortest names that differ.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) {
    const auto name = std::filesystem::path(path).filename().string();
    const auto alike = [&](const std::string& other) {
      return other != path && std::filesystem::path(other).filename().string() == name;
    };
    names.push_back(name.empty() || std::any_of(paths.begin(), paths.end(), alike) ? path : name);
  }
  return names;
}

FactSection facts_of(const std::string& name, const std::string& path, const ImageInfo& info) {
  FactSection section{name, {{"file", path}, {"grid", grid_summary(info.grid)}}};
  section.facts.push_back({"origin", fmt::format("{:.9g} mm", fmt::join(info.grid.origin, ", "))});
  section.facts.push_back({"direction", fmt::format("{:.6g}", fmt::join(info.grid.direction, ", "))});
  section.facts.push_back({"stored as", fmt::format("{}, {}", info.component, info.format)});
  if (!info.scaling.identity())
    section.facts.push_back({"values", fmt::format("{:g} x stored + {:g}", info.scaling.slope, info.scaling.offset)});
  return section;
}

void run_view(Job& job, const ViewCommand& command) {
  if (command.inputs.size() > most_page_images)
    throw InputError(fmt::format("{} images were given, and a page shows {} at most; give fewer", command.inputs.size(),
                                 most_page_images));
  std::vector<ImageInfo> infos;
  double pieces = 0, bytes = 0;
  for (const auto& input : command.inputs)
    infos.push_back(command.projections ? job.input_image("FILE", input) : job.input_volume("FILE", input));
  for (std::size_t n = 0; n < infos.size(); ++n) {
    const Grid& grid = infos[n].grid;
    if (!is_read_in_pieces(command.inputs[n])) pieces = std::max(pieces, grid_bytes(grid));
    Grid binned = grid;
    const auto factors = binning_factors(grid.size, job.common().html_size);
    for (std::size_t axis = 0; axis < 3; ++axis) binned.size[axis] = (grid.size[axis] - 1) / factors[axis] + 1;
    bytes += grid_bytes(binned);
  }
  job.host().require(pieces + bytes);
  if (!command.output.empty()) {
    require_html("-o", command.output);
    job.output("-o", command.output);
  }
  if (job.dry_run())
    return job.print(fmt::format("would write {} with {}: {}",
                                 command.output.empty() ? "a page to a temporary folder" : command.output,
                                 plural(infos.size(), "image", "images"), fmt::join(command.inputs, ", ")));
  PageOptions options;
  options.size = job.common().html_size;
  ReportPage page;
  const auto names = names_of(command.inputs);
  page.title = fmt::format("{}", fmt::join(names, ", "));
  page.subtitle = "halocline view";
  for (std::size_t n = 0; n < names.size(); ++n) {
    const auto volume = job.images().open(command.inputs[n]);
    page.volumes.push_back(job.timed("bin", [&] { return page_volume(names[n], "", *volume, options); }));
    page.volumes.back().projections = command.projections;
    page.sections.push_back(facts_of(names[n], command.inputs[n], infos[n]));
  }
  const std::string html = report_html(page, options);
  const std::string path = command.output.empty() ? temporary_page(command.inputs.front()) : command.output;
  write_file_atomically(path,
                        [&](std::ostream& out) { out.write(html.data(), static_cast<std::streamsize>(html.size())); });
  job.results() = {{"page", path}, {"bytes", html.size()}};
  if (!command.output.empty())
    job.say(fmt::format("{}: {}, {:.2g} MB", path, plural(names.size(), "image", "images"), html.size() / 1e6));
  else if (open_in_browser(path))
    job.say(fmt::format("{} is shown in the browser; it stays there until you remove it", path));
  else
    job.print(
        fmt::format("{}: no browser was found (no desktop, or no xdg-open; $BROWSER names one); open it in one", path));
}

}  // namespace

std::unique_ptr<Command> view_command() {
  auto sub = std::make_unique<Command>("view", "Look through images in a web browser");
  Settings& settings = sub->settings;
  auto command = std::make_shared<ViewCommand>();
  settings.add("images", command->inputs, "Volumes or projections, four at most; those on one grid are compared")
      .positional()
      .required()
      .unit("FILE");
  settings.add("projections", command->projections, "The images are projections (u, v, view): name their axes so");
  settings
      .add("output", command->output,
           "Write the page there (.html) and open no browser. Default: to a temporary folder, and open it")
      .named("-o,--output")
      .writes(FileKind::any);
  sub->footer = "Example:\n  halocline view volume.mha denoised.mha";
  sub->run = [command](Job& job) { run_view(job, *command); };
  return sub;
}

}  // namespace halocline
