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
  return *this;
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
    for (std::size_t tensor = 0; tensor < g.size(); ++tensor, ++next) {
      if (next == tensors_.size())
        tensors_.push_back({.name = of_left[i].parameters[tensor].name,
                            .elements = std::ssize(g[tensor]),
                            .steps = {}});
      Products sums;
      for (std::size_t j = 0; j < g[tensor].size(); ++j) {
        const double ours = double{g[tensor][j]} * tested_scale;
        const double theirs = double{o[tensor][j]} * oracle_scale;
        sums += {.tested = ours * ours,
                 .oracle = theirs * theirs,
                 .both = ours * theirs,
                 .difference = (ours - theirs) * (ours - theirs)};
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
  Products all;
  for (const Products& step : whole_steps()) all += step;
  return all.oracle == 0 && all.tested == 0 ? 1 : all.both / all.oracle;
}

/// Gradients that cancel to nothing but rounding, as of a bias before batch norm, are as good as
/// zero beside the whole.
Difference GradientCheck::worst_distance() const {
  constexpr double kOfWhole = 1e-7;
  double whole = 0;
  for (const Tensor& tensor : tensors_) whole += tensor.steps.back().oracle;
  Difference worst;
  for (const Tensor& tensor : tensors_) {
    const Products& last = tensor.steps.back();
    if (last.difference == 0) continue;
    const double allowed = bounds_.distance * std::sqrt(last.oracle) + kOfWhole * std::sqrt(whole);
    keep_worse(worst, std::sqrt(last.difference) / allowed, tensor.name, "gradient");
  }
  return worst;
}

Difference GradientCheck::worst_of_all_steps() const {
  const std::vector<Products> steps = whole_steps();
  Difference worst = check_whole(steps);
  Products whole;
  for (const Products& step : steps) whole += step;
  for (const Tensor& tensor : tensors_) check_tensor(tensor, whole, worst);
  return worst;
}

Difference GradientCheck::check_whole(const std::vector<Products>& steps) const {
  Difference worst;
  Products whole;
  std::vector<double> ratios;
  for (const Products& step : steps) {
    whole += step;
    if (step.oracle > 0) ratios.push_back(std::sqrt(step.tested / step.oracle));
  }
  if (whole.tested == 0 && whole.oracle == 0) return worst;
  const double allowed = std::clamp(kErrors * standard_error(ratios), bounds_.length, bounds_.most);
  keep_worse(worst, std::abs(std::sqrt(whole.tested / whole.oracle) - 1) / allowed, "the model",
             "length of the gradient");
  keep_worse(worst, std::sqrt(whole.difference / whole.oracle) / bounds_.turn, "the model",
             "direction of the gradient");
  return worst;
}

void GradientCheck::check_tensor(const Tensor& tensor, const Products& whole,
                                 Difference& worst) const {
  Products all;
  std::vector<double> ratios;
  for (const Products& step : tensor.steps) {
    all += step;
    if (step.oracle > 0) ratios.push_back(std::sqrt(step.tested / step.oracle));
  }
  const double rounding = kNegligible * kNegligible * whole.oracle;
  if (all.oracle <= rounding && all.tested <= 4 * rounding) return;
  const auto values = static_cast<double>(tensor.elements * std::ssize(tensor.steps));
  const double of_direction = kErrors * std::sqrt(all.difference / all.oracle / values);
  const double allowed = std::max(of_direction, std::clamp(kErrors * standard_error(ratios),
                                                           bounds_.length_of_tensor, bounds_.most));
  keep_worse(worst, std::abs(std::sqrt(all.tested / all.oracle) - 1) / allowed, tensor.name,
             "length of the gradient");
  if (whole.both < kKnownDirection * whole.oracle) return;
  const double missing = 1 - all.both / all.oracle;
  keep_worse(worst, missing / (1 - kLeastSlope + of_direction), tensor.name,
             "direction of the gradient");
}

}  // namespace ptbench
