#include "strategies/buckets.h"

#include <algorithm>

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Size kLine = 16;  // floats

/// Whole cache lines that so many bytes hold, in floats; one at least.
Size limit_of(Bytes bytes) {
  return std::max(kLine, static_cast<Size>(bytes / sizeof(float)) / kLine * kLine);
}

void cut(Range slice, Size limit, std::vector<Range>& buckets) {
  const Size lines = (slice.size() + kLine - 1) / kLine;
  const Size parts = (slice.size() + limit - 1) / limit;
  for (Size part = 0; part < parts; ++part) {
    const Range own = part_of(lines, part, parts);
    buckets.push_back(
        {slice.begin + own.begin * kLine, std::min(slice.begin + own.end * kLine, slice.end)});
  }
}

std::vector<Range> join_and_cut(const std::vector<Range>& announced, Size first_limit, Size limit) {
  std::vector<Range> buckets;
  Range open;
  const auto close = [&] {
    if (!open.empty()) buckets.push_back(open);
    open.begin = open.end;
  };
  for (const Range& slice : announced) {
    const Size most = buckets.empty() ? std::min(first_limit, limit) : limit;
    if (open.size() + slice.size() > most) close();
    open.end = slice.end;
    if (slice.size() <= limit) continue;
    cut(slice, limit, buckets);
    open.begin = slice.end;
  }
  close();
  return buckets;
}

/// The same arena in buckets that divide into equal parts of whole lines.
std::vector<Range> with_equal_parts(const std::vector<Range>& buckets, Size parts) {
  if (parts == 1 || buckets.empty()) return buckets;
  const Size unit = parts * kLine;
  const Size elements = buckets.back().end;
  const Size rest = elements / kLine * kLine % unit;
  std::vector<Range> moved;
  Size begin = 0;
  const auto cut_at = [&](Size end) {
    if (end > begin) moved.push_back({begin, end});
    begin = std::max(begin, end);
  };
  cut_at(rest);
  for (const Range& bucket : buckets)
    if (bucket.end > rest) cut_at(rest + (bucket.end - rest) / unit * unit);
  if (moved.empty()) return {{0, elements}};
  moved.back().end = elements;
  return moved;
}

/// Buckets, and the limit that cut them.
struct Cut {
  std::vector<Range> buckets;
  Size limit = 0;
};

/// The limit is doubled until there are no more than kMostBuckets.
Cut cut_within(const std::vector<Range>& announced, Size first_limit, Size limit, Size parts) {
  const auto cut_by = [&](Size tried) {
    return with_equal_parts(join_and_cut(announced, first_limit, tried), parts);
  };
  Cut cut{.buckets = cut_by(limit), .limit = limit};
  while (static_cast<Size>(cut.buckets.size()) > kMostBuckets) {
    cut.limit *= 2;
    cut.buckets = cut_by(cut.limit);
  }
  return cut;
}

void check(Size elements, const std::vector<Range>& announced) {
  Size end = 0;
  for (const Range& slice : announced) {
    ensure(slice.begin == end && slice.begin % kLine == 0,
           "announced slices follow one another in whole cache lines");
    end = slice.end;
  }
  ensure(end == elements, "announced slices cover the arena");
}

}  // namespace

std::vector<Range> plan_buckets(Size elements, const std::vector<Range>& announced,
                                Bytes first_bucket_bytes, Bytes bucket_bytes, Size parts) {
  check(elements, announced);
  return cut_within(announced, limit_of(first_bucket_bytes), limit_of(bucket_bytes), parts).buckets;
}

Size bucket_parts(const Communicator& communicator) {
  return communicator.works_on_device() ? communicator.world_size() : 1;
}

Bytes bucket_limit(Size elements, const std::vector<Range>& announced, Bytes first_bucket_bytes,
                   Bytes bucket_bytes, Size parts) {
  check(elements, announced);
  const Size wanted = limit_of(bucket_bytes);
  const Size limit = cut_within(announced, limit_of(first_bucket_bytes), wanted, parts).limit;
  return limit == wanted ? bucket_bytes : float_bytes(limit);
}

std::vector<Range> slices_of_backward(const ProgramPlan& plan) {
  std::vector<Range> slices;
  for (std::size_t i = plan.steps().size(); i-- > 0;) {
    const ProgramPlan::Step& step = plan.steps()[i];
    if (step.trained && !step.arena.empty()) slices.push_back(step.arena);
  }
  return slices;
}

}  // namespace ptbench
