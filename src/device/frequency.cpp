#include "src/device/frequency.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace ptbench {
namespace {

constexpr int kAdditionsPerBlock = 64;
constexpr int kBlocks = 1000;  // 20 µs at 3.2 GHz, beside which reading the clock is nothing
constexpr int kAttempts = 5;
constexpr double kAgreement = 0.99;  // of the best two chains of a glance

/// kAdditionsPerBlock additions, each of which needs the one before. Of two registers: some cores
/// add constants while they rename registers, in no time at all.
void add_chain(std::uint64_t& sum, std::uint64_t term) {
#if defined(__x86_64__)
  asm volatile(".rept %c2\n\tadd %1, %0\n\t.endr"
               : "+r"(sum)
               : "r"(term), "i"(kAdditionsPerBlock)
               : "cc");
#elif defined(__aarch64__)
  asm volatile(".rept %c2\n\tadd %0, %0, %1\n\t.endr"
               : "+r"(sum)
               : "r"(term), "i"(kAdditionsPerBlock));
#else
#pragma GCC unroll 64
  for (int i = 0; i < kAdditionsPerBlock; ++i) {
    sum += term;
    asm volatile("" : "+r"(sum));
  }
#endif
}

double additions_per_second() {
  std::uint64_t sum = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int block = 0; block < kBlocks; ++block) add_chain(sum, 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return kAdditionsPerBlock * kBlocks / took.count();
}

}  // namespace

double effective_frequency() {
  double best = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    best = std::max(best, additions_per_second());
  return best;
}

std::optional<double> glanced_frequency() {
  double best = 0;
  double second = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double one = additions_per_second();
    second = std::max(second, std::min(best, one));
    best = std::max(best, one);
    if (second >= kAgreement * best) return best;
  }
  return std::nullopt;
}

void ClockGlances::glance() {
  const std::optional<double> hertz = glanced_frequency();
  if (!hertz) return;
  sum_ += *hertz;
  ++count_;
}

std::optional<double> ClockGlances::take_mean() {
  const double sum = std::exchange(sum_, 0);
  const double count = std::exchange(count_, 0);
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace ptbench
