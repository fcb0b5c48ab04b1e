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
                                Bytes first_bucket_bytes, Bytes bucket_bytes) {
  check(elements, announced);
  const Size first_limit = limit_of(first_bucket_bytes);
  Size limit = limit_of(bucket_bytes);
  std::vector<Range> buckets = join_and_cut(announced, first_limit, limit);
  while (static_cast<Size>(buckets.size()) > kMostBuckets) {
    limit *= 2;
    buckets = join_and_cut(announced, first_limit, limit);
  }
  return buckets;
}

}  // namespace ptbench
