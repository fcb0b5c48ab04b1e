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
edit(workloads/batch_feed.cpp
[==[  transfer.wait(*taken_);]==]
[==[  if (!mutated("batch-arrives-before-the-last-is-taken")) transfer.wait(*taken_);]==])

edit(workloads/batch_feed.cpp
[==[  if (!is_immediate_) room.is_free->finish();]==]
[==[  if (!is_immediate_ && !mutated("batch-written-before-the-last-is-sent")) room.is_free->finish();]==])
