// labels: unit
// Ray sums between ranks, all of which the test plays one after the other: what goes where, and that it is right there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "scheduling/planning/rank_rows.hpp"
#include "scheduling/planning/rank_traffic.hpp"
#include "scheduling/transport/rank_exchange.hpp"
#include "scheduling/transport/tags.hpp"

namespace halocline::ray_route_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::int64_t views = 7;
constexpr int batch = 3;

// A message of rows of some views, as its sender has them.
struct Letter {
  int from = 0, to = 0, tag = 0;
  MemoryBlocks blocks;
  std::vector<std::byte> bytes;  // of all its blocks
};

std::vector<std::byte> bytes_in(const MemoryBlocks& blocks) {
  std::vector<std::byte> bytes;
  for (std::size_t n = 0; n < blocks.count; ++n) {
    const std::byte* const block = blocks.first + n * blocks.stride;
    bytes.insert(bytes.end(), block, block + blocks.bytes);
  }
  return bytes;
}

// Messages, which are there as soon as they are sent. `held`: none of them ends for its sender.
struct Post {
  std::vector<Letter> sent;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> boxes;  // by sender, receiver and tag
  bool held = false;
};

class PostedRanks : public Ranks {
 public:
  PostedRanks(Post& post, int rank, int size) : post_(post), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Message send(int to, int tag, const MemoryBlocks& from, std::shared_ptr<const void>) override {
    post_.sent.push_back({rank_, to, tag, from, bytes_in(from)});
    post_.boxes[{rank_, to, tag}].push_back(post_.sent.back().bytes);
    return Message(std::make_unique<Sending>(post_));
  }
  Message receive(int from, int tag, const MemoryBlocks& to) override {
    ++begun;
    return Message(std::make_unique<Receiving>(post_.boxes[{from, rank_, tag}], to));
  }
  int begun = 0;  // to be received

 private:
  struct Sending : Message::Request {
    explicit Sending(Post& post) : post(post) {}
    bool ended(bool) override { return !post.held; }
    Post& post;
  };
  struct Receiving : Message::Request {
    Receiving(std::deque<std::vector<std::byte>>& box, const MemoryBlocks& to) : box(box), to(to) {}
    bool ended(bool) override {
      if (box.empty()) throw std::logic_error("a rank waits for what no other one has sent");
      const std::vector<std::byte> bytes = box.front();
      box.pop_front();
      EXPECT_EQ(bytes.size(), to.bytes * to.count);
      for (std::size_t n = 0; n < to.count; ++n)
        std::memcpy(to.first + n * to.stride, bytes.data() + n * to.bytes, to.bytes);
      return true;
    }
    std::deque<std::vector<std::byte>>& box;
    MemoryBlocks to;
  };

  Post& post_;
  int rank_, size_;
};

using RowsOf = std::function<Range(Range)>;

// Slabs cross some rows of a detector of `detector` rows.
Program projecting(std::int64_t slices, std::int64_t detector, RowsOf rows) {
  Program program;
  Requirements& needs = program.needs;
  needs.algorithm = "solver";
  needs.form = ProgramForm::steps;
  needs.size = {3, 4, unsigned_count(slices)};
  needs.stack = {2, unsigned_count(detector), unsigned_count(views)};
  needs.arrays = {{.name = "x", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                  {.name = "r", .kind = ArrayKind::projections, .lifetime = Lifetime::iteration}};
  program.each = {
      {.name = "project", .over = Domain::ray_sums, .arrays = {in("x"), out("r")}, .rows = std::move(rows)}};
  return program;
}

// A slab of so many slices for each of these ranks.
Plan plan_of(const Program& program, const std::vector<std::pair<std::int64_t, int>>& slabs, bool shared = true) {
  Plan plan;
  plan.requirements = program.needs;
  std::int64_t at = 0;
  for (const auto& [slices, rank] : slabs) {
    if (plan.devices.empty() || plan.devices.back().rank != rank) {
      plan.devices.emplace_back().name = "device";
      plan.devices.back().rank = rank;
    }
    const Range interior{at, at + slices};
    plan.slabs.push_back({static_cast<int>(plan.devices.size()) - 1, interior, interior, program.needs.rows(), 0});
    at += slices;
  }
  plan.batch = batch;
  if (shared) plan.rank_rows = rows_of_ranks(program, plan);
  return plan;
}

// The number after so many slabs have added to a ray, in this order.
std::uint64_t with_slab(std::uint64_t sum, std::size_t slab) {
  return 32 * sum + slab + 1;
}

// A rank with stacks of a number a row, and their route.
class Rank {
 public:
  Rank(Post& post, const Program& program, const Plan& of_all, int number, const std::string& arrays = "r")
      : plan_(of_all), chain_(program.each[0], plan_), arrays_(arrays) {
    plan_.options.rank = number;
    auto own = std::make_unique<PostedRanks>(post, number, plan_.devices.back().rank + 1);
    ranks_ = own.get();
    in_use_ = std::make_unique<RanksInUse>(std::move(own));
    std::vector<RayStack> stacks;
    for (const char array : arrays) {
      stacks.push_back({{array}, sizeof(std::uint64_t)});
      transport_.hold({array}, sizeof(std::uint64_t) * unsigned_count(views * rows()));
      for (std::int64_t view = 0; view < views; ++view)
        for (std::int64_t row = 0; row < rows(); ++row) sum(array, view, row) = 999;  // what nobody may go on with
    }
    route.emplace(transport_, plan_, chain_, std::move(stacks), Range{0, views});
  }

  const RayChain& chain() const { return chain_; }
  int coming() const { return ranks_->begun; }
  std::uint64_t& sum(char array, std::int64_t view, std::int64_t row) {
    return reinterpret_cast<std::uint64_t*>(transport_.blocks({array}, 0, 0).first)[view * rows() + row];
  }

  // Adds a slab to the rays of a piece, once what goes on there has come.
  void work(std::size_t slab, std::int64_t first, const RayPiece& piece) {
    for (const RayLink& link : chain_.links())
      if (link.to == slab && route->is_elsewhere(link.from) && !common(link.rows, piece.rows).empty())
        route->fetch(link, first);
    for (const char array : arrays_)
      for (std::int64_t view = first; view < std::min(views, first + batch); ++view)
        for (std::int64_t row = piece.rows.begin; row < piece.rows.end; ++row)
          sum(array, view, row) = with_slab(piece.begins ? 0 : sum(array, view, row), slab);
    route->pass_on(slab, first, piece.rows);
  }
  void work() {
    for (std::size_t slab = 0; slab < plan_.slabs.size(); ++slab)
      for (std::int64_t first = 0; first < views && !route->is_elsewhere(slab); first += batch)
        for (const RayPiece& piece : chain_.pieces(slab)) work(slab, first, piece);
  }

  std::optional<RayRoute> route;

 private:
  std::int64_t rows() const { return plan_.requirements.rows().count(); }

  Plan plan_;
  RayChain chain_;
  std::string arrays_;
  PostedRanks* ranks_ = nullptr;
  std::unique_ptr<RanksInUse> in_use_;
  Transport transport_;
};

std::vector<std::unique_ptr<Rank>> all_ranks(Post& post, const Program& program, const Plan& plan,
                                             const std::string& arrays = "r") {
  std::vector<std::unique_ptr<Rank>> all;
  for (int rank = 0; rank <= plan.devices.back().rank; ++rank)
    all.push_back(std::make_unique<Rank>(post, program, plan, rank, arrays));
  return all;
}

// Ranks in ascending order, as their slabs are.
void work(std::vector<std::unique_ptr<Rank>>& all) {
  for (auto& rank : all) rank->work();
  for (auto& rank : all) rank->route->end();
}

// Rows and views of a letter, of the only array of its sender.
std::pair<Range, Range> part_of(const Letter& letter, Rank& sender, std::int64_t rows) {
  const auto place = reinterpret_cast<std::uint64_t*>(letter.blocks.first) - &sender.sum('r', 0, 0);
  const Range of{place % rows, place % rows + static_cast<std::int64_t>(letter.blocks.bytes / sizeof(std::uint64_t))};
  return {of, {place / rows, place / rows + static_cast<std::int64_t>(letter.blocks.count)}};
}

// Slabs of 3, 1 and 9 slices on a rank each: they cross rows 0 ... 32, 27 ... 42 and 37 ... 129, and the ranks have
// rows 0 ... 63, 0 ... 63 and 32 ... 129.
struct ThreeRanks : testing::Test {
  const Program program = projecting(13, 130, [](Range slices) {
    return Range{10 * slices.begin - 3, 10 * slices.end + 3};
  });
  const Plan plan = plan_of(program, {{3, 0}, {1, 1}, {9, 2}});
  Post post;

  // From, to, rows of the messages of a batch of views.
  std::vector<std::tuple<int, int, Range>> letters(std::vector<std::unique_ptr<Rank>>& all, Range of_views) {
    std::vector<std::tuple<int, int, Range>> found;
    for (const Letter& letter : post.sent)
      if (const auto [rows, views] = part_of(letter, *all[static_cast<std::size_t>(letter.from)], 130);
          views == of_views)
        found.emplace_back(letter.from, letter.to, rows);
    return found;
  }
};

TEST_F(ThreeRanks, SendBandsAtABorderOnAndCompleteRowsToThoseThatSeeThem) {
  ASSERT_THAT(plan.rank_rows, ElementsAre(Range{0, 64}, Range{0, 64}, Range{32, 130}));
  auto all = all_ranks(post, program, plan);
  work(all);
  for (const Range batch_of_views : {Range{0, 3}, Range{3, 6}, Range{6, 7}})
    EXPECT_THAT(letters(all, batch_of_views),
                UnorderedElementsAre(std::tuple(0, 1, Range{27, 33}),  // goes on
                                     std::tuple(0, 1, Range{0, 27}),   // is complete, and none of it for rank 2
                                     std::tuple(1, 2, Range{37, 43}),  // goes on
                                     std::tuple(1, 0, Range{33, 37}), std::tuple(1, 2, Range{33, 37}),
                                     std::tuple(1, 0, Range{27, 33}), std::tuple(1, 2, Range{32, 33}),
                                     std::tuple(2, 0, Range{43, 64}), std::tuple(2, 1, Range{43, 64}),
                                     std::tuple(2, 0, Range{37, 43}), std::tuple(2, 1, Range{37, 43})));
}

TEST_F(ThreeRanks, ReceiveRowsThatNoSlabOfTheirsTouchesFromTheBeginningOn) {
  auto all = all_ranks(post, program, plan);
  const auto coming = [&] { return std::vector<int>{all[0]->coming(), all[1]->coming(), all[2]->coming()}; };
  EXPECT_THAT(coming(), ElementsAre(3 * 3, 3 * 2, 3 * 2)) << "from 33, 37 and 43 on; 0 and 43; 32 and 33; of 3 batches";
  work(all);
  EXPECT_THAT(coming(), ElementsAre(3 * 4, 3 * 4, 3 * 3)) << "those that went on, too";
}

TEST_F(ThreeRanks, HaveATagForEachPartFromOneToAnother) {
  auto all = all_ranks(post, program, plan);
  work(all);
  std::map<std::pair<int, int>, std::map<int, std::vector<Range>>> tags;
  for (const Letter& letter : post.sent) {
    const auto [rows, views] = part_of(letter, *all[static_cast<std::size_t>(letter.from)], 130);
    auto& of_tag = tags[{letter.from, letter.to}][letter.tag];
    if (of_tag.empty() || of_tag.back() != rows) of_tag.push_back(rows);
  }
  for (const auto& [pair, of_pair] : tags) {
    for (const auto& [tag, rows] : of_pair) {
      EXPECT_EQ(rows.size(), 1u) << "tag " << tag << " from " << pair.first << " to " << pair.second;
      EXPECT_LT(tag, work_tags);
    }
    EXPECT_EQ(of_pair.rbegin()->first - of_pair.begin()->first + 1, static_cast<int>(of_pair.size()));
    EXPECT_EQ(of_pair.begin()->first, tags.begin()->second.begin()->first) << "each pair begins with the same one";
  }
}

// Links overtake complete rows, of which one part is under way at a time.
TEST_F(ThreeRanks, HoldCompleteRowsBackWhileOthersWaitForLinks) {
  auto all = all_ranks(post, program, plan);
  all[0]->work();
  Rank& rank = *all[1];
  const std::size_t before = post.sent.size();
  const auto sent = [&] { return post.sent.size() - before; };
  const auto& pieces = rank.chain().pieces(1);
  ASSERT_EQ(pieces.size(), 3u);
  ASSERT_EQ(pieces[0].rows, (Range{37, 43}));
  post.held = true;
  rank.work(1, 0, pieces[0]);
  EXPECT_EQ(sent(), 1u) << "a link";
  rank.work(1, 0, pieces[1]);
  EXPECT_EQ(sent(), 3u) << "complete rows, to both ranks that see them";
  rank.work(1, 0, pieces[2]);
  EXPECT_EQ(sent(), 3u) << "others are under way";
  rank.work(1, 3, pieces[0]);
  EXPECT_EQ(sent(), 4u) << "the link of the next batch";
  post.held = false;
  rank.work(1, 3, pieces[1]);
  EXPECT_EQ(sent(), 8u) << "those before have ended";
  post.held = true;
  rank.work(1, 3, pieces[2]);
  EXPECT_EQ(sent(), 8u);
  rank.work(1, 6, pieces[0]);
  EXPECT_EQ(sent(), 11u) << "the last link, after which all others go";
}

TEST(RayRoutes, RanksWhoseRowsAreTheirOwnSendNothing) {
  const Program program = projecting(6, 192, [](Range slices) { return Range{32 * slices.begin, 32 * slices.end}; });
  const Plan plan = plan_of(program, {{2, 0}, {1, 1}, {3, 2}});
  ASSERT_THAT(plan.rank_rows, ElementsAre(Range{0, 64}, Range{64, 96}, Range{96, 192}));
  Post post;
  auto all = all_ranks(post, program, plan);
  work(all);
  EXPECT_THAT(post.sent, IsEmpty());
  for (const auto& rank : all) EXPECT_EQ(rank->coming(), 0);
}

// Rows of a circular orbit, between the near and the far side, or turned upside down.
RowsOf circular(std::int64_t slices, std::int64_t rows, bool upside_down) {
  return [=](Range slab) {
    if (upside_down) slab = {slices - slab.end, slices - slab.begin};
    const double centre = 0.5 * static_cast<double>(slices),
                 pixel = static_cast<double>(rows) / static_cast<double>(slices);
    const auto at = [&](std::int64_t z, double scale) {
      return pixel * ((static_cast<double>(z) - centre) * scale + centre);
    };
    return Range{static_cast<std::int64_t>(std::floor(std::min(at(slab.begin, 0.7), at(slab.begin, 1.1)))),
                 static_cast<std::int64_t>(std::ceil(std::max(at(slab.end, 0.7), at(slab.end, 1.1))))};
  };
}

// The sum of each row over all slabs that add to it, in ascending order.
std::vector<std::uint64_t> sums_of(const RayChain& chain, const Plan& plan) {
  std::vector<std::uint64_t> sums(plan.requirements.rows().size(), 0);
  for (std::size_t slab = 0; slab < plan.slabs.size(); ++slab)
    for (const RayPiece& piece : chain.pieces(slab))
      for (std::int64_t row = piece.rows.begin; row < piece.rows.end; ++row)
        sums[unsigned_count(row)] = with_slab(sums[unsigned_count(row)], slab);
  return sums;
}

TEST(RayRoutes, RowsOfARankAreTheSumsOfAllSlabsInOrderAndTheirBytesThoseOfTheForecast) {
  const std::vector<std::vector<std::pair<std::int64_t, int>>> teams{
      {{5, 0}, {8, 1}}, {{3, 0}, {1, 1}, {9, 2}}, {{2, 0}, {2, 0}, {3, 1}, {1, 2}, {1, 2}, {4, 2}}};
  for (const bool upside_down : {false, true})
    for (const bool shared : {false, true})
      for (const auto& team : teams) {
        SCOPED_TRACE(testing::Message() << team.size() << " slabs, " << upside_down << shared);
        const Program program = projecting(13, 260, circular(13, 260, upside_down));
        const Plan plan = plan_of(program, team, shared);
        EXPECT_EQ(plan.rank_rows.empty(), !shared);
        Post post;
        auto all = all_ranks(post, program, plan, "rs");
        work(all);
        for (const auto& [names, box] : post.boxes) EXPECT_TRUE(box.empty()) << "nobody receives what was sent";
        const auto expected = sums_of(all[0]->chain(), plan);
        for (std::size_t rank = 0; rank < all.size(); ++rank)
          for (const char array : {'r', 's'})
            for (std::int64_t view = 0; view < views; ++view) {
              const Range rows = plan.rows_of_rank(static_cast<int>(rank));
              for (std::int64_t row = rows.begin; row < rows.end; ++row)
                ASSERT_EQ(all[rank]->sum(array, view, row), expected[unsigned_count(row)])
                    << "row " << row << " of view " << view << " on rank " << rank;
            }
        double sent = 0;
        for (const Letter& letter : post.sent) sent += static_cast<double>(letter.bytes.size());
        // A row of the program's stack has as many bytes as one of either of these.
        EXPECT_EQ(sent, 2 * count_program_rank_bytes(program, plan));
      }
}

}  // namespace
}  // namespace halocline::ray_route_test
