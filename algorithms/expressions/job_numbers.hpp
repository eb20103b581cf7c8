// Numbers of prepared jobs that their devices compute: sums, and formulas of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "algorithms/expressions/scalar.hpp"
#include "scheduling/planning/program.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline::expressions {

/// The kernel that follows a pass with sums: it adds them up over the slices or views, and computes what follows.
class NumbersKernel {
 public:
  /// sums: their places among the numbers. largest: they are the largest values instead.
  explicit NumbersKernel(const std::vector<int>& sums, bool largest = false);
  /// Adds number `place`. `place_of`: of the sums that it follows from.
  void add(int place, const ScalarNode& number, const std::function<int(const ScalarNode&)>& place_of);
  /// `count`: slices or views, each of so many `parts`. What is added afterwards counts for later launches.
  void launch(Slab& slab, std::int32_t count, std::int32_t parts, bool fp64) const;

 private:
  std::string value_of(const ScalarNode& number, const std::function<int(const ScalarNode&)>& place_of);

  std::int32_t sums_;
  bool largest_;
  std::string lines_;
  std::map<const ScalarNode*, std::string> values_;  // of formulas, by their names in the kernel
};

/// The numbers of all jobs of a Context.
class NumbersPool {
 public:
  static constexpr int most = 1024;
  /// Declares their arrays.
  static void declare(Requirements& needs);
  /// A place that nobody has. Throws InputError if there is none.
  int take();
  void give_back(const std::vector<int>& places);

 private:
  std::set<int> free_;
  int taken_ = 0;
};

/// Arrays of the numbers: float64 where the device has it, else float32; and as float32, for kernels.
inline constexpr const char* exact_numbers = "numbers";
inline constexpr const char* rounded_numbers = "numbers as float32";

/// Numbers of one job, while it is stated and as long as it lives.
class JobNumbers {
 public:
  explicit JobNumbers(std::shared_ptr<NumbersPool> pool) : pool_(std::move(pool)) {}
  ~JobNumbers() { pool_->give_back(places_); }
  JobNumbers(const JobNumbers&) = delete;
  JobNumbers& operator=(const JobNumbers&) = delete;

  /// Gives sums their places, and lets the step compute them; later formulas are computed there, too.
  void add_sums(Step& step, const std::vector<std::shared_ptr<ScalarNode>>& sums, bool fp64);
  /// The place of a number that follows from sums that were added before. Throws InputError for sums of another job.
  int place_of(const std::shared_ptr<ScalarNode>& node);
  /// The number, where numbers[n] is that at place n. Throws InputError if it does not follow from sums of this job.
  double value(const ScalarNode& node, const std::vector<double>& numbers) const;

 private:
  int take(const std::shared_ptr<ScalarNode>& node);
  int own_place(const ScalarNode& sum) const;

  std::shared_ptr<NumbersPool> pool_;
  std::vector<int> places_;
  std::map<const ScalarNode*, int> known_;  // sums, and formulas that have a place
  std::vector<std::shared_ptr<ScalarNode>> kept_;
  std::shared_ptr<NumbersKernel> last_;
};

}  // namespace halocline::expressions
