#include "scheduling/execution/shared_state.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "host/system/error.hpp"
#include "scheduling/planning/program.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

// Bytes that the first rank asks of another one; those of no array end the questions.
struct Question {
  std::int64_t array = -1;
  std::uint64_t first = 0, count = 0;
};

void send(Ranks& ranks, int to, const Question& question) {
  std::vector<std::byte> bytes(sizeof question);
  std::memcpy(bytes.data(), &question, sizeof question);
  ranks.send(to, 0, std::move(bytes)).wait();
}

void answer(Ranks& ranks, const RunState& state) {
  for (;;) {
    Question question;
    ranks.receive(0, 0, {reinterpret_cast<std::byte*>(&question), sizeof question}).wait();
    if (question.array < 0) return;
    std::vector<std::byte> bytes(question.count);
    state.read(state.arrays[static_cast<std::size_t>(question.array)].name, question.first, question.count,
               bytes.data());
    ranks.send(0, 0, std::move(bytes)).wait();
  }
}

// Reads bytes of array number `array`, each from the rank that has its slice.
void read_of_all(Ranks& ranks, const RunState& state, const Plan& plan, std::size_t array, std::size_t first,
                 std::size_t count, std::byte* to) {
  const auto& [name, bytes] = state.arrays[array];
  if (array_of(plan.requirements, name).kind != ArrayKind::volume) return state.read(name, first, count, to);
  const std::size_t slice = bytes / plan.requirements.size[2];
  for (const auto& slab : plan.slabs) {
    const std::size_t begin = std::max(first, slice * unsigned_count(slab.interior.begin)),
                      end = std::min(first + count, slice * unsigned_count(slab.interior.end));
    if (begin >= end) continue;
    std::byte* const at = to + (begin - first);
    if (plan.is_here(slab.device)) {
      state.read(name, begin, end - begin, at);
      continue;
    }
    const int rank = plan.rank_of(slab.device);
    send(ranks, rank, {static_cast<std::int64_t>(array), begin, end - begin});
    ranks.receive(rank, 0, {at, end - begin}).wait();
  }
}

}  // namespace

void keep_state(CheckpointStore& store, const RunState& state, const Plan& plan) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several()) return store.keep(state);
  if (!ranks.first()) return answer(ranks, state);
  RunState whole = state;
  whole.read = [&](const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
    const auto array = std::find_if(state.arrays.begin(), state.arrays.end(),
                                    [&](const RunState::Array& each) { return each.name == name; });
    read_of_all(ranks, state, plan, static_cast<std::size_t>(array - state.arrays.begin()), first, count, to);
  };
  store.keep(whole);
  for (int rank = 1; rank < ranks.size(); ++rank) send(ranks, rank, {});
}

std::optional<RunState> kept_state(CheckpointStore& store, Ranks& ranks) {
  auto state = store.kept();
  const int iterations = static_cast<int>(ranks.of_first("the state that is kept", state ? state->iterations : -1.0));
  if (state || iterations < 0) return state;
  store.kept_elsewhere(iterations);
  return store.kept();
}

void require_same_state(Ranks& ranks, int iterations) {
  if (ranks.of_first("the state to go on from", iterations) != iterations)
    throw InputError("`checkpoint`: this rank sees another file than rank 0; put it where all nodes see the same one");
}

}  // namespace halocline
