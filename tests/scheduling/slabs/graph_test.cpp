// labels: unit
#include "scheduling/slabs/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace halocline::graph_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST(DependencyGraph, readsWaitForTheWriter) {
  DependencyGraph<int> graph;
  EXPECT_THAT(graph.waits({{"u", Access::in}}), IsEmpty());
  graph.add({{"u", Access::out}}, 1, 0);
  EXPECT_THAT(graph.waits({{"u", Access::in}}), ElementsAre(1));
  EXPECT_THAT(graph.waits({{"v", Access::in}}), IsEmpty());
}

TEST(DependencyGraph, writesWaitForReadersAndTheWriter) {
  DependencyGraph<int> graph;
  graph.add({{"u", Access::out}}, 1, 0);
  graph.add({{"u", Access::in}}, 2, 1);
  graph.add({{"u", Access::in}}, 3, 2);
  EXPECT_THAT(graph.waits({{"u", Access::out}}), UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(graph.waits({{"u", Access::inout}}), UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(graph.waits({{"u", Access::in}}), ElementsAre(1));  // readers do not wait for readers
}

TEST(DependencyGraph, waitsOnlyForTheLatestReaderOfALane) {
  DependencyGraph<int> graph;
  for (int n = 0; n < 1000; ++n) graph.add({{"f", Access::in}}, n, 1);
  EXPECT_THAT(graph.waits({{"f", Access::out}}), ElementsAre(999));
}

TEST(DependencyGraph, aWriteForgetsOlderReaders) {
  DependencyGraph<int> graph;
  graph.add({{"u", Access::in}}, 1, 0);
  graph.add({{"u", Access::inout}}, 2, 1);
  EXPECT_THAT(graph.waits({{"u", Access::out}}), ElementsAre(2));
  graph.clear();
  EXPECT_THAT(graph.waits({{"u", Access::out}}), IsEmpty());
}

TEST(DependencyGraph, followsSeveralArraysOfOneCommand) {
  DependencyGraph<int> graph;
  graph.add({{"f", Access::out}}, 1, 0);
  graph.add({{"u", Access::out}}, 2, 1);
  graph.add({{"f", Access::in}, {"u", Access::in}, {"q", Access::out}}, 3, 1);
  EXPECT_THAT(graph.waits({{"q", Access::in}, {"u", Access::out}}), UnorderedElementsAre(3, 2, 3));
  EXPECT_THAT(graph.waits({{"f", Access::in}}), ElementsAre(1));
}

// Random commands on three in-order queues: whatever order the waits allow, each conflict keeps the order of the
// program.
TEST(DependencyGraph, ordersAllConflicts) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  DependencyGraph<int> graph;
  std::vector<std::vector<std::pair<std::string, Access>>> commands;
  std::vector<int> lanes;
  std::vector<std::set<int>> before;  // all that must have ended, directly or not
  for (int n = 0; n < 300; ++n) {
    std::vector<std::pair<std::string, Access>> accesses;
    for (const char* name : {"a", "b", "c"})
      if (pick(2) == 0) accesses.emplace_back(name, std::array{Access::in, Access::out, Access::inout}[pick(3)]);
    const int lane = pick(3);
    std::set<int> all;
    auto direct = graph.waits(accesses);
    for (int m = n - 1; m >= 0; --m)
      if (lanes[m] == lane) {
        direct.push_back(m);
        break;
      }
    for (const int wait : direct) {
      all.insert(wait);
      all.insert(before[wait].begin(), before[wait].end());
    }
    for (int m = 0; m < n; ++m)
      for (const auto& [name, access] : commands[m])
        for (const auto& [own_name, own_access] : accesses)
          if (name == own_name && (access != Access::in || own_access != Access::in)) {
            EXPECT_THAT(all, Contains(m)) << "command " << n << ", array " << name;
          }
    graph.add(accesses, n, lane);
    commands.push_back(accesses);
    lanes.push_back(lane);
    before.push_back(all);
  }
}

}  // namespace
}  // namespace halocline::graph_test
