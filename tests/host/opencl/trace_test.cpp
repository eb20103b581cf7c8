// labels: unit
#include "host/opencl/trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace halocline::trace_test {
namespace {

nlohmann::json written(const Trace& trace) {
  std::ostringstream out;
  trace.write(out);
  return nlohmann::json::parse(out.str());
}

TEST(Trace, isValidWithoutEntries) {
  EXPECT_TRUE(written(Trace{}).at("traceEvents").empty());
}

TEST(Trace, writesAProcessADeviceAndAThreadAQueue) {
  Trace trace;
  // Added out of order.
  trace.add({"pdu_dual", "Card A", "compute", 5'000'003'000, 5'000'007'500, 0});
  trace.add({"write f", "Card A", "upload", 5'000'001'000, 5'000'003'000, 4096});
  trace.add({"pdu_dual", "Card B", "compute", 5'000'001'500, 5'000'002'500, 0});
  const auto events = written(trace).at("traceEvents");
  std::map<std::string, int> processes;
  std::map<std::pair<int, int>, std::string> threads;
  int complete = 0;
  for (const auto& event : events) {
    if (event.at("ph") != "M") continue;
    if (event.at("name") == "process_name") processes[event.at("args").at("name")] = event.at("pid");
    if (event.at("name") == "thread_name") threads[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
  }
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_NE(processes["Card A"], processes["Card B"]);
  EXPECT_EQ(threads.size(), 3u);
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    ++complete;
    EXPECT_EQ(threads.at({event.at("pid"), event.at("tid")}), event.at("cat").get<std::string>());
    const bool on_a = event.at("pid") == processes["Card A"];
    if (event.at("name") == "write f") {
      EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), 0);  // the first command, in microseconds
      EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), 2);
      EXPECT_EQ(event.at("args").at("bytes").get<int>(), 4096);
    } else {
      EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), on_a ? 2 : 0.5);
      EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), on_a ? 4.5 : 1);
      EXPECT_FALSE(event.contains("args"));
    }
  }
  EXPECT_EQ(complete, 3);
}

TEST(Trace, writesWhatMayCrossAsPairsOfEvents) {
  Trace trace;
  trace.add({"to rank 1", "messages", "messages", 1'000, 4'000, 7, true});
  trace.add({"from rank 1", "messages", "messages", 2'000, 9'000, 8, true});
  std::map<std::pair<int, std::string>, double> times;
  const auto events = written(trace).at("traceEvents");
  for (const auto& event : events) {
    if (event.at("ph") == "M") continue;
    const int bytes = event.at("args").at("bytes");
    EXPECT_EQ(event.at("name"), bytes == 7 ? "to rank 1" : "from rank 1");
    EXPECT_FALSE(event.contains("dur"));
    times[{bytes, event.at("ph")}] = event.at("ts");
  }
  const std::map<std::pair<int, std::string>, double> expected{
      {{7, "b"}, 0}, {{7, "e"}, 3}, {{8, "b"}, 1}, {{8, "e"}, 8}};
  EXPECT_EQ(times, expected);
}

TEST(Trace, survivesNamesThatAreNotUtf8OrHoldQuotes) {
  Trace trace;
  trace.add({"say \"hi\"\n", "Card \xff\xfe", "compute", 1, 2, 0});
  const auto events = written(trace).at("traceEvents");
  EXPECT_EQ(events.back().at("name").get<std::string>(), "say \"hi\"\n");
}

TEST(Trace, addsUpTimesByName) {
  Trace trace;
  trace.add({"a", "x", "compute", 0, 1'000'000'000, 0});
  trace.add({"a", "y", "compute", 7, 500'000'007, 0});
  trace.add({"b", "x", "compute", 10, 10, 0});
  trace.add({"to rank 1", "messages", "messages", 0, 9, 4, true});  // no command
  const auto totals = trace.totals();
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_DOUBLE_EQ(totals.at("a").first, 1.5);
  EXPECT_EQ(totals.at("a").second, 2u);
  EXPECT_EQ(totals.at("b").first, 0);
  EXPECT_EQ(trace.entries().size(), 4u);
}

}  // namespace
}  // namespace halocline::trace_test
