// The common part of all checkpoint files: 32 bytes (magic, format, checksum, place and length of a JSON text that
// describes their job), and the errors about files that cannot be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "host/system/error.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

struct CheckpointHead {
  char magic[8] = {};
  std::uint32_t format = 0, crc = 0;  // crc: of the text
  std::uint64_t begin = 0, bytes = 0;
};
static_assert(sizeof(CheckpointHead) == 32);

std::uint32_t crc_of(const void* data, std::size_t bytes);

/// CRC-32 of a file, which is read piece by piece: a Data Exchange file holds projections, too. Throws InputError.
std::uint32_t file_checksum(const std::string& path);

/// CRC-32 of the voxels, all of which are read: by each of these ranks, which all call it, an even part.
std::uint32_t voxel_checksum(const VolumeSource& source, Ranks& readers = one_rank());

/// Eight digits.
std::string checksum_text(std::uint32_t checksum);

/// Bytes at any place of a checkpoint, by any thread. Throws FileError.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::string& path);
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  void read(std::uint64_t at, std::size_t count, void* to) const;

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_;
  int descriptor_;
  std::uint64_t bytes_ = 0;
};

/// Throws InputError: the file is not to be used, and why.
[[noreturn]] void refuse_checkpoint(const std::string& path, const std::string& why);

/// A head of these 8 letters for the text at byte `begin`.
CheckpointHead checkpoint_head(const char* magic, const std::string& text, std::uint64_t begin);
std::string checkpoint_text(const nlohmann::json& text);
/// The head of such a file. ends_with_text: nothing comes after the text. Throws InputError if it is another one, of
/// another format, cut short or damaged.
CheckpointHead read_checkpoint_head(const CheckpointReader& file, const char* magic, const std::string& path,
                                    bool ends_with_text);
nlohmann::json read_checkpoint_text(const CheckpointReader& file, const CheckpointHead& head, const std::string& path);

/// Takes what is needed from such a text. Throws InputError where it lacks a part or has it of another type or size.
template <class Take>
auto take_description(const std::string& path, Take&& take) {
  try {
    return take();
  } catch (const nlohmann::json::exception&) {
    refuse_checkpoint(path, "is damaged: its description lacks a part, or has one of another kind");
  }
}
/// A whole number, from 0 on, of such a text. Throws InputError that names `what` for another value.
template <class Whole>
Whole whole_of(const nlohmann::json& value, const char* what, const std::string& path) {
  if (!value.is_number_unsigned() || !std::in_range<Whole>(value.get<std::uint64_t>()))
    refuse_checkpoint(path, std::string("is damaged: '") + what + "' of its description is no such number");
  return static_cast<Whole>(value.get<std::uint64_t>());
}

/// Throws InputError that names all that differs.
void require_same_job(const nlohmann::json& there, const nlohmann::json& here, const std::string& path);

/// Throws InputError that names `checkpoint` if the file is there and `resume` is not given, or if the disk has less
/// than `bytes` for it. what: that takes so many, for the message.
void check_checkpoint(const std::string& path, double bytes, const std::string& what, bool resume);

/// Removes the file, and that of a process that was killed while it wrote one.
void remove_checkpoint(const std::string& path);

/// The work, whose errors say how to go on from the checkpoint (nullptr: there is none). Their kind is kept only where
/// the exit code depends on it.
template <class Kept, class Work>
auto resumable(const Kept* checkpoint, Work&& work) {
  const auto how = [&] { return checkpoint != nullptr ? checkpoint->how_to_resume() : std::string(); };
  try {
    return work();
  } catch (const Interrupted&) {
    if (how().empty()) throw;
    throw Interrupted("interrupted: " + how());
  } catch (const InputError&) {
    throw;
  } catch (const PlanError&) {
    throw;
  } catch (const Error& error) {
    if (how().empty()) throw;
    throw Error(std::string(error.what()) + "\n" + how());
  }
}

}  // namespace halocline
