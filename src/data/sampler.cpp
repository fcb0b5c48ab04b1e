#include "src/data/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "src/base/error.h"
#include "src/base/random.h"

namespace ptbench {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Size kWordsPerDraw = 2;  // 64-bit words in one draw of CounterRandom

/// How many positions one 64-bit word decides. The word keeps at least 24 bits for evenness: no
/// order of a word's positions is likelier than another by more than the share 2^-24.
Size draws_per_word(Size samples) {
  constexpr Size spent_bits = 40;
  const auto bits = static_cast<Size>(std::bit_width(static_cast<std::uint64_t>(samples)));
  return std::clamp(spent_bits / bits, Size{1}, Size{4});
}

std::string text_of(const BatchShape& shape) {
  if (shape.shares.empty())
    return fmt::format("{} replicas x {} micro-batches x {} samples", shape.replicas,
                       shape.accumulation_steps, shape.micro_batch);
  return fmt::format("{} micro-batches x {} samples", shape.accumulation_steps,
                     fmt::join(shape.shares, "+"));
}

void check(const BatchShape& shape) {
  ensure(shape.micro_batch > 0 && shape.accumulation_steps > 0 && shape.replicas > 0,
         "a global batch has samples");
  ensure(shape.replica >= 0 && shape.replica < shape.replicas,
         "the replica is one of the replicas");
  if (shape.shares.empty()) return;
  ensure(std::ssize(shape.shares) == shape.replicas, "each replica has a share");
  ensure(std::ranges::all_of(shape.shares, [](Size share) { return share > 0; }),
         "a share has samples");
  ensure(shape.shares[static_cast<std::size_t>(shape.replica)] == shape.micro_batch,
         "a replica's micro-batch is its share");
}

/// The length of an epoch, in an order of divisions that cannot overflow as the product could.
Size whole_steps(Size samples, const BatchShape& shape) {
  check(shape);
  const Size parts = samples / shape.accumulation_steps;
  const Size steps =
      shape.shares.empty() ? parts / shape.micro_batch / shape.replicas : parts / shape.together();
  if (steps < 1)
    throw usage_error(
        fmt::format("{} samples do not fill one global batch ({})", samples, text_of(shape)),
        fmt::format("choose a smaller --{}, or more samples (--samples for synthetic data)",
                    shape.shares.empty() ? "batch-size" : "shares"));
  return steps;
}

Size sum_of(std::span<const Size> shares) {
  return std::accumulate(shares.begin(), shares.end(), Size{0});
}

}  // namespace

BatchShape BatchShape::of_replica(Size other) const {
  BatchShape shape = *this;
  shape.replica = other;
  if (!shares.empty()) shape.micro_batch = shares.at(static_cast<std::size_t>(other));
  return shape;
}

Size BatchShape::together() const {
  return shares.empty() ? micro_batch * replicas : sum_of(shares);
}

Size BatchShape::before() const {
  return shares.empty() ? micro_batch * replica
                        : sum_of(std::span(shares).first(static_cast<std::size_t>(replica)));
}

Sampler::Sampler(Size samples, const BatchShape& shape, bool shuffle, std::uint64_t seed)
    : steps_per_epoch_(whole_steps(samples, shape)),
      shape_(shape),
      shuffle_(shuffle),
      seed_(seed),
      draws_per_word_(draws_per_word(std::max<Size>(samples, 1))) {
  order_.resize(static_cast<std::size_t>(samples));
  put_in_index_order();
}

std::span<const Size> Sampler::next() {
  const Size begin = step_ * shape_.global_batch();
  if (shuffle_) {
    // Only now: the indices that the last call returned lie in order_ too.
    if (order_epoch_ != epoch_) put_in_index_order();
    draw_until(begin + shape_.global_batch());
  }
  const Size first = begin + accumulation_ * shape_.together() + shape_.before();
  skip();
  return std::span<const Size>(order_).subspan(static_cast<std::size_t>(first),
                                               static_cast<std::size_t>(shape_.micro_batch));
}

void Sampler::skip() {
  if (++accumulation_ < shape_.accumulation_steps) return;
  accumulation_ = 0;
  if (++step_ < steps_per_epoch_) return;
  step_ = 0;
  ++epoch_;
}

Size Sampler::samples_left_out() const {
  return static_cast<Size>(order_.size()) - steps_per_epoch_ * shape_.global_batch();
}

void Sampler::put_in_index_order() {
  std::iota(order_.begin(), order_.end(), Size{0});
  drawn_ = 0;
  order_epoch_ = epoch_;
}

/// Fisher and Yates' shuffle, forwards and only as far as it is needed: every step pays for its own
/// samples, so that no step stands out at the start of an epoch. The draw of a position depends on
/// (seed, epoch, position, number of samples), never on the batch. Several bounded numbers come
/// from one word: the low half of word · bound is the next word (Brackett-Rozinsky, Lemire,
/// "Batched ranged random integer generation", 2024).
void Sampler::draw_until(Size end) {
  const CounterRandom random(seed_, static_cast<std::uint64_t>(RandomStream::shuffle));
  const auto samples = static_cast<Size>(order_.size());
  const Size per_draw = kWordsPerDraw * draws_per_word_;
  const Size draws_per_epoch = (samples + per_draw - 1) / per_draw;
  Size draw = epoch_ * draws_per_epoch + drawn_ / per_draw;
  while (drawn_ < end) {
    const std::array<std::uint32_t, 4> words = random.words(static_cast<std::uint64_t>(draw++));
    for (const std::size_t half : {std::size_t{0}, std::size_t{2}}) {
      std::uint64_t word = (static_cast<std::uint64_t>(words[half]) << 32U) | words[half + 1];
      const Size stop = std::min(drawn_ + draws_per_word_, samples);
      for (; drawn_ < stop; ++drawn_) {
        const Wide product = static_cast<Wide>(word) * static_cast<std::uint64_t>(samples - drawn_);
        const auto ahead = static_cast<std::size_t>(product >> 64U);
        word = static_cast<std::uint64_t>(product);
        const auto position = static_cast<std::size_t>(drawn_);
        std::swap(order_[position], order_[position + ahead]);
      }
    }
  }
}

}  // namespace ptbench
