#pragma once

#include <vector>

#include "src/base/size.h"
#include "src/comm/communicator.h"
#include "workloads/program.h"

namespace ptbench {

/// No plan has more buckets, so that all of them can be outstanding at once.
inline constexpr Size kMostBuckets = 128;

/// Cuts the gradient arena into buckets, slices that one collective each reduces: ascending, and
/// covering all `elements`. A pure function, so that ranks with one plan have the same buckets.
///
/// `announced` are the slices that backward announces, in its order: whole cache lines of 16 floats
/// that follow one another and cover the arena. Slices are joined as long as a bucket stays within
/// `bucket_bytes`, the first one within the smaller of both limits, so that communication begins
/// early. A slice that is larger than `bucket_bytes` is cut into nearly equal parts at cache lines.
/// Where that would give more than kMostBuckets, the limit is doubled until it does not.
///
/// With several `parts`, every bucket divides into so many of whole lines and equal length
/// (rank_part): its end moves down to where it does, so that the next bucket may exceed the limit
/// by less than a line a part. What is left over of the whole arena, less than a line a part, is a
/// bucket of its own, the first: its communication is the first to be hidden. The last one's parts
/// are unlike where the arena does not end with a line.
[[nodiscard]] std::vector<Range> plan_buckets(Size elements, const std::vector<Range>& announced,
                                              Bytes first_bucket_bytes, Bytes bucket_bytes,
                                              Size parts = 1);

/// Into how many equal parts buckets should divide: the ranks of a communicator that works on the
/// device, as libraries there have collectives of equal parts alone. 1: it does not matter.
[[nodiscard]] Size bucket_parts(const Communicator& communicator);

/// The limit that plan_buckets() keeps to: `bucket_bytes`, or what it becomes where kMostBuckets
/// would be exceeded. With that limit it cuts the same buckets.
[[nodiscard]] Bytes bucket_limit(Size elements, const std::vector<Range>& announced,
                                 Bytes first_bucket_bytes, Bytes bucket_bytes, Size parts = 1);

/// Slices of the gradient arena in the order in which backward announces them.
[[nodiscard]] std::vector<Range> slices_of_backward(const ProgramPlan& plan);

}  // namespace ptbench
