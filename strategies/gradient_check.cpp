#include "strategies/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "workloads/arena_tensors.h"

namespace ptbench {
namespace {

/// From here on a gradient's direction is known well enough to look for a tensor that has another.
constexpr double kKnownDirection = 0.9;
/// Slope that every tensor of such a gradient has at the least.
constexpr double kLeastSlope = 0.5;
/// Share of the whole gradient's length below which a tensor is rounding.
constexpr double kNegligible = 1e-3;
constexpr double kErrors = 4;
constexpr const char* kLength = "length of the gradient";
constexpr const char* kDirection = "direction of the gradient";

double finite_or_infinite(double share) {
  return std::isfinite(share) ? share : std::numeric_limits<double>::infinity();
}

void keep_worse(Difference& worst, double share, const std::string& tensor, const char* what) {
  const double known = finite_or_infinite(share);
  if (known > worst.share) worst = {.share = known, .tensor = tensor, .what = what};
}

/// Of the mean of so many ratios; 0 for one.
double standard_error(const std::vector<double>& ratios) {
  const auto n = static_cast<double>(ratios.size());
  if (n < 2) return 0;
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / n;
  double squares = 0;
  for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
  return std::sqrt(squares / (n - 1) / n);
}

}  // namespace

GradientCheck::Products& GradientCheck::Products::operator+=(const Products& other) {
  tested += other.tested;
  oracle += other.oracle;
  both += other.both;
  difference += other.difference;
  terms += other.terms;
  return *this;
}

void GradientCheck::add_term(const Program& oracle, Size number) {
  const std::span<const float> sum = oracle.gradients();
  sum_so_far_.resize(sum.size());
  magnitudes_.resize(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const float before = number == 0 ? 0 : sum_so_far_[i];
    magnitudes_[i] = (number == 0 ? 0 : magnitudes_[i]) + std::abs(sum[i] - before);
    sum_so_far_[i] = sum[i];
  }
}

void GradientCheck::add(Strategy& tested, double tested_scale, Strategy& oracle,
                        double oracle_scale) {
  const Program& left = tested.replica().program();
  const Program& right = oracle.replica().program();
  const std::vector<TensorGroup> of_left = tensor_groups(left.plan());
  const std::vector<TensorGroup> of_right = tensor_groups(right.plan());
  std::size_t next = 0;
  for (std::size_t i = 0; i < of_left.size(); ++i) {
    const auto g = export_arena(left.plan(), of_left[i], left.gradients());
    const auto o = export_arena(right.plan(), of_right[i], right.gradients());
    const auto terms =
        magnitudes_.empty() ? o : export_arena(right.plan(), of_right[i], std::span(magnitudes_));
    for (std::size_t tensor = 0; tensor < g.size(); ++tensor, ++next) {
      if (next == tensors_.size())
        tensors_.push_back({.name = of_left[i].parameters[tensor].name,
                            .elements = std::ssize(g[tensor]),
                            .steps = {}});
      Products sums;
      for (std::size_t j = 0; j < g[tensor].size(); ++j) {
        const double ours = double{g[tensor][j]} * tested_scale;
        const double theirs = double{o[tensor][j]} * oracle_scale;
        const double magnitude = double{terms[tensor][j]} * oracle_scale;
        sums += {.tested = ours * ours,
                 .oracle = theirs * theirs,
                 .both = ours * theirs,
                 .difference = (ours - theirs) * (ours - theirs),
                 .terms = magnitude * magnitude};
      }
      tensors_[next].steps.push_back(sums);
    }
  }
}

Difference GradientCheck::worst() const {
  return bounds_.distance > 0 ? worst_distance() : worst_of_all_steps();
}

std::vector<GradientCheck::Products> GradientCheck::whole_steps() const {
  std::vector<Products> steps(tensors_.empty() ? 0 : tensors_.front().steps.size());
  for (const Tensor& tensor : tensors_)
    for (std::size_t step = 0; step < steps.size(); ++step) steps[step] += tensor.steps[step];
  return steps;
}

double GradientCheck::slope() const {
  const Products all = pooled(whole_steps()).sums;
  return all.oracle == 0 && all.tested == 0 ? 1 : all.both / all.oracle;
}

double GradientCheck::Pooled::excess_length() const {
  return std::abs(std::sqrt(sums.tested / sums.oracle) - 1);
}

GradientCheck::Pooled GradientCheck::pooled(const std::vector<Products>& steps) {
  Pooled all;
  std::vector<double> ratios;
  for (const Products& step : steps) {
    all.sums += step;
    if (step.oracle > 0) ratios.push_back(std::sqrt(step.tested / step.oracle));
  }
  all.error = standard_error(ratios);
  return all;
}

Difference GradientCheck::worst_distance() const {
  Difference worst;
  for (const Tensor& tensor : tensors_) {
    const Products& last = tensor.steps.back();
    if (last.difference == 0) continue;
    keep_worse(worst, std::sqrt(last.difference / last.terms) / bounds_.distance, tensor.name,
               "gradient");
  }
  return worst;
}

Difference GradientCheck::worst_of_all_steps() const {
  const Pooled whole = pooled(whole_steps());
  Difference worst = check_whole(whole);
  for (const Tensor& tensor : tensors_) check_tensor(tensor, whole.sums, worst);
  return worst;
}

Difference GradientCheck::check_whole(const Pooled& whole) const {
  Difference worst;
  const Products& sums = whole.sums;
  if (sums.tested == 0 && sums.oracle == 0) return worst;
  const double allowed = std::clamp(kErrors * whole.error, bounds_.length, bounds_.most);
  keep_worse(worst, whole.excess_length() / allowed, "the model", kLength);
  keep_worse(worst, std::sqrt(sums.difference / sums.oracle) / bounds_.turn, "the model",
             kDirection);
  return worst;
}

void GradientCheck::check_tensor(const Tensor& tensor, const Products& whole,
                                 Difference& worst) const {
  const Pooled all = pooled(tensor.steps);
  const Products& sums = all.sums;
  const double rounding = kNegligible * kNegligible * whole.oracle;
  if (sums.oracle <= rounding && sums.tested <= 4 * rounding) return;
  const auto values = static_cast<double>(tensor.elements * std::ssize(tensor.steps));
  const double of_direction = kErrors * std::sqrt(sums.difference / sums.oracle / values);
  const double allowed = std::max(
      of_direction, std::clamp(kErrors * all.error, bounds_.length_of_tensor, bounds_.most));
  keep_worse(worst, all.excess_length() / allowed, tensor.name, kLength);
  if (whole.both < kKnownDirection * whole.oracle) return;
  const double missing = 1 - sums.both / sums.oracle;
  keep_worse(worst, missing / (1 - kLeastSlope + of_direction), tensor.name, kDirection);
}

}  // namespace ptbench
