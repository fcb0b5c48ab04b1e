#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// How the global batch of an optimizer step is cut, and which of its parts are one replica's: the
/// one description of it.
struct BatchShape {
  Size micro_batch = 1;         ///< samples in this replica's micro-batch
  Size accumulation_steps = 1;  ///< micro-batches of one replica in an optimizer step
  Size replicas = 1;
  Size replica = 0;  ///< whose micro-batches to produce
  /// Samples in each replica's micro-batch, where these are not alike; empty: micro_batch in all.
  std::vector<Size> shares;

  /// The same as seen by another replica.
  [[nodiscard]] BatchShape of_replica(Size other) const;
  /// Samples in the micro-batches that all replicas run at a time.
  [[nodiscard]] Size together() const;
  /// Samples of those that come before this replica's.
  [[nodiscard]] Size before() const;
  [[nodiscard]] Size global_batch() const { return together() * accumulation_steps; }

  friend bool operator==(const BatchShape&, const BatchShape&) = default;
};

/// Which samples come when: a function of (seed, epoch, position), the same for every world size.
/// Each epoch visits every sample once, in index order or shuffled; samples after the last full
/// global batch of an epoch are left out. Micro-batch k of replica r is the contiguous slice
/// k·replicas + r of the global batch; with unequal shares, the slice of the k-th part of
/// `together` samples that begins after the shares of the replicas before r.
class Sampler {
 public:
  /// Throws a usage error if `samples` holds not even one global batch.
  Sampler(Size samples, const BatchShape& shape, bool shuffle, std::uint64_t seed);

  /// Indices of the next micro-batch of this replica; valid until the next call. Allocates nothing.
  [[nodiscard]] std::span<const Size> next();
  /// Goes past that micro-batch without working out what is in it.
  void skip();

  /// Samples in each of them.
  [[nodiscard]] Size micro_batch() const { return shape_.micro_batch; }
  /// Epoch of the micro-batch that `next` will return, from 0.
  [[nodiscard]] Size epoch() const { return epoch_; }
  [[nodiscard]] Size steps_per_epoch() const { return steps_per_epoch_; }
  /// In every epoch.
  [[nodiscard]] Size samples_left_out() const;

 private:
  void put_in_index_order();
  void draw_until(Size end);

  Size steps_per_epoch_;  ///< first: its maker checks the shape, whose products fit after that
  BatchShape shape_;
  bool shuffle_;
  std::uint64_t seed_;
  std::vector<Size> order_;  ///< of order_epoch_: positions below drawn_ are final
  Size draws_per_word_;      ///< positions drawn from one 64-bit word
  Size drawn_ = 0;
  Size order_epoch_ = 0;
  Size epoch_ = 0;
  Size step_ = 0;          ///< within the epoch
  Size accumulation_ = 0;  ///< within the step
};

}  // namespace ptbench
