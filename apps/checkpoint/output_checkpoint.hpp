// The final voxels of a job that delivers its results slab by slab (fdk) in a file, from which a later run goes on to a
// bitwise identical result.
//
// Layout: 32 bytes and a JSON text (see apps/checkpoint/checkpoint_file.hpp) that says what job it is of, which of its
// frames, and how many voxels of the frames before were clamped; then pieces as they come, each with a head that has a
// checksum of its own and one of the voxels. Nothing that was written is written again, so whenever the process is
// killed, all pieces but those of that moment are there; what a power cut kept from the disk has the wrong checksum,
// and is computed again. Each of several ranks has such a file of its own: FILE, FILE.rank1, FILE.rank2, ... Any number
// of ranks goes on from all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/volume/volume.hpp"
#include "scheduling/execution/output_store.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

class OutputCheckpoint {
 public:
  /// results: what a frame consists of, by name, each on `grid`.
  OutputCheckpoint(std::string path, const Grid& grid, std::vector<std::string> results);
  ~OutputCheckpoint();
  OutputCheckpoint(const OutputCheckpoint&) = delete;
  OutputCheckpoint& operator=(const OutputCheckpoint&) = delete;

  /// Bytes that the file can come to: of all results of a frame.
  std::size_t most_bytes() const;
  /// Throws InputError that names `checkpoint` if a file of it is there and `resume` is not given, or if the disk has
  /// no room for it.
  void check(bool resume) const;
  /// Sets all that the results depend on, by name; to be called before anything is kept or read.
  void set_job(nlohmann::json job) { job_ = std::move(job); }
  /// Goes on from the files, and returns true, if there is one. All ranks call it. Throws InputError if it is no
  /// checkpoint, of another format or job (which names all that differs), or damaged at its beginning; damaged pieces
  /// are left out.
  bool resume();

  /// The frame that the file holds (those before are finished), and the number of clamped voxels of those before.
  std::size_t frame() const { return frame_; }
  std::size_t clamped() const { return clamped_; }
  /// Begins a frame; the first piece of it replaces those of another one in the file.
  void begin_frame(std::size_t frame, std::size_t clamped);
  /// The store of the run that computes this result of the frame. On a full disk keep() warns: the run goes on, and
  /// what was kept before remains.
  OutputStore& result(const std::string& name);
  /// The part of its slices that are not kept yet, 0 to 1.
  double left(const std::string& name) const;

  /// Slices of the frame that are kept, of all its results.
  std::size_t slices() const;
  /// "12 of 26 slices of frame 3"
  std::string kept_text() const;
  /// Instructions to go on from there; empty if there is nothing.
  std::string how_to_resume() const;
  /// The job is done: removes the files of all ranks.
  void remove();

 private:
  class Result;
  struct Piece;
  struct Part;
  Part read_part(const std::string& path) const;
  void take_pieces(const std::vector<Part>& parts);
  using Clock = std::chrono::steady_clock;
  void create();
  void open(std::uint64_t end);
  void close();
  void append(std::size_t result, std::size_t first, std::size_t count, const float* values);

  std::string path_, own_;  // own_: the file of this rank
  Ranks& ranks_;
  Grid grid_;
  nlohmann::json job_;
  std::size_t frame_ = 0, clamped_ = 0;
  std::vector<std::unique_ptr<Result>> results_;
  mutable std::mutex mutex_;
  int descriptor_ = -1;
  std::uint64_t end_ = 0;
  bool failed_ = false;
  Clock::time_point synced_{};
};

}  // namespace halocline
