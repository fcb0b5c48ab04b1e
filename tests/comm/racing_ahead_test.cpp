// Ranks that start the next operations, of every kind, before others have finished the earlier
// ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "src/comm/shm/reduce.h"
#include "src/comm/shm/shared_layout.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"

namespace ptbench {
namespace {

using shared::Collective;
using testing::kTimeout;
using testing::ThreadGroup;

constexpr Size kOperations = 400;
constexpr std::array<Size, 6> kCounts{1, 15, 40, 100, 333, 1000};  // of each piece of values

using Floats = std::vector<float>;

constexpr std::uint32_t kCollectives = static_cast<std::uint32_t>(Collective::barrier) + 1;

struct Operation {
  Size number = 0;
  Collective collective = Collective::barrier;
  std::size_t piece = 0;
  Size root = 0;
  Reduction reduction;
};

std::vector<Operation> drawn_operations(Size world_size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Operation> operations;
  for (Size number = 0; number < kOperations; ++number) {
    Operation operation{.number = number,
                        .collective = static_cast<Collective>(random() % kCollectives),
                        .piece = random() % kCounts.size(),
                        .root = static_cast<Size>(random()) % world_size,
                        .reduction = {.scale = 1 / static_cast<float>(world_size)}};
    if (random() % 3 == 0) operation.reduction.wire = WireType::bf16;
    operation.reduction.at_root = random() % 2 == 0;
    operations.push_back(operation);
  }
  return operations;
}

/// What a rank writes itself: different for each rank, operation and index.
float fresh_value(Size rank, Size number, std::size_t index) {
  const Size mixed = (static_cast<Size>(index) * 7919 + rank * 104729 + number * 1301) % 20011;
  return static_cast<float>(mixed - 10005) * 0.0137F;
}

/// What every rank does to its values before it starts an operation.
void freshen(std::span<float> values, Size rank, Size number) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = values[i] * 0.5F + fresh_value(rank, number, i);
}

/// What a reduce-scatter leaves unspecified is written anew.
void replace_rest(std::span<float> values, Range part, Size rank, Size number) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<Size>(i);
    if (index < part.begin || index >= part.end) values[i] = fresh_value(rank, number, i);
  }
}

/// All ranks' values, operation by operation, in one thread.
class Model {
 public:
  explicit Model(Size world_size) : ranks_(static_cast<std::size_t>(world_size)) {
    for (auto& pieces : ranks_)
      for (const Size count : kCounts) pieces.emplace_back(static_cast<std::size_t>(count));
  }

  /// By rank, what is in the operation's values afterwards; of a gather on its root, in the whole.
  std::vector<Floats> run(const Operation& operation) {
    std::vector<Floats> given;
    for (Size rank = 0; rank < world_size(); ++rank) {
      Floats& values = piece(rank, operation);
      if (operation.collective != Collective::barrier) freshen(values, rank, operation.number);
      given.push_back(values);
    }
    std::vector<Floats> results;
    for (Size rank = 0; rank < world_size(); ++rank) {
      results.push_back(result(operation, given, rank));
      if (!is_gathered(operation, rank)) piece(rank, operation) = results.back();
    }
    return results;
  }

 private:
  [[nodiscard]] Size world_size() const { return static_cast<Size>(ranks_.size()); }
  [[nodiscard]] Floats& piece(Size rank, const Operation& operation) {
    return ranks_[static_cast<std::size_t>(rank)][operation.piece];
  }
  [[nodiscard]] static bool is_gathered(const Operation& operation, Size rank) {
    return operation.collective == Collective::gather && rank == operation.root;
  }

  [[nodiscard]] Floats result(const Operation& operation, const std::vector<Floats>& given,
                              Size rank) const {
    const Floats& own = given[static_cast<std::size_t>(rank)];
    switch (operation.collective) {
      case Collective::all_reduce: return sum(operation, given, operation.reduction.wire);
      case Collective::reduce_scatter: return scattered(operation, given, rank);
      case Collective::all_gather: return parts(given);
      case Collective::reduce: return rank == operation.root ? sum(operation, given) : own;
      case Collective::gather: return is_gathered(operation, rank) ? joined(given) : own;
      case Collective::broadcast: return given[static_cast<std::size_t>(operation.root)];
      case Collective::barrier:
      case Collective::send:
      case Collective::receive: return own;
    }
    return {};
  }

  [[nodiscard]] static float sent(float value, WireType wire) {
    return wire == WireType::bf16 ? rounded_to_bf16(value) : value;
  }

  [[nodiscard]] static Floats sum(const Operation& operation, const std::vector<Floats>& given,
                                  WireType result = WireType::fp32) {
    Floats sums;
    for (std::size_t i = 0; i < given.front().size(); ++i) {
      float sum = sent(given.front()[i], operation.reduction.wire);
      for (std::size_t rank = 1; rank < given.size(); ++rank)
        sum += sent(given[rank][i], operation.reduction.wire);
      sums.push_back(sent(sum * operation.reduction.scale, result));
    }
    return sums;
  }

  [[nodiscard]] Floats scattered(const Operation& operation, const std::vector<Floats>& given,
                                 Size rank) const {
    Floats values = sum(operation, given);
    const Range part = rank_part(static_cast<Size>(values.size()), rank, world_size());
    replace_rest(values, part, rank, operation.number);
    return values;
  }

  [[nodiscard]] Floats parts(const std::vector<Floats>& given) const {
    Floats all(given.front().size());
    for (Size rank = 0; rank < world_size(); ++rank) {
      const Range part = rank_part(static_cast<Size>(all.size()), rank, world_size());
      std::copy(given[static_cast<std::size_t>(rank)].begin() + part.begin,
                given[static_cast<std::size_t>(rank)].begin() + part.end, all.begin() + part.begin);
    }
    return all;
  }

  [[nodiscard]] static Floats joined(const std::vector<Floats>& given) {
    Floats whole;
    for (const Floats& values : given) whole.insert(whole.end(), values.begin(), values.end());
    return whole;
  }

  std::vector<std::vector<Floats>> ranks_;  ///< pieces of values, by rank
};

/// What one operation leaves, by rank.
struct Expected {
  Operation operation;
  std::vector<Floats> results;
};

/// One rank, which runs ahead of the others as its own random numbers say.
class Runner {
 public:
  Runner(Communicator& communicator, std::uint32_t seed)
      : communicator_(communicator), random_(seed) {
    for (std::size_t piece = 0; piece < kCounts.size(); ++piece) {
      const auto count = static_cast<std::size_t>(kCounts.at(piece));
      // In the shared memory on some ranks, elsewhere on others.
      const bool in_place = (piece + static_cast<std::size_t>(communicator.rank())) % 2 == 0;
      Piece& made = pieces_.at(piece);
      made.all.resize(in_place ? 0 : count);
      if (in_place) made.buffer = communicator.memory().allocate(count * sizeof(float), "piece");
      made.values = in_place ? made.buffer.as<float>() : std::span<float>(made.all);
      made.whole.resize(count * static_cast<std::size_t>(communicator.world_size()));
    }
  }

  void run(const Expected& expected) {
    const Operation& operation = expected.operation;
    const auto is_busy = [&](const Started& started) {
      return started.expected->operation.piece == operation.piece;
    };
    while (std::ranges::any_of(started_, is_busy)) finish(1);
    if (operation.collective != Collective::barrier)
      freshen(piece(operation).values, communicator_.rank(), operation.number);
    started_.push_back({.ticket = start(operation), .expected = &expected});
    dawdle();
    if (random_() % 2 == 0) finish(random_() % (started_.size() + 1));
  }

  void finish_all() { finish(started_.size()); }

  [[nodiscard]] int wrong() const { return wrong_; }

 private:
  struct Piece {
    Buffer buffer;
    Floats all;
    std::span<float> values;
    Floats whole;  ///< of a gather, where this rank is the root
  };
  struct Started {
    Communicator::Ticket ticket;
    const Expected* expected;
  };

  [[nodiscard]] Piece& piece(const Operation& operation) { return pieces_.at(operation.piece); }

  [[nodiscard]] Communicator::Ticket start(const Operation& operation) {
    Piece& used = piece(operation);
    const auto bytes = std::as_writable_bytes(used.values);
    switch (operation.collective) {
      case Collective::all_reduce:
        return communicator_.start_all_reduce(values_of(used.values), operation.reduction);
      case Collective::reduce_scatter:
        return communicator_.start_reduce_scatter(values_of(used.values), operation.reduction);
      case Collective::all_gather: return communicator_.start_all_gather(values_of(used.values));
      case Collective::reduce:
        return communicator_.start_reduce(values_of(used.values), operation.root,
                                          operation.reduction);
      case Collective::gather: {
        const bool is_root = operation.root == communicator_.rank();
        const auto whole = std::as_writable_bytes(std::span(used.whole));
        return communicator_.start_gather(bytes, is_root ? whole : whole.first(0), operation.root);
      }
      case Collective::broadcast: return communicator_.start_broadcast(bytes, operation.root);
      case Collective::barrier:
      case Collective::send:
      case Collective::receive: break;
    }
    return communicator_.start_barrier();
  }

  /// The `count` oldest, by one wait for the last of them.
  void finish(std::size_t count) {
    if (count == 0) return;
    communicator_.wait(started_[count - 1].ticket, kTimeout);
    for (; count > 0; --count) {
      check(*started_.front().expected);
      started_.pop_front();
    }
  }

  void check(const Expected& expected) {
    const Operation& operation = expected.operation;
    const Size rank = communicator_.rank();
    if (operation.collective == Collective::barrier) return;
    Piece& used = piece(operation);
    if (operation.collective == Collective::reduce_scatter) {
      const auto count = static_cast<Size>(used.values.size());
      replace_rest(used.values, rank_part(count, rank, communicator_.world_size()), rank,
                   operation.number);
    }
    const bool is_gathered = operation.collective == Collective::gather && operation.root == rank;
    const std::span<const float> values = is_gathered ? std::span(used.whole) : used.values;
    const Floats& result = expected.results[static_cast<std::size_t>(rank)];
    if (values.size() != result.size() ||
        std::memcmp(values.data(), result.data(), values.size_bytes()) != 0)
      ++wrong_;
  }

  void dawdle() {
    const std::uint32_t draw = random_() % 32;
    if (draw == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (draw < 8) std::this_thread::yield();
  }

  Communicator& communicator_;
  std::mt19937 random_;
  std::array<Piece, kCounts.size()> pieces_;
  std::deque<Started> started_;
  int wrong_ = 0;
};

TEST_CASE("ranks that race ahead of each other through any operations get what a model says",
          "[comm]") {
  for (const Size world_size : {2, 3, 4})
    for (const int cores : {1, 100})
      for (const std::uint32_t seed : {1U, 2U, 3U}) {
        INFO(fmt::format("{} ranks, {} cores, seed {}", world_size, cores, seed));
        Model model(world_size);
        std::vector<Expected> expected;
        for (const Operation& operation : drawn_operations(world_size, seed))
          expected.push_back({.operation = operation, .results = model.run(operation)});
        std::vector<int> wrong(static_cast<std::size_t>(world_size), -1);
        CHECK_NOTHROW(ThreadGroup(world_size, 1, cores).run([&](Communicator& communicator) {
          const auto rank = static_cast<std::uint32_t>(communicator.rank());
          Runner runner(communicator, 100 * seed + rank);
          for (const Expected& each : expected) runner.run(each);
          runner.finish_all();
          wrong[rank] = runner.wrong();
        }));
        CHECK(wrong == std::vector<int>(static_cast<std::size_t>(world_size)));
      }
}

}  // namespace
}  // namespace ptbench
