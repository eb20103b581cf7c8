// Runs of the command that are killed at ten moments and resumed.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "tests/support/command_process.hpp"

namespace halocline {

struct KilledRuns {
  double seconds = 0;  ///< of a run from beginning to end
  int killed = 0, with_state = 0, finished = 0;
};

/// Runs `words` to the end, which writes `output`; then the same with `resumable`, ten times killed at a moment between
/// `first` and `last` of a run's time, with the same seed always. A run that ends before that is followed by another.
/// Whatever is written has the bits of the first run, and no state is left behind.
inline KilledRuns killed_ten_times(const Words& words, const Words& resumable, const std::filesystem::path& output,
                                   const std::filesystem::path& state, const std::string& log, double first,
                                   double last) {
  const auto run_through = [&](const Words& all, double kill_after) {
    const Process process(all, log);
    if (kill_after > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(kill_after));
      process.signal(SIGKILL);
    }
    const int code = process.wait();
    if (code > 0) ADD_FAILURE() << process.output();
    return code;
  };
  KilledRuns result;
  EXPECT_EQ(run_through(words, 0), 0);  // compiles kernels
  const auto start = std::chrono::steady_clock::now();
  if (run_through(words, 0) != 0) return result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string expected = content(output.string());
  std::filesystem::remove(output);

  std::mt19937 random(5);
  while (result.killed < 10 || result.finished == 0) {
    const double moment = std::uniform_real_distribution<double>(first, last)(random) * result.seconds;
    const int code = run_through(words + resumable, result.killed < 10 ? moment : 0);
    if (code > 0) break;
    if (code < 0) {
      ++result.killed;
      result.with_state += std::filesystem::exists(state) ? 1 : 0;
    } else {
      ++result.finished;
      EXPECT_TRUE(std::filesystem::exists(output));
      EXPECT_FALSE(std::filesystem::exists(state));
    }
    if (!std::filesystem::exists(output)) continue;
    EXPECT_TRUE(content(output.string()) == expected);  // killed while it ended: the result is complete
    std::filesystem::remove(output);
  }
  std::printf("a run takes %.2f s; %d killed, %d of them with a state, %d ended\n", result.seconds, result.killed,
              result.with_state, result.finished);
  return result;
}

}  // namespace halocline
