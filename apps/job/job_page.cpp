#include "apps/job/job_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/images/atomic_file.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/report_facts.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr const char* commands[] = {"phantom", "project",     "backproject", "noise",     "counts",
                                    "fdk",     "reconstruct", "slices",      "noise-map", "denoise"};

}  // namespace

void require_html(const std::string& option, const std::string& path) {
  const auto extension = std::filesystem::path(path).extension();
  if (extension != ".html" && extension != ".htm")
    throw InputError(fmt::format("{} '{}': pages are HTML files; give a name that ends with .html", option, path));
}

JobPage::JobPage(const std::string& command, const CommonOptions& common)
    : command_line_(common.command_line), path_(common.html) {
  options_.size = common.html_size;
  if (path_.empty()) return;
  if (command == "view") throw InputError("--html: the page that view makes is named by -o; give that");
  if (std::find(std::begin(commands), std::end(commands), command) == std::end(commands))
    throw InputError(fmt::format(
        "--html shows the images that a command makes, and '{}' makes none; leave it out, or show images that are "
        "there with 'halocline view'",
        command));
  require_html("--html", path_);
}

void JobPage::bin(Shown& shown, const VolumeSource& voxels) const {
  const Picture& picture = shown.picture;
  if (picture.part && picture.part->size != voxels.grid().size) {
    const Volume part = cut_out(voxels, *picture.part);
    shown.volume = page_volume(picture.name, picture.unit, MemorySource(part), options_);
  } else {
    shown.volume = page_volume(picture.name, picture.unit, voxels, options_);
  }
  shown.volume.projections = picture.projections;
  if (picture.grid && picture.grid->size == shown.volume.voxels.whole.size) shown.volume.voxels.whole = *picture.grid;
}

void JobPage::show(const Picture& picture, const std::string& path) {
  if (wanted() && !path.empty() && shown_.size() < most_page_images) shown_.push_back({picture, path, {}});
}

void JobPage::show(const Picture& picture, const VolumeSource& voxels) {
  if (!wanted() || shown_.size() == most_page_images) return;
  shown_.push_back({picture, {}, {}});
  bin(shown_.back(), voxels);
}

std::string JobPage::write(const nlohmann::json& report) {
  if (!wanted() || shown_.empty()) return {};
  ReportPage page;
  for (Shown& shown : shown_) {
    // Values that are not finite were refused or reported before.
    if (!shown.path.empty()) bin(shown, *open_image(shown.path, true));
    page.volumes.push_back(std::move(shown.volume));
  }
  page.title = "halocline " + report.at("command").get<std::string>();
  for (const Shown& shown : shown_)
    page.subtitle += (page.subtitle.empty() ? "" : ", ") + shown.picture.name +
                     (shown.path.empty() || shown.path == shown.picture.name ? "" : " (" + shown.path + ")");
  page.sections = report_facts(report, command_line_);
  page.curves = report_curves(report);
  shown_.clear();
  const std::string html = report_html(page, options_);
  write_file_atomically(path_,
                        [&](std::ostream& out) { out.write(html.data(), static_cast<std::streamsize>(html.size())); });
  return fmt::format("{}: {} image{} to look through in a browser, {:.2g} MB", path_, page.volumes.size(),
                     page.volumes.size() == 1 ? "" : "s", static_cast<double>(html.size()) / 1e6);
}

}  // namespace halocline
