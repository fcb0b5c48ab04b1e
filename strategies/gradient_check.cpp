#include "strategies/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "src/device/host_mirror.h"
#include "strategies/norms.h"
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
/// Fewer steps, as where time is short, do not show how much steps scatter: `most` is the bound.
constexpr std::size_t kFewestSteps = 3;
/// Standard errors of five steps beyond which a length is wrong: Student's t with 4 degrees of
/// freedom is beyond 4 in 1.6 % of cases, which only raises a doubt, beyond 12 in 0.03 %.
constexpr double kUnlikelyErrors = 12;
/// How many times more than is called right they may excuse of a tensor's length.
constexpr double kMostScatter = 3;
/// A loss below which the probabilities of the right classes are nearly 1.
constexpr double kCertain = 1e-3;
/// Nearly ‖−o − o‖ / ‖o‖.
constexpr double kOpposite = 1.9;
/// How many times as far as the whole gradient a tensor may turn.
constexpr double kOfOneTensor = 4;
constexpr const char* kLength = "length of the gradient";
constexpr const char* kDirection = "direction of the gradient";

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
  const auto gradients = read_back(oracle.device(), oracle.gradients());
  const std::span<const float> sum = gradients.values();
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
  const auto gradients_of_left = read_back(left.device(), left.gradients());
  const auto gradients_of_right = read_back(right.device(), right.gradients());
  const std::vector<TensorGroup> of_left = tensor_groups(left.plan());
  const std::vector<TensorGroup> of_right = tensor_groups(right.plan());
  std::size_t last = of_left.size();
  while (last > 0 && of_left[last - 1].parameters.empty()) --last;
  std::size_t next = 0;
  for (std::size_t i = 0; i < of_left.size(); ++i) {
    const auto g = export_arena(left.plan(), of_left[i], gradients_of_left.values());
    const auto o = export_arena(right.plan(), of_right[i], gradients_of_right.values());
    const auto terms =
        magnitudes_.empty() ? o : export_arena(right.plan(), of_right[i], std::span(magnitudes_));
    for (std::size_t tensor = 0; tensor < g.size(); ++tensor, ++next) {
      if (next == tensors_.size())
        tensors_.push_back({.name = of_left[i].parameters[tensor].name,
                            .elements = std::ssize(g[tensor]),
                            .is_last = i + 1 == last,
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
  all.error = steps.size() < kFewestSteps ? std::numeric_limits<double>::infinity()
                                          : standard_error(ratios);
  return all;
}

Difference GradientCheck::worst_distance() const {
  Difference worst;
  for (const Tensor& tensor : tensors_) {
    const Products& last = tensor.steps.back();
    if (last.difference == 0) continue;
    worst.keep_worse(std::sqrt(last.difference / last.terms) / bounds_.distance, tensor.name,
                     "gradient");
  }
  return worst;
}

Difference GradientCheck::worst_of_all_steps() const {
  const std::vector<Products> steps = whole_steps();
  const Pooled whole = pooled(steps);
  Difference worst = check_whole(whole);
  for (const Tensor& tensor : tensors_) {
    check_tensor(tensor, whole.sums, worst);
    worst.keep_worse(nearness_share(tensor, steps), tensor.name, "gradient");
  }
  return worst;
}

double GradientCheck::nearness_share(const Tensor& tensor,
                                     const std::vector<Products>& whole) const {
  const double bound = tensor.is_last ? bounds_.nearness : bounds_.nearness_before_corners;
  if (bound == 0 || tensor.steps.empty()) return 0;
  std::vector<double> shares;
  for (std::size_t step = 0; step < whole.size(); ++step) {
    const Products& sums = tensor.steps[step];
    const double length = std::sqrt(sums.oracle) + std::sqrt(whole[step].oracle) / 10;
    const double loss = losses_[step];
    const double near = length * std::max(kCertain / loss, steepness_at(loss));
    shares.push_back(share_of(std::sqrt(sums.difference), bound * near));
  }
  return tensor.is_last ? std::ranges::max(shares) : std::ranges::min(shares);
}

double GradientCheck::steepness_at(double loss) const {
  return bounds_.usual_loss > 0 ? std::max(1.0, loss / bounds_.usual_loss) : 1;
}

double GradientCheck::steepness() const {
  if (losses_.empty()) return 1;
  const double sum = std::accumulate(losses_.begin(), losses_.end(), 0.0);
  return steepness_at(sum / static_cast<double>(losses_.size()));
}

std::optional<std::string> GradientCheck::doubt() const {
  if (bounds_.distance > 0) return std::nullopt;
  const Pooled whole = pooled(whole_steps());
  if (whole.sums.oracle == 0) return std::nullopt;
  const double turned = std::sqrt(whole.sums.difference / whole.sums.oracle);
  if (turned > bounds_.turn)
    return fmt::format(
        "the loss is so large that rounding alone may turn gradients by {:.2g} of their length",
        turned);
  if (whole.excess_length() > bounds_.length)
    return fmt::format(
        "rounding may explain, from how much steps differ, that gradients have {:.3f} times the "
        "length of the oracle's",
        std::sqrt(whole.sums.tested / whole.sums.oracle));
  for (const Tensor& tensor : tensors_) {
    const Pooled all = pooled(tensor.steps);
    const double excess = all.excess_length();
    const double right = std::clamp(kErrors * all.error, bounds_.length_of_tensor, bounds_.most);
    if (excess <= std::max(noise_of_direction(tensor), right) || is_negligible(tensor, whole.sums))
      continue;
    return fmt::format(
        "rounding may explain, from how much steps differ, that the gradient of '{}' is {:.2g} of "
        "its length off",
        tensor.name, excess);
  }
  return std::nullopt;
}

Difference GradientCheck::check_whole(const Pooled& whole) const {
  Difference worst;
  const Products& sums = whole.sums;
  if (sums.tested == 0 && sums.oracle == 0) return worst;
  const double allowed = std::clamp(kUnlikelyErrors * whole.error, bounds_.length, bounds_.most);
  worst.keep_worse(whole.excess_length() / allowed, "the model", kLength);
  const double turn = std::max(bounds_.turn, std::min(bounds_.turn * steepness(), kOpposite));
  worst.keep_worse(std::sqrt(sums.difference / sums.oracle) / turn, "the model", kDirection);
  return worst;
}

void GradientCheck::check_tensor(const Tensor& tensor, const Products& whole,
                                 Difference& worst) const {
  if (is_negligible(tensor, whole)) return;
  const Pooled all = pooled(tensor.steps);
  const Products& sums = all.sums;
  const double of_direction = noise_of_direction(tensor);
  const double scatter = kUnlikelyErrors * all.error;
  const double allowed = std::max(
      of_direction, std::clamp(scatter, bounds_.length_of_tensor, kMostScatter * bounds_.most));
  worst.keep_worse(all.excess_length() / allowed, tensor.name, kLength);
  if (whole.both < kKnownDirection * whole.oracle) return;
  const double missing = 1 - sums.both / sums.oracle;
  worst.keep_worse(missing / (1 - kLeastSlope + of_direction), tensor.name, kDirection);
}

bool GradientCheck::is_negligible(const Tensor& tensor, const Products& whole) {
  const Products sums = pooled(tensor.steps).sums;
  const double rounding = kNegligible * kNegligible * whole.oracle;
  return sums.oracle <= rounding && sums.tested <= 4 * rounding;
}

double GradientCheck::noise_of_direction(const Tensor& tensor) const {
  const Products sums = pooled(tensor.steps).sums;
  const auto values = static_cast<double>(tensor.elements * std::ssize(tensor.steps));
  // What the tested side did cannot excuse all of it: one tensor may turn some times further than
  // the whole gradient.
  const double most = std::min(kOfOneTensor * bounds_.turn, kOpposite);
  const double turned = std::min(sums.difference / sums.oracle, most * most);
  return std::min(kErrors * std::sqrt(turned / values), 1 - kLeastSlope);
}

}  // namespace ptbench
