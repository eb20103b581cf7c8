// Checkpoints: files as they are, or a description in JSON, which gets the head and the checksum that fit it. 's' and
// 'l' before it: of the state of an iterative run and of the slices of fdk; bytes after a 0 are arrays or slices.
// lines of: apps/checkpoint/checkpoint.cpp apps/checkpoint/checkpoint_file.cpp apps/checkpoint/output_checkpoint.cpp
#include "apps/checkpoint/checkpoint.hpp"

#include <algorithm>

#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/checkpoint/output_checkpoint.hpp"
#include "tests/fuzz/target.hpp"

namespace halocline::fuzz {
namespace {

const nlohmann::json job = nlohmann::json::object();

std::string with_head(const std::string& bytes, bool of_slices) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string text = bytes.substr(1, end - 1), body = bytes.substr(std::min(end + 1, bytes.size()));
  const CheckpointHead head =
      checkpoint_head(of_slices ? "haloslab" : "halostat", text, sizeof head + (of_slices ? 0 : body.size()));
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + (of_slices ? text + body : body + text);
}

void resume_state(const std::string& path) {
  Checkpoint checkpoint(path);
  checkpoint.set_job(job);
  checkpoint.check(1, true);
  checkpoint.resume();
  const auto state = checkpoint.kept();
  if (!state) return;
  checkpoint.keep(*state);
  require(checkpoint.kept()->arrays == state->arrays, "other arrays after they were kept");
  require(!checkpoint.how_to_resume().empty(), "nothing to go on from");
  checkpoint.remove();
}

void resume_slices(const std::string& path) {
  OutputCheckpoint checkpoint(path, Grid{.size = {2, 2, 3}}, {"volume", "variance"});
  checkpoint.set_job(job);
  checkpoint.check(true);
  checkpoint.resume();
  require(checkpoint.left("volume") >= 0 && !checkpoint.kept_text().empty(), "less than nothing is left");
  Volume volume(Grid{.size = {2, 2, 3}});
  MemorySink sink(volume);
  checkpoint.result("volume").give_back(sink);
  checkpoint.result("volume").keep(0, 4, volume.voxels.data());
  checkpoint.begin_frame(checkpoint.frame() + 1, 0);
  checkpoint.result("variance").keep(4, 8, volume.voxels.data());
  require(!checkpoint.how_to_resume().empty(), "nothing was kept");
  checkpoint.remove();
}

void checkpoint(const std::string& bytes) {
  const bool of_slices = bytes.starts_with('l') || bytes.starts_with("haloslab");
  const bool described = bytes.starts_with('l') || bytes.starts_with('s');
  const std::string path = file_of("checkpoint", described ? with_head(bytes, of_slices) : bytes);
  file_checksum(path);
  of_slices ? resume_slices(path) : resume_state(path);
}
const Registered registered("checkpoint", checkpoint);

}  // namespace
}  // namespace halocline::fuzz
