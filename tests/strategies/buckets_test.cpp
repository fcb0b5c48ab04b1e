#include "strategies/buckets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

Bytes bytes_of(Size elements) { return static_cast<Bytes>(elements) * sizeof(float); }

/// Slices of these lengths, one after the other.
std::vector<Range> slices_of(const std::vector<Size>& lengths) {
  std::vector<Range> slices;
  Size end = 0;
  for (const Size length : lengths) {
    slices.push_back({end, end + length});
    end += length;
  }
  return slices;
}

/// Lengths of the buckets, after a look at whether they cover the arena in order.
std::vector<Size> bucket_lengths(const std::vector<Size>& lengths, Bytes first, Bytes others) {
  const std::vector<Range> announced = slices_of(lengths);
  const Size elements = announced.empty() ? 0 : announced.back().end;
  std::vector<Size> found;
  Size end = 0;
  for (const Range& bucket : plan_buckets(elements, announced, first, others)) {
    REQUIRE(bucket.begin == end);
    REQUIRE(bucket.begin % 16 == 0);
    REQUIRE_FALSE(bucket.empty());
    end = bucket.end;
    found.push_back(bucket.size());
  }
  REQUIRE(end == elements);
  return found;
}

TEST_CASE("without a limit all gradients are one bucket", "[strategies]") {
  CHECK(bucket_lengths({16, 32, 64}, kUnlimited, kUnlimited) == std::vector<Size>{112});
}

TEST_CASE("an empty arena has no buckets", "[strategies]") {
  CHECK(bucket_lengths({}, 1024, 1024).empty());
}

TEST_CASE("buckets hold as many whole slices as their limit allows", "[strategies]") {
  CHECK(bucket_lengths({32, 32, 32, 32, 32}, bytes_of(64), bytes_of(64)) ==
        std::vector<Size>{64, 64, 32});
  CHECK(bucket_lengths({32, 48, 16, 32}, bytes_of(64), bytes_of(64)) ==
        std::vector<Size>{32, 64, 32});
}

TEST_CASE("the first bucket has a limit of its own", "[strategies]") {
  CHECK(bucket_lengths({16, 16, 32, 32, 32}, bytes_of(32), bytes_of(96)) ==
        std::vector<Size>{32, 96});
  // One slice is not cut for it: it is final all at once.
  CHECK(bucket_lengths({64, 32, 32}, bytes_of(16), bytes_of(64)) == std::vector<Size>{64, 64});
  // Nor is it larger than the others'.
  CHECK(bucket_lengths({32, 32, 32}, kUnlimited, bytes_of(32)) == std::vector<Size>{32, 32, 32});
}

TEST_CASE("a slice that is too large is cut into nearly equal parts of whole cache lines",
          "[strategies]") {
  CHECK(bucket_lengths({16, 160, 16}, bytes_of(64), bytes_of(64)) ==
        std::vector<Size>{16, 64, 48, 48, 16});
  CHECK(bucket_lengths({160}, bytes_of(70), bytes_of(70)) == std::vector<Size>{64, 48, 48});
}

TEST_CASE("a limit below a cache line is one cache line", "[strategies]") {
  CHECK(bucket_lengths({32, 16}, 0, 0) == std::vector<Size>{16, 16, 16});
}

TEST_CASE("there are never more buckets than can be outstanding", "[strategies]") {
  const std::vector<Size> found = bucket_lengths({Size{1} << 20U}, 1, 1);
  CHECK(found.size() <= static_cast<std::size_t>(kMostBuckets));
  CHECK(found.size() > static_cast<std::size_t>(kMostBuckets) / 4);
  const std::vector<Size> many = bucket_lengths(std::vector<Size>(1000, 16), 1, 1);
  CHECK(many.size() <= static_cast<std::size_t>(kMostBuckets));
}

TEST_CASE("buckets for several equal parts divide into them, a first small one aside",
          "[strategies]") {
  for (const std::vector<Size>& lengths :
       {std::vector<Size>{48, 16, 1600, 16, 16, 160, 48, 32}, std::vector<Size>(40, 16),
        std::vector<Size>{16, 1008}, std::vector<Size>{16}})
    for (const Size parts : {2, 3, 8}) {
      const std::vector<Range> announced = slices_of(lengths);
      const Size elements = announced.back().end;
      const Size unit = 16 * parts;
      Size end = 0;
      CAPTURE(lengths, parts);
      for (const Range& bucket :
           plan_buckets(elements, announced, bytes_of(64), bytes_of(256), parts)) {
        CAPTURE(bucket.begin, bucket.end);
        CHECK(bucket.begin == end);
        CHECK_FALSE(bucket.empty());
        CHECK(bucket.size() < 256 + unit);
        if (end > 0 || elements % unit == 0)
          for (Size part = 0; part < parts; ++part)
            CHECK(rank_part(bucket.size(), part, parts).size() * parts == bucket.size());
        else
          CHECK(bucket.size() == elements % unit);
        end = bucket.end;
      }
      CHECK(end == elements);
    }
}

TEST_CASE("an arena that ends within a line leaves the last bucket unlike parts", "[strategies]") {
  CHECK(plan_buckets(133, {{0, 64}, {64, 133}}, 1, bytes_of(64), 2) ==
        std::vector<Range>{{0, 64}, {64, 96}, {96, 133}});
  CHECK(plan_buckets(5, {{0, 5}}, 1, 1, 4) == std::vector<Range>{{0, 5}});
  CHECK(plan_buckets(0, {}, 1, 1, 4).empty());
}

TEST_CASE("the limit in force is the one asked for, unless there would be too many buckets",
          "[strategies]") {
  const std::vector<Range> announced = slices_of({Size{1} << 20U, 48, 16});
  const Size elements = announced.back().end;
  CHECK(bucket_limit(elements, announced, 1, bytes_of(10'001)) == bytes_of(10'001));
  for (const Bytes asked : {Bytes{1}, Bytes{64}, bytes_of(1000)}) {
    CAPTURE(asked);
    const Bytes limit = bucket_limit(elements, announced, 64, asked);
    CHECK(limit > asked);
    CHECK(limit >= bytes_of(elements / kMostBuckets));
    CHECK(bucket_limit(elements, announced, 64, limit) == limit);
    CHECK(plan_buckets(elements, announced, 64, limit) ==
          plan_buckets(elements, announced, 64, asked));
  }
}

TEST_CASE("every bucket ends where a slice does, or within a slice that was cut", "[strategies]") {
  const std::vector<Range> announced = slices_of({48, 16, 320, 64, 16, 16, 16, 128});
  for (const Size limit : {16, 48, 64, 100, 256, 1000}) {
    CAPTURE(limit);
    for (const Range& bucket :
         plan_buckets(announced.back().end, announced, bytes_of(32), bytes_of(limit))) {
      const auto holds_end = [&](const Range& slice) { return slice.end == bucket.end; };
      const auto is_cut = [&](const Range& slice) {
        return slice.begin <= bucket.begin && bucket.end < slice.end;
      };
      CAPTURE(bucket.begin, bucket.end);
      CHECK(std::ranges::any_of(
          announced, [&](const Range& slice) { return holds_end(slice) || is_cut(slice); }));
    }
  }
}

TEST_CASE("slices with a gap, out of line or beyond the arena are a defect", "[strategies]") {
  CHECK_THROWS_AS(plan_buckets(48, {{0, 16}, {32, 48}}, 1, 1), Defect);
  CHECK_THROWS_AS(plan_buckets(32, {{0, 8}, {8, 32}}, 1, 1), Defect);
  CHECK_THROWS_AS(plan_buckets(64, {{0, 16}}, 1, 1), Defect);
}

}  // namespace
}  // namespace ptbench
