// halocline bench matrix
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/bench/left_out.hpp"
#include "apps/bench/matrix_bench.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/commands/bench_matrix_times.hpp"
#include "apps/drawing/preview.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

struct BenchMatrixCommand {
  std::string sizes = "64,128,256,320,384,512", rays = "720x512", slices = "32", modes, png;
  MatrixProblem problem;
  bool count_only = false;
  double seconds = 0.3;  // of each direction of a mode
  BenchFormat format;

  std::vector<MatrixProblem> problems() const;
  std::vector<std::size_t> numbers_of_slices() const;
  std::vector<std::string> wanted_modes() const { return words_among("modes", matrix_modes(), words_of(modes)); }
};

std::size_t whole_number(const std::string& found, const std::string& text, std::size_t most,
                         const std::string& expected) {
  const auto number = parsed_number(text);
  if (!number || *number < 1 || *number > static_cast<double>(most) || *number != std::floor(*number))
    throw InputError(fmt::format("{}; expected {}", found, expected));
  return static_cast<std::size_t>(*number);
}

std::vector<MatrixProblem> BenchMatrixCommand::problems() const {
  constexpr std::size_t most = 8192, most_angles = 65536, most_side = 5792;  // SliceRays
  std::vector<MatrixProblem> result;
  for (const std::string& word : words_of(rays)) {
    const std::string what = fmt::format("--rays has \"{}\"", word);
    const std::string expected =
        fmt::format("VIEWSxDETECTOR such as 720x512, up to {} views of up to {} pixels", most_angles, most);
    const auto times = std::min(word.find('x'), word.size());
    MatrixProblem each = problem;
    each.views = whole_number(what, word.substr(0, times), most_angles, expected);
    each.columns = whole_number(what, word.substr(std::min(times + 1, word.size())), most, expected);
    for (const std::string& size : words_of(sizes)) {
      each.size = whole_number(fmt::format("--sizes has \"{}\"", size), size, most_side,
                               fmt::format("pixels along a side such as 256,512, from 1 to {}", most_side));
      result.push_back(each);
    }
  }
  return result;
}

std::vector<std::size_t> BenchMatrixCommand::numbers_of_slices() const {
  constexpr std::size_t most = 8192;
  std::vector<std::size_t> result;
  for (const std::string& word : words_of(slices))
    result.push_back(whole_number(fmt::format("--slices has \"{}\"", word), word, most,
                                  fmt::format("numbers of slices such as 1,32, from 1 to {}", most)));
  return result;
}

struct CountedMatrix {
  MatrixProblem problem;
  MatrixSize size;
  double seconds = 0;
};

std::string shape_text(const Size2& shape) {
  return fmt::format("{}x{}", shape[0], shape[1]);
}

nlohmann::json json_of(const CountedMatrix& counted) {
  const auto& [problem, size, seconds] = counted;
  nlohmann::json json = json_of(problem);
  json["elements"] = size.elements();
  json["nonzeros"] = size.nonzeros;
  json["sparsity"] = size.sparsity();
  json["csr_bytes"] = size.csr_bytes();
  json["seconds"] = seconds;
  json["ray_shape"] = shape_text(size.shape);
  for (std::size_t n = 0; n < size.tiles.size(); ++n)
    json["tiles"].push_back({{"ray_shape", shape_text(ray_tile_shapes[n])},
                             {"tiles", size.tiles[n]},
                             {"fill", size.fill(size.tiles[n])},
                             {"bytes", size.tiles[n] * tile_bytes}});
  for (const BlockCounts& each : size.blocks)
    json["blocks"].push_back({{"fragment", each.fragment},
                              {"rays", each.rays},
                              {"pixels", tile_pixels},
                              {"ray_shape", shape_text(each.shape)},
                              {"blocks", each.blocks},
                              {"nonempty_before", each.before},
                              {"nonempty_after", each.after},
                              {"bytes", each.bytes()},
                              {"bytes_with_symmetry", each.bytes() / 8}});
  return json;
}

std::string millions(double count) {
  return fmt::format("{:.4g}", 1e-6 * count);
}
std::string gigabytes(std::uint64_t bytes) {
  return fmt::format("{:.3g}", 1e-9 * static_cast<double>(bytes));
}
std::string percent(double share) {
  return fmt::format("{:.2f}", 100 * share);
}

using Cells = BenchTable::value_type;

BenchTable table_of_matrices(const std::vector<CountedMatrix>& all) {
  BenchTable table{{"pixels", "rays", "elements, 1e9", "non-zeros, 1e6", "zeros, %"}};
  for (const Size2& shape : ray_tile_shapes)
    table.front().insert(table.front().end(), {shape_text(shape) + " tiles, 1e6", "full, %"});
  table.front().emplace_back("s");
  for (const CountedMatrix& each : all) {
    const MatrixSize& size = each.size;
    Cells row = name_cells(each.problem);
    row.insert(row.end(), {fmt::format("{:.4g}", 1e-9 * size.elements()), millions(static_cast<double>(size.nonzeros)),
                           percent(size.sparsity())});
    for (const std::uint64_t tiles : size.tiles)
      row.insert(row.end(), {millions(static_cast<double>(tiles)), percent(size.fill(tiles))});
    row.push_back(fmt::format("{:.1f}", each.seconds));
    table.push_back(row);
  }
  return table;
}

BenchTable table_of_blocks(const std::vector<CountedMatrix>& all) {
  BenchTable table{{"pixels", "rays", "fragment", "block", "of rays", "blocks, 1e6", "not empty before, %", "after, %",
                    "GB", "an eighth, GB"}};
  for (const CountedMatrix& each : all) {
    const Cells name = name_cells(each.problem);
    const std::uint64_t csr = each.size.csr_bytes();
    for (const BlockCounts& block : each.size.blocks) {
      const auto blocks = static_cast<double>(block.blocks);
      table.push_back({name[0], name[1], block.fragment, fmt::format("{} x {}", block.rays, tile_pixels),
                       shape_text(block.shape), millions(blocks), percent(static_cast<double>(block.before) / blocks),
                       percent(static_cast<double>(block.after) / blocks), gigabytes(block.bytes()),
                       gigabytes(block.bytes() / 8)});
    }
    table.push_back({name[0], name[1], "row by row", "float32", "", "", "", "", gigabytes(csr), gigabytes(csr / 8)});
  }
  return table;
}

CountedMatrix count(Job& job, const MatrixProblem& problem, const std::string& png) {
  const auto progress = job.run_options().progress;
  const SliceRays rays = rays_of(problem);
  const auto done = [&](int step, int steps) {
    if (progress) progress({"count", static_cast<double>(step), static_cast<double>(steps), problem.text()});
  };
  const auto begin = std::chrono::steady_clock::now();
  const MatrixSize size = matrix_size(rays, done);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!png.empty()) write_png(sparsity_picture(rays, size.shape), png);
  return {problem, size, seconds};
}

std::string plan_text(Job& job, const BenchMatrixCommand& command) {
  std::string text = "would count:\n";
  for (const MatrixProblem& problem : command.problems()) text += "  " + problem.text() + "\n";
  if (command.count_only) return text;
  for (const Device& device : job.devices()) {
    text += fmt::format("would measure on {}, slices: {}\n", device_heading(device.info()),
                        fmt::join(command.numbers_of_slices(), ", "));
    for (const std::string& mode : command.wanted_modes()) {
      const std::string lack = lack_of(mode, command.problem, device);
      text += lack.empty() ? fmt::format("  {}\n", mode) : left_out_text({left_out(mode, lack)});
    }
  }
  return text;
}

std::pair<nlohmann::json, std::string> bench_times_of(const Device& device, const BenchMatrixCommand& command,
                                                      const std::vector<CountedMatrix>& all, const Progress& progress) {
  nlohmann::json json{{"device", device_json(device.info())}, {"problems", nlohmann::json::array()}};
  std::vector<TimedMatrix> timed;
  for (const CountedMatrix& counted : all)
    for (const std::size_t slices : command.numbers_of_slices()) {
      timed.push_back(
          {static_cast<double>(counted.size.nonzeros),
           time_products(device, counted.problem, slices, command.wanted_modes(), command.seconds, progress)});
      json["problems"].push_back(json_of(timed.back()));
    }
  const char* gap = command.format.markdown ? "\n" : "";
  return {json, fmt::format("\n{}\n{}{}{}{}", device_heading(device.info()), gap,
                            bench_table(table_of_times(timed), command.format.markdown, 4), gap, left_out_text(timed))};
}

void run_matrix(Job& job, const BenchMatrixCommand& command) {
  const auto problems = command.problems();
  command.numbers_of_slices(), command.wanted_modes();  // refused before anything is counted
  if (!command.png.empty()) require_png("--png", command.png);
  job.output("--png", command.png);
  if (!command.count_only) job.devices();
  if (job.dry_run()) return job.print(plan_text(job, command));
  std::vector<CountedMatrix> all;
  for (const MatrixProblem& problem : problems) {
    all.push_back(job.timed("count", [&] { return count(job, problem, all.empty() ? command.png : ""); }));
    job.results()["matrices"].push_back(json_of(all.back()));
  }
  const bool markdown = command.format.markdown;
  if (!command.format.json)
    job.print(fmt::format("{} beam, {}\n\n{}\n{}", command.problem.fan ? "fan" : "parallel",
                          projector_text(command.problem.projector), bench_table(table_of_matrices(all), markdown, 2),
                          bench_table(table_of_blocks(all), markdown, 2)));
  if (!command.count_only)
    run_benches(job, command.format,
                [&](const Device& device) { return bench_times_of(device, command, all, job.run_options().progress); });
  else if (command.format.json)
    job.print(json_text(job.results()));
}

}  // namespace

std::unique_ptr<Command> bench_matrix_command() {
  auto sub = std::make_unique<Command>(
      "matrix", "System matrix of slices: its size, counted on the host, and times of products with it");
  auto command = std::make_shared<BenchMatrixCommand>();
  Settings& settings = sub->settings;
  settings.add("sizes", command->sizes, "Comma list of sides N: slices of N x N pixels").unit("LIST");
  settings.add("rays", command->rays, "Comma list of VIEWSxDETECTOR: views and pixels of a detector as wide as a slice")
      .unit("LIST");
  settings
      .add_word(
          "projector", command->problem.projector, projector_names(),
          [](const std::string& name) { return projector_from_name(name).named(); },
          "Projector whose weights are stored")
      .initial(projector_name(Projector::joseph));
  settings
      .add_word(
          "beam", command->problem.fan, {"parallel", "fan"}, [](const std::string& name) { return name == "fan"; },
          "parallel: half a turn; fan: a turn, from two widths of the slice, the detector at four")
      .initial("parallel");
  settings.add("slices", command->slices, "Comma list of numbers of slices, which are multiplied together")
      .unit("LIST");
  settings
      .add("modes", command->modes,
           fmt::format("Comma list of {}. Default: all that the device has", fmt::join(matrix_modes(), ", ")))
      .unit("LIST");
  settings
      .add("seconds", command->seconds,
           "How long each direction of a mode is measured, of which the best counts; slow ones take one run")
      .positive()
      .unit("S");
  settings.add("count-only", command->count_only, "Counts alone, which need no device")
      .excludes("slices")
      .excludes("modes")
      .excludes("seconds");
  settings
      .add("png", command->png, "Picture to write (.png): non-zeros of a part of the first matrix, before and after")
      .unit("FILE")
      .writes(FileKind::picture);
  add_bench_format(settings, command->format);
  sub->footer =
      "Tables 2 to 7 of Nourazar & Goossens (2021). Tiles: 8 rays x 16 pixels in half precision; detector pixels x "
      "views\nof their rays. Blocks: operands of matrix units, rays and pixels row by row before, in pseudo-Morton "
      "orders after. Symmetric:\na slice and a detector that allow an eighth of the matrix to stand for all.\n"
      "Modes: matrix, the stored tiles on matrix units, and matrix-half, with vectors in half precision; symmetric, "
      "those\n"
      "of an eighth of the scan; ...-plain, in float32; slices, Joseph's weights on the fly with slices innermost; "
      "rays, "
      "ray by\nray. An iteration: A and A^T. GUPS: 10^9 non-zeros times slices a second. Of copy: bytes over a plain "
      "copy's, tiles once\nfor as many slices as are multiplied together. TFLOP/s: with zeros of tiles. Build: to "
      "list tiles on the host and fill them.\nPays after: iterations after which it is faster than slices and rays. "
      "RMSE/max: of 256 places, to fp64.\nExample:\n"
      "  halocline bench matrix --sizes 256,512 --rays 720x512 --slices 1,32\n"
      "  halocline bench matrix --count-only --sizes 256,512 --png sparsity.png";
  sub->run = [command](Job& job) { run_matrix(job, *command); };
  return sub;
}

}  // namespace halocline
