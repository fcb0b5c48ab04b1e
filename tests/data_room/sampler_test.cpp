#include "src/data/sampler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "tests/data_room/data_files.h"

using namespace ptbench;
using test::usage_message;

namespace {

/// The indices of one epoch of one replica.
std::vector<Size> epoch_of(Sampler& sampler, Size micro_batches) {
  std::vector<Size> indices;
  for (Size i = 0; i < micro_batches; ++i) {
    const auto batch = sampler.next();
    indices.insert(indices.end(), batch.begin(), batch.end());
  }
  return indices;
}

std::vector<Size> first_epoch(Size samples, std::uint64_t seed) {
  Sampler sampler(samples, {.micro_batch = samples}, true, seed);
  return epoch_of(sampler, 1);
}

}  // namespace

TEST_CASE("every epoch visits every sample once, in another order", "[data][long]") {
  // One size for each number of positions that a word can decide, and the smallest ones.
  const Size samples =
      GENERATE(Size{1}, Size{2}, Size{7}, Size{1000}, Size{5000}, Size{70000}, Size{1100000});
  Sampler sampler(samples, {.micro_batch = 1}, true, 3);
  std::set<std::vector<Size>> orders;
  for (Size epoch = 0; epoch < 3; ++epoch) {
    CHECK(sampler.epoch() == epoch);
    std::vector<Size> order = epoch_of(sampler, samples);
    orders.insert(order);
    std::ranges::sort(order);
    std::vector<Size> all(static_cast<std::size_t>(samples));
    std::iota(all.begin(), all.end(), Size{0});
    CHECK(order == all);
  }
  CHECK(sampler.epoch() == 3);
  if (samples >= 1000) CHECK(orders.size() == 3);
}

TEST_CASE("without shuffling the order is the index order in every epoch", "[data]") {
  Sampler sampler(10, {.micro_batch = 3}, false, 0);
  for (int epoch = 0; epoch < 2; ++epoch)
    CHECK(epoch_of(sampler, 3) == std::vector<Size>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(sampler.steps_per_epoch() == 3);
  CHECK(sampler.samples_left_out() == 1);
}

TEST_CASE("the ranks' micro-batches make up the global batch of one rank", "[data]") {
  const Size replicas = GENERATE(Size{1}, Size{2}, Size{4}, Size{8});
  const Size accumulation = GENERATE(Size{1}, Size{3});
  const Size global_batch = 48;
  const Size samples = 500;
  Sampler serial(samples, {.micro_batch = global_batch}, true, 11);

  std::vector<Sampler> ranks;
  ranks.reserve(static_cast<std::size_t>(replicas));
  for (Size rank = 0; rank < replicas; ++rank)
    ranks.emplace_back(samples,
                       BatchShape{.micro_batch = global_batch / replicas / accumulation,
                                  .accumulation_steps = accumulation,
                                  .replicas = replicas,
                                  .replica = rank},
                       true, 11);

  for (Size step = 0; step < 3 * serial.steps_per_epoch(); ++step) {
    const auto expected = serial.next();
    std::vector<Size> together;
    for (Size k = 0; k < accumulation; ++k)
      for (Sampler& rank : ranks) {
        const auto slice = rank.next();
        together.insert(together.end(), slice.begin(), slice.end());
      }
    CHECK(together == std::vector<Size>(expected.begin(), expected.end()));
  }
  for (const Sampler& rank : ranks) {
    CHECK(rank.epoch() == serial.epoch());
    CHECK(rank.steps_per_epoch() == serial.steps_per_epoch());
    CHECK(rank.samples_left_out() == serial.samples_left_out());
  }
}

TEST_CASE("unequal shares make up the global batch of one rank", "[data]") {
  const std::vector<Size> shares = GENERATE(std::vector<Size>{11}, std::vector<Size>{9, 3},
                                            std::vector<Size>{1, 7, 2}, std::vector<Size>{4, 4, 4});
  const Size accumulation = GENERATE(Size{1}, Size{3});
  const Size together = std::accumulate(shares.begin(), shares.end(), Size{0});
  const Size samples = 200;
  Sampler serial(samples, {.micro_batch = together, .accumulation_steps = accumulation}, true, 11);

  std::vector<Sampler> ranks;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const BatchShape shape{.micro_batch = shares[rank],
                           .accumulation_steps = accumulation,
                           .replicas = static_cast<Size>(shares.size()),
                           .replica = static_cast<Size>(rank),
                           .shares = shares};
    CHECK(shape.global_batch() == together * accumulation);
    ranks.emplace_back(samples, shape, true, 11);
  }
  for (Size micro_batch = 0; micro_batch < 3 * serial.steps_per_epoch() * accumulation;
       ++micro_batch) {
    const auto expected = serial.next();
    std::vector<Size> all;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto slice = ranks[rank].next();
      CHECK(std::ssize(slice) == shares[rank]);
      all.insert(all.end(), slice.begin(), slice.end());
    }
    CHECK(all == std::vector<Size>(expected.begin(), expected.end()));
  }
  for (const Sampler& rank : ranks) {
    CHECK(rank.epoch() == serial.epoch());
    CHECK(rank.steps_per_epoch() == serial.steps_per_epoch());
    CHECK(rank.samples_left_out() == serial.samples_left_out());
  }
}

TEST_CASE("equal shares are no shares", "[data]") {
  BatchShape shape{.micro_batch = 5, .accumulation_steps = 2, .replicas = 3, .replica = 1};
  Sampler plain(100, shape, true, 4);
  shape.shares = {5, 5, 5};
  Sampler shared(100, shape, true, 4);
  for (int i = 0; i < 20; ++i) CHECK(std::ranges::equal(plain.next(), shared.next()));
}

TEST_CASE("the order does not depend on the batch size", "[data]") {
  Sampler large(1000, {.micro_batch = 100}, true, 5);
  Sampler small(1000, {.micro_batch = 1}, true, 5);
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(epoch_of(large, 10) == epoch_of(small, 1000));
}

TEST_CASE("an epoch's order does not depend on how much of earlier epochs was used", "[data]") {
  Sampler all(100, {.micro_batch = 10}, true, 5);
  Sampler some(100, {.micro_batch = 60}, true, 5);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<Size> expected = epoch_of(all, 10);
    expected.resize(60);
    CHECK(epoch_of(some, 1) == expected);
  }
}

TEST_CASE("orders differ between seeds, epochs and starting points", "[data]") {
  CHECK(first_epoch(100, 1) == first_epoch(100, 1));
  CHECK(first_epoch(100, 1) != first_epoch(100, 2));
  Sampler sampler(100, {.micro_batch = 100}, true, 1);
  const std::vector<Size> first = epoch_of(sampler, 1);
  CHECK(first == first_epoch(100, 1));
  CHECK(first != epoch_of(sampler, 1));
}

TEST_CASE("what next returned stays valid until the next call, across epochs too", "[data]") {
  Sampler sampler(8, {.micro_batch = 8}, true, 2);
  for (int epoch = 0; epoch < 5; ++epoch) {
    const auto batch = sampler.next();
    CHECK(std::set<Size>(batch.begin(), batch.end()).size() == 8);
  }
}

TEST_CASE("every order of four samples is about equally likely", "[data]") {
  std::map<std::vector<Size>, int> counts;
  Sampler sampler(4, {.micro_batch = 4}, true, 7);
  constexpr int epochs = 24000;
  for (int epoch = 0; epoch < epochs; ++epoch) ++counts[epoch_of(sampler, 1)];
  REQUIRE(counts.size() == 24);
  double chi_square = 0;
  for (const auto& [order, count] : counts)
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  CHECK(chi_square < 49.7);  // 23 degrees of freedom: exceeded once in a thousand
}

TEST_CASE("every sample comes first about equally often", "[data]") {
  // 300 samples: more than one draw of random words an epoch.
  constexpr std::size_t samples = 300;
  std::vector<int> first(samples);
  std::vector<int> last(samples);
  Sampler sampler(samples, {.micro_batch = samples}, true, 13);
  for (std::size_t epoch = 0; epoch < 100 * samples; ++epoch) {
    const auto order = sampler.next();
    ++first[static_cast<std::size_t>(order.front())];
    ++last[static_cast<std::size_t>(order.back())];
  }
  for (const std::vector<int>& counts : {first, last}) {
    double chi_square = 0;
    for (const int count : counts) chi_square += (count - 100.0) * (count - 100.0) / 100.0;
    CHECK(chi_square < 381.4);  // 299 degrees of freedom: exceeded once in a thousand
  }
}

TEST_CASE("samples after the last full global batch are left out", "[data]") {
  const Sampler sampler(
      1000, {.micro_batch = 32, .accumulation_steps = 2, .replicas = 4, .replica = 1}, true, 0);
  CHECK(sampler.steps_per_epoch() == 3);
  CHECK(sampler.samples_left_out() == 1000 - 3 * 256);

  const Sampler whole(1024, {.micro_batch = 32}, true, 0);
  CHECK(whole.steps_per_epoch() == 32);
  CHECK(whole.samples_left_out() == 0);
}

TEST_CASE("a global batch that the samples do not fill is refused", "[data]") {
  const auto make = [](Size samples, BatchShape shape) {
    return usage_message([&] { (void)Sampler(samples, shape, true, 0); });
  };
  const std::string message =
      make(100, {.micro_batch = 26, .accumulation_steps = 2, .replicas = 2, .replica = 0});
  CHECK_THAT(message, Catch::Contains("100 samples"));
  CHECK_THAT(message, Catch::Contains("--batch-size"));
  CHECK_THAT(make(11, {.micro_batch = 4, .replicas = 2, .replica = 1, .shares = {8, 4}}),
             Catch::Contains("8+4 samples") && Catch::Contains("--shares"));
  (void)make(0, {.micro_batch = 1});
  // The product of these exceeds 64 bits.
  const Size huge = Size{1} << 40;
  (void)make(100,
             {.micro_batch = huge, .accumulation_steps = huge, .replicas = huge, .replica = 0});
}

TEST_CASE("a sampler that skips goes on where one that did not would", "[data]") {
  const BatchShape shape{.micro_batch = 3, .accumulation_steps = 2, .replicas = 2, .replica = 1};
  for (const bool shuffle : {true, false})
    for (int skipped = 0; skipped < 12; ++skipped) {
      Sampler straight(40, shape, shuffle, 5);
      Sampler skipping(40, shape, shuffle, 5);
      for (int i = 0; i < skipped; ++i) {
        if (i % 3 == 1)
          (void)skipping.next();
        else
          skipping.skip();
        (void)straight.next();
      }
      CHECK(skipping.epoch() == straight.epoch());
      CHECK(std::ranges::equal(skipping.next(), straight.next()));
    }
}
