// The images that `halocline denoise` writes: one of the result, or one for each alpha of a path or for each frame.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/commands/denoise_inputs.hpp"

namespace halocline {

class DenoiseOutputs {
 public:
  /// Claims all outputs, so that nothing is lost after hours. Throws InputError if they cannot keep the type of
  /// voxels.
  DenoiseOutputs(Job& job, const DenoiseCommand& command, const DenoiseInputs& inputs);

  /// True if the result is written as it is computed: nothing needs the whole of it in memory.
  bool streamed() const { return streamed_; }
  const ImageStorage& storage() const { return storage_; }
  /// --rescale: spreads what the result's values may be over the range of the type.
  void scale_to(const VolumeSource& input);

  /// Takes, before the run, the room on the disk, of a result that is streamed or of one that is in memory until it is
  /// written.
  VolumeSink& begin_stream();
  void reserve();
  /// The result of a stage, which is that of the path's alpha of that number.
  void write_stage(int stage, const Volume& result);
  /// Writes, after the run, the volume in memory, or the end of the stream.
  void write(const Volume& in_memory, const DenoiseResult& result);
  /// --html: before and after, with what guided and what weighted.
  void show(const DenoiseResult& result) const;
  /// --png
  void write_picture(const Volume& in_memory) const;

  /// -o; of a path, the file of its last alpha.
  std::string name(const DenoiseResult& result) const;
  /// The names of a path's stages.
  const std::vector<std::string>& written() const { return written_; }
  /// The number of values that the type of the voxels could not hold.
  std::size_t changed() const { return changed_; }

 private:
  void write_image(const Volume& in_memory, const std::string& path);

  Job& job_;
  const DenoiseCommand& command_;
  const DenoiseInputs& inputs_;
  bool streamed_;
  ImageStorage storage_;
  std::vector<std::string> frame_names_;
  std::vector<ReservedImage> frames_;
  std::map<std::string, ReservedImage> images_;
  std::unique_ptr<ImageSink> stream_;
  std::vector<std::string> written_;
  std::size_t changed_ = 0;
};

}  // namespace halocline
