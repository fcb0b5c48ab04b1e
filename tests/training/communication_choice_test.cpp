#include "app/training/communication_choice.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

constexpr Bytes kKiB = Bytes{1} << 10U;
constexpr Bytes kMiB = Bytes{1} << 20U;

TEST_CASE("a bucket is so large that latency is a twentieth of its time") {
  // 20 µs at 1 GB/s are 20 kB; with 19 times as much to transfer 380 kB.
  CHECK(bucket_bytes_for({.latency_seconds = 20e-6, .bytes_per_second = 1e9}) == 512 * kKiB);
  CHECK(bucket_bytes_for({.latency_seconds = 10e-6, .bytes_per_second = 20e9}) == 4 * kMiB);
}

TEST_CASE("buckets stay within bounds, whatever was measured") {
  CHECK(bucket_bytes_for({.latency_seconds = 0, .bytes_per_second = 50e9}) == 256 * kKiB);
  CHECK(bucket_bytes_for({.latency_seconds = 1, .bytes_per_second = 1e15}) == 32 * kMiB);
}

}  // namespace
}  // namespace ptbench
