#include "apps/images/itk_questions.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "apps/images/hdf5_angles.hpp"
#include "apps/images/image_reader_process.hpp"
#include "apps/images/itk_dicom.hpp"
#include "apps/images/itk_hdf5_angles.hpp"
#include "apps/images/itk_image.hpp"
#include "apps/images/libtiff_image.hpp"
#include "apps/images/reader_process.hpp"
#include "host/system/error.hpp"
#include "host/system/process_memory.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::unique_ptr<ReaderProcess>& reader() {
  static std::unique_ptr<ReaderProcess> only;
  return only;
}

std::uint64_t bytes_at(const fs::path& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    const auto size = fs::file_size(path, code);
    return code ? 0 : size;
  }
  std::uint64_t sum = 0;
  for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) sum += at->file_size(ignored);
  }
  return sum;
}

// A second for each MB of files, rounded up to a power of two, and memory as compression may gain.
ProcessLimits limits_of(const std::vector<std::string>& files) {
  constexpr std::uint64_t least_seconds = 120, bytes_a_second = 1000000, least_bytes = std::uint64_t{4} << 30,
                          gain = 4096;
  std::uint64_t bytes = 0;
  for (const auto& file : files) bytes += bytes_at(file);
  bytes = std::bit_ceil(bytes);  // so that files of about one size have one process
  const std::uint64_t memory = host_memory_bytes(), wanted = least_bytes + gain * bytes;
  return {least_seconds + bytes / bytes_a_second, memory == 0 ? wanted : std::min<std::uint64_t>(memory, wanted)};
}

json packed(const ImageInfo& info) {
  const Grid& grid = info.grid;
  return {{"size", grid.size},           {"spacing", grid.spacing},       {"origin", grid.origin},
          {"direction", grid.direction}, {"component", info.component},   {"format", info.format},
          {"slope", info.scaling.slope}, {"offset", info.scaling.offset}, {"notes_of", info.notes.format},
          {"notes", info.notes.entries}};
}

ImageInfo info_in(const json& facts) {
  ImageInfo info;
  info.grid.size = facts.at("size");
  info.grid.spacing = facts.at("spacing");
  info.grid.origin = facts.at("origin");
  info.grid.direction = facts.at("direction");
  info.component = facts.at("component");
  info.format = facts.at("format");
  info.scaling = {facts.at("slope").get<double>(), facts.at("offset").get<double>()};
  info.notes.format = facts.at("notes_of");
  info.notes.entries = facts.at("notes").get<std::map<std::string, std::string>>();
  return info;
}

ReaderAnswer voxels_answer(const std::string& path) {
  ReaderAnswer answer;
  answer.voxels = read_itk_typed(path);
  answer.facts["voxels"] =
      packed({answer.voxels.grid, component_name(answer.voxels.component), "", answer.voxels.scaling});
  return answer;
}

// The answering end: each question by its name.
ReaderAnswer answer_here(const json& question) {
  const std::string ask = question.at("ask");
  std::vector<std::string> files = question.at("files");
  const std::string& path = files.front();
  if (ask == "itk reads") return {{{"yes", itk_can_read(path)}}};
  if (ask == "dicom") return {{{"yes", itk_holds_dicom(path)}}};
  if (ask == "info") return {packed(read_itk_image_info(path))};
  if (ask == "voxels") return voxels_answer(path);
  if (ask == "angles") return {{{"angles", read_angles_of_hdf5(path)}}};
  if (ask == "order") {
    json facts = packed(order_dicom_files(files, question.at("series")));
    facts["files"] = files;
    return {facts};
  }
  const TiffKind kind = read_libtiff_kind(path);
  return {{{"white_is_zero", kind.white_is_zero}, {"orientation", kind.orientation}}};
}

// Asks about files, of which the first is that of messages; `use` takes the answer apart.
template <typename Use>
auto ask(const char* what, const std::vector<std::string>& files, const std::string& series, Use use) {
  const auto& name = series.empty() ? files.front() : series;
  ReaderAnswer answer = reader()->ask({{"ask", what}, {"files", files}, {"series", series}}, name, limits_of(files));
  try {
    return use(answer);
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("'{}' cannot be read: its reader was led astray by it. It is damaged: convert it to .mha", name));
  }
}

bool is_yes(const ReaderAnswer& answer) {
  return answer.facts.at("yes").get<bool>();
}

// The standard input is a socket of the process that started this one, which runs the same program.
bool is_started_by_itself() {
  ucred other{};
  socklen_t bytes = sizeof other;
  if (::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &other, &bytes) != 0 || other.pid != ::getppid())
    return false;
  std::error_code code;
  return fs::equivalent(fmt::format("/proc/{}/exe", other.pid), "/proc/self/exe", code);
}

}  // namespace

bool ask_whether_itk_reads(const std::string& path) {
  return reader() ? ask("itk reads", {path}, "", is_yes) : itk_can_read(path);
}

bool ask_whether_dicom(const std::string& folder) {
  return reader() ? ask("dicom", {folder}, "", is_yes) : itk_holds_dicom(folder);
}

ImageInfo ask_info(const std::string& path) {
  if (!reader()) return read_itk_image_info(path);
  const ImageInfo info = ask("info", {path}, "", [](const ReaderAnswer& answer) { return info_in(answer.facts); });
  component_named(info.component);
  check_grid(info.grid, "'" + path + "'");
  return info;
}

TypedVolume ask_voxels(const std::string& path) {
  if (!reader()) return read_itk_typed(path);
  return ask("voxels", {path}, "", [](ReaderAnswer& answer) { return std::move(answer.voxels); });
}

TiffKind ask_tiff_kind(const std::string& path) {
  if (!reader()) return read_libtiff_kind(path);
  return ask("tiff kind", {path}, "", [](const ReaderAnswer& answer) {
    return TiffKind{answer.facts.at("white_is_zero").get<bool>(), answer.facts.at("orientation").get<std::uint16_t>()};
  });
}

ImageInfo ask_order(std::vector<std::string>& files, const std::string& series) {
  if (!reader()) return order_dicom_files(files, series);
  return ask("order", files, series, [&](const ReaderAnswer& answer) {
    const ImageInfo info = info_in(answer.facts);
    std::vector<std::string> ordered = answer.facts.at("files");
    if (!std::ranges::is_permutation(ordered, files))
      throw InputError(fmt::format("'{}' cannot be put in order", series));
    check_grid(info.grid, "'" + series + "'");
    files = std::move(ordered);
    return info;
  });
}

std::vector<double> read_hdf5_angles(const std::string& path) {
  if (!reader()) return read_angles_of_hdf5(path);
  return ask("angles", {path}, "",
             [](const ReaderAnswer& answer) { return answer.facts.at("angles").get<std::vector<double>>(); });
}

void read_images_in_process_of(const std::string& program) {
  reader() =
      std::make_unique<ReaderProcess>([program](int socket) { return start_reader(program, reader_word, socket); });
}

bool run_image_reader() {
  if (!is_started_by_itself()) return false;
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  ::setenv("ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS", "1", 1);  // readers need none, and each takes address space
  answer_questions(STDIN_FILENO, answer_here);
  return true;
}

}  // namespace halocline
