#include "apps/bench/fetch_rate.hpp"

#include <fmt/format.h>

#include "scheduling/profiling/measure.hpp"

namespace halocline {

std::string fetch_name(const Fetch& fetch) {
  if (!fetch.image) return fmt::format("reads of {} B", 4 * fetch.channels);
  return fmt::format("{}texels of {} x {}", fetch.nearest ? "nearest " : "", fetch.channels,
                     fetch.half ? "float16" : "float32");
}

double fetch_rate(const Device& device, const Fetch& fetch, double seconds) {
  // on GPUs enough to keep all of it busy for a millisecond; images of CPUs are slow
  constexpr std::size_t width = 512, edge = 384;
  const std::size_t layers = device.info().cpu() ? 1 : 16;
  const int fetches = device.info().cpu() ? 16 : 256;
  const auto channels = static_cast<std::size_t>(fetch.channels);
  Requirements requirements;
  requirements.algorithm = "fetches";
  requirements.stack = {edge, edge, layers * channels};
  const auto declare = [&](const char* name, ArrayKind kind, std::size_t components, std::size_t elements) {
    ArrayNeed need;
    need.name = name;
    need.kind = kind;
    need.components = components;
    need.elements = elements;
    if (fetch.half && kind != ArrayKind::fixed) need.element_bytes = 2;
    requirements.arrays.push_back(need);
  };
  declare("from", ArrayKind::projections, 1, 0);
  if (fetch.image) declare("texture", ArrayKind::image, channels, 0);
  declare("sums", ArrayKind::fixed, 1, width * width * layers);
  DeviceSlab slab(device, whole_plan(requirements, static_cast<int>(layers * channels)), 0);
  slab.fill("from", 0);
  const auto number = [](std::size_t value) { return static_cast<std::int32_t>(value); };
  std::vector<SlabArgument> arguments{in(fetch.image ? "texture" : "from"), out("sums"), number(width), number(width),
                                      number(layers)};
  if (fetch.image)
    slab.copy_to_image("from", "texture", layers);
  else
    arguments.emplace_back(number(edge));
  KernelSpec kernel{"bench.cl", fetch.image ? "bench_fetch" : "bench_gather", fmt::format("-D FETCHES={}", fetches)};
  if (device.info().cpu()) kernel.options += " -D UNROLL=1";  // their image reads are long functions
  if (fetch.image) kernel.options += fetch.nearest ? " -D USE_IMAGE -D NEAREST" : " -D USE_IMAGE";
  if (!fetch.image && fetch.channels > 1) kernel.options += " -D WIDE";
  const RunTimes times = repeat(
      slab,
      [&] {
        slab.launch(kernel, {width, width, layers}, arguments);
      },
      seconds);
  return static_cast<double>(width * width * layers) * fetches / times.least;
}

}  // namespace halocline
