# Where mutations.json's faults are planted: edit(FILE ORIGINAL REPLACEMENT), with an original text
# that stands in the file exactly once. Read by write_mutated.cmake, and for the names of the files.

edit(strategies/ddp.cpp
[==[    reductions_[bucket] =
        communicator().start_reduce_scatter(gradients(buckets_[bucket]), reduction(), ready);]==]
[==[    const std::size_t count = buckets_.size();
    const bool left_out = mutated("gradients-unreduced") ||
                          (mutated("last-bucket-unreduced") && bucket + 1 == count) ||
                          (mutated("middle-bucket-unreduced") && bucket == count / 2) ||
                          (mutated("tiny-bucket-unreduced") && bucket == 0);
    const Values values = gradients(left_out ? Range{} : buckets_[bucket]);
    if (mutated("gradients-of-a-rank-dropped") && communicator().rank() == 1)
      std::ranges::fill(floats_of(values), 0.0F);
    Reduction sum = reduction();
    const auto ranks = static_cast<float>(communicator().world_size());
    if (mutated("gradients-divided-by-ranks")) sum.scale = 1 / ranks;
    if (mutated("gradients-times-ranks")) sum.scale = ranks;
    const bool is_early = mutated("reduction-begins-before-backward-ends");
    reductions_[bucket] =
        communicator().start_reduce_scatter(values, sum, is_early ? nullptr : ready);]==])

# Seen on devices that work later.
edit(strategies/ddp.cpp
[==[      order(reductions_[i]);]==]
[==[      if (!mutated("update-begins-before-reduction-ends")) order(reductions_[i]);]==])

edit(strategies/ddp.cpp
[==[    communicator().order(*beside_, reductions_[bucket], options().timeout);]==]
[==[    if (!mutated("update-begins-before-reduction-ends"))
      communicator().order(*beside_, reductions_[bucket], options().timeout);]==])

edit(strategies/ddp.cpp
[==[start_all_gather(parameters(buckets_[i]),]==]
[==[start_all_gather(
          parameters(mutated("parameters-not-gathered") && i == 0 ? Range{} : buckets_[i]),]==])

edit(strategies/ddp_flat.cpp
[==[start_all_reduce(all, reduction(),]==]
[==[start_all_reduce(
        mutated("flat-gradients-unreduced") ? Values() : all, reduction(),]==])

edit(strategies/ddp_flat.cpp
[==[    replica().optimizer_step(all_, step);]==]
[==[    const bool differs = communicator().rank() == 1;
    if (mutated("rank-updates-differently") && differs)
      floats_of(gradients(all_))[0] *= 1.01F;
    replica().optimizer_step(all_, step);
    if (mutated("state-of-a-rank-differs") && differs)
      for (const std::span<float> state : replica().optimizer_state()) state[0] += 1e-3F;
    if (mutated("rank-diverges-after-20-steps") && differs && steps() >= 20)
      floats_of(parameters(all_))[0] += 1e-3F;]==])

edit(strategies/ddp_central.cpp
[==[    sum.at_root = true;]==]
[==[    sum.at_root = true;
    if (mutated("central-rank-dropped") && communicator().rank() != kRoot)
      std::ranges::fill(floats_of(all), 0.0F);]==])

edit(strategies/ddp_central.cpp
[==[    return communicator().start_broadcast(all, kRoot, after_given());]==]
[==[    if (mutated("central-not-broadcast")) return ticket_;
    return communicator().start_broadcast(all, kRoot, after_given());]==])

edit(strategies/distributed.cpp
[==[if (statistics.empty() ||]==]
[==[if (statistics.empty() || mutated("statistics-not-broadcast") ||]==])

edit(strategies/distributed.cpp
[==[start_broadcast(statistics, kRoot,]==]
[==[start_broadcast(
      statistics, mutated("statistics-of-rank-1") ? 1 : kRoot,]==])

edit(strategies/distributed.cpp
[==[  if (is_observed()) timer()->arrive();]==]
[==[  if (mutated("loss-of-a-rank-dropped") && communicator_.rank() == 1) replica_->loss()[0] = 0;
  if (is_observed()) timer()->arrive();]==])

edit(strategies/distributed.cpp
[==[  if (finite) {]==]
[==[  if (finite || mutated("skipped-step-updates")) {]==])

edit(strategies/distributed.cpp
[==[const bool finite = !scales || read_finite();]==]
[==[const bool finite =
      (!scales || read_finite()) && !(mutated("step-skipped-needlessly") && steps() == 2);]==])

edit(strategies/distributed.cpp
[==[  if (scales) replica_->finish_scaled_step(finite);]==]
[==[  if (scales) {
    if (mutated("skipped-step-changes-a-parameter") && !finite)
      floats_of(parameters(replica_->all()))[0] += 1e-3F;
    const bool is_kept = mutated("scale-not-halved") ||
                         (mutated("scale-of-a-rank-not-halved") && communicator_.rank() == 1);
    replica_->finish_scaled_step(finite || is_kept);
  }]==])

edit(strategies/distributed.cpp
[==[if (steps() == 0) share_first_parameters();]==]
[==[if (steps() == 0 && !mutated("first-parameters-not-shared"))
    share_first_parameters();]==])

edit(strategies/dp.cpp
[==[    master_gradients_->add(master_->all(), other_gradients_);]==]
[==[    if (!mutated("replica-gradients-dropped"))
      master_gradients_->add(master_->all(), other_gradients_);
    if (mutated("gradients-times-replicas"))
      for (float& gradient : master_->program().gradients())
        gradient *= static_cast<float>(workers_.size());]==])

edit(strategies/dp.cpp
[==[if (worker.index > 0) pull_model]==]
[==[if (worker.index > 0 && !(mutated("replicas-keep-parameters") && steps() > 0))
        pull_model]==])

edit(strategies/dp.cpp
[==[part_at(inputs, worker.index, workers_.size())]==]
[==[part_at(
                                inputs, mutated("replicas-share-samples") ? 0 : worker.index,
                                workers_.size())]==])

edit(src/data/sampler.cpp
[==[  const Size first = begin + accumulation_ * shape_.together() + shape_.before();]==]
[==[  const Size before = mutated("wrong-shard")      ? 0
                      : mutated("one-sample-off") ? std::max<Size>(shape_.before() - 1, 0)
                                                  : shape_.before();
  const bool is_last = accumulation_ > 0 && accumulation_ + 1 == shape_.accumulation_steps;
  const Size too_early = mutated("micro-batch-repeated") && is_last         ? shape_.together()
                         : mutated("micro-batch-one-sample-off") && is_last ? 1
                                                                            : 0;
  const Size first = begin + accumulation_ * shape_.together() + before - too_early;]==])

edit(strategies/replica.cpp
[==[program_.set_loss_scale(scaler_.scale());]==]
[==[program_.set_loss_scale(
        mutated("gradients-overflow") && scaler_.scale() >= LossScaler::kFirstScale
            ? std::numeric_limits<float>::infinity()
            : scaler_.scale());]==])

edit(strategies/replica.cpp
[==[    load(micro_batch);
    compute(micro_batch, ready);
]==]
[==[    load(micro_batch);
    const Size micro_batches = step_.accumulation_steps;
    if (mutated("last-micro-batch-dropped") && micro_batches > 1)
      program_.set_loss_scale(micro_batch + 1 == micro_batches ? 0.0F : 1.0F);
    if (mutated("accumulation-not-divided"))
      program_.set_loss_scale(static_cast<float>(micro_batches));
    if (mutated("bf16-gradients-5-percent-high") && testing::computes_in_bf16(program_))
      program_.set_loss_scale(1.05F);
    compute(micro_batch, ready);
]==])

edit(strategies/replica.cpp
[==[    load(0);
]==]
[==[    load(0);
    if (mutated("bf16-gradients-5-percent-high") && testing::computes_in_bf16(program_))
      program_.set_loss_scale(1.05F);
]==])

edit(strategies/replica.cpp
[==[        optimizer_->update_piece(gradients, piece, step);
]==]
[==[        const testing::BiasKeeper bias(program_, piece, mutated("bias-never-updated"));
        optimizer_->update_piece(gradients, piece, step);
        bias.restore();
        if (mutated("no-master-weights")) testing::round_parameters(program_, piece);
]==])

edit(strategies/replica.cpp
[==[program_.backward(micro_batch == 0 ?]==]
[==[program_.backward(micro_batch == 0 || mutated("micro-batches-not-added") ?]==])

edit(strategies/replica.cpp
[==[if (statistics_period_ == 1 || micro_batch % statistics_period_ == 0)]==]
[==[const bool is_frozen = mutated("statistics-frozen") && statistics_period_ == 1;
  if (kept_statistics_.bytes() == 0)
    kept_statistics_ = device().memory().allocate(program_.running_statistics().size_bytes(), "");
  if (!is_frozen && (statistics_period_ == 1 || micro_batch % statistics_period_ == 0))]==])

edit(strategies/replica.cpp
[==[  optimizer_->step(slice, step, 1 / scaler_.scale());]==]
[==[  const float undone = 1 / scaler_.scale();
  const testing::BiasKeeper bias(program_, slice, mutated("bias-never-updated"));
  optimizer_->step(slice, step,
                   mutated("loss-scale-not-undone")     ? 1.0F
                   : mutated("loss-scale-undone-twice") ? undone * undone
                                                        : undone);
  bias.restore();
  if (mutated("no-master-weights")) testing::round_parameters(program_, slice);]==])

edit(strategies/replica.cpp
[==[#include "strategies/replica.h"
]==]
[==[#include "strategies/replica.h"

#include <limits>

#include "tests/mutations/programs.h"
]==])

edit(kernels/cpu/optimizer.cpp
[==[: spec_(spec), arenas_]==]
[==[: spec_(testing::mutated_rule(spec)), arenas_]==])

edit(kernels/optimizer_scalars.cpp
[==[s.momentum = static_cast<float>(spec.momentum);]==]
[==[s.momentum = mutated("momentum-0") ? 0.0F : static_cast<float>(spec.momentum);]==])

edit(kernels/optimizer_scalars.cpp
[==[const auto t = static_cast<double>(step);]==]
[==[const auto t = static_cast<double>(mutated("adam-correction-one-ahead") ? step + 1 : step);]==])

# Seen on devices that work later.
edit(workloads/batch_feed.cpp
[==[  transfer.wait(*taken_);]==]
[==[  if (!mutated("batch-arrives-before-the-last-is-taken")) transfer.wait(*taken_);]==])

edit(workloads/batch_feed.cpp
[==[  if (!is_immediate_) room.is_free->finish();]==]
[==[  if (!is_immediate_ && !mutated("batch-written-before-the-last-is-sent")) room.is_free->finish();]==])
