// What every backend's optimizers promise: PyTorch's arithmetic, on any slice, whoever owns it.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/reference/reference_backend.h"
#include "src/base/random.h"
#include "src/base/slice.h"
#include "tests/support/backends.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/operator_harness.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

constexpr Size kParameters = 1013;  // prime: no slice or share is a whole number of vectors
constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

/// Arenas of one optimizer with canaries round each.
class Arenas {
 public:
  explicit Arenas(const OptimizerSpec& spec) {
    for (int arena = 0; arena < 2 + spec.state_arenas(); ++arena)
      buffers_.emplace_back(static_cast<std::size_t>(kParameters));
    const CounterRandom random(7, 1);
    for (std::size_t i = 0; i < parameters().size(); ++i)
      parameters()[i] = is_padding(i) ? 0 : random.uniform(i, -1, 1);
  }

  /// Gradients of step `step`. Never near zero except exactly: where a gradient cancels against its
  /// decay or its history, rounding errors would drown what is tested.
  void draw_gradients(Size step) const {
    const CounterRandom random(7, static_cast<std::uint64_t>(step) + 1);
    for (std::size_t i = 0; i < parameters().size(); ++i) {
      const float drawn = random.uniform(i, -1, 1);
      gradients()[i] = is_padding(i) ? 0 : drawn + (drawn < 0 ? -0.1F : 0.1F);
    }
  }

  [[nodiscard]] OptimizerArenas view() const {
    OptimizerArenas arenas{parameters(), gradients(), {}};
    for (std::size_t i = 2; i < buffers_.size(); ++i) arenas.state.push_back(buffers_[i].span());
    return arenas;
  }

  void copy_from(const Arenas& other) {
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      std::ranges::copy(other.buffers_[i].span(), buffers_[i].span().begin());
  }

  [[nodiscard]] bool intact() const {
    return std::ranges::all_of(buffers_, &GuardedBuffer<float>::intact);
  }
  [[nodiscard]] bool same_bits_outside(const Arenas& other, Range slice) const {
    const auto begin = static_cast<std::size_t>(slice.begin);
    const auto end = static_cast<std::size_t>(slice.end);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const std::span<const float> a = buffers_[i].span();
      const std::span<const float> b = other.buffers_[i].span();
      if (!same_bits(a.first(begin), b.first(begin))) return false;
      if (!same_bits(a.subspan(end), b.subspan(end))) return false;
    }
    return true;
  }

  [[nodiscard]] std::span<float> parameters() const { return buffers_[0].span(); }
  [[nodiscard]] std::span<float> gradients() const { return buffers_[1].span(); }
  [[nodiscard]] std::span<float> state(std::size_t index) const {
    return buffers_[2 + index].span();
  }
  [[nodiscard]] static bool is_padding(std::size_t element) { return element % 97 == 5; }

 private:
  std::vector<GuardedBuffer<float>> buffers_;
};

std::vector<OptimizerSpec> optimizer_specs() {
  const auto sgd = [](double momentum, double decay) {
    return OptimizerSpec{.lr = 0.1, .momentum = momentum, .weight_decay = decay};
  };
  const auto adam = [](OptimizerKind kind, double decay) {
    return OptimizerSpec{.kind = kind, .lr = 0.01, .weight_decay = decay};
  };
  return {sgd(0, 0),
          sgd(0, 0.05),
          sgd(0.9, 0),
          sgd(0.9, 5e-4),
          adam(OptimizerKind::adam, 0),
          adam(OptimizerKind::adam, 0.05),
          adam(OptimizerKind::adamw, 0),
          adam(OptimizerKind::adamw, 0.05)};
}

std::string text_of(const OptimizerSpec& spec) {
  return name_of(spec.kind) + " momentum " + std::to_string(spec.momentum) + " decay " +
         std::to_string(spec.weight_decay);
}

/// The arena among the members: odd cuts, each member more than once, one range of a single
/// element.
std::vector<OwnedRange> owned_ranges(int threads) {
  constexpr std::array<Size, 7> cuts{0, 1, 16, 129, 500, 900, kParameters};
  std::vector<OwnedRange> owned;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    owned.push_back({{cuts[i], cuts[i + 1]}, static_cast<int>(i) % threads});
  return owned;
}

constexpr std::array<Range, 6> kSlices{
    {{0, 0}, {0, 7}, {7, 7}, {7, 640}, {640, 641}, {641, kParameters}}};

/// How far rounding may take one element in one step from the arenas `before` it: a few ε of each
/// term that is added, carried through the division by Adam's root.
struct Tolerance {
  double parameter = 0;
  std::array<double, 2> state{};
};

Tolerance tolerance_of(const OptimizerSpec& spec, const Arenas& before, std::size_t i, Size step) {
  const double few = 4 * kEpsilon;
  const double parameter = std::abs(before.parameters()[i]);
  const bool coupled = spec.kind != OptimizerKind::adamw;
  const double gradient =
      std::abs(before.gradients()[i]) + (coupled ? spec.weight_decay * parameter : 0);
  if (spec.kind == OptimizerKind::sgd) {
    const double kept = spec.momentum != 0 ? spec.momentum * std::abs(before.state(0)[i]) : 0;
    return {few * (parameter + spec.lr * (gradient + kept)), {few * (gradient + kept), 0}};
  }
  const double first = spec.beta1 * std::abs(before.state(0)[i]) + (1 - spec.beta1) * gradient;
  const double second = spec.beta2 * before.state(1)[i] + (1 - spec.beta2) * gradient * gradient;
  const auto count = static_cast<double>(step);
  const double root = std::sqrt(second / (1 - std::pow(spec.beta2, count))) + spec.epsilon;
  const double update = spec.lr * first / (1 - std::pow(spec.beta1, count)) / root;
  return {few * (parameter + 2 * update), {few * first, few * second}};
}

/// One step of the reference from where `before` stands.
void check_step(const OptimizerSpec& spec, const Arenas& before, const Arenas& after, Size step) {
  Arenas expected(spec);
  expected.copy_from(before);
  ReferenceBackend().plan_optimizer(spec, expected.view(), {})->step({0, kParameters}, step);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kParameters); ++i) {
    const Tolerance tolerance = tolerance_of(spec, before, i, step);
    bool near = std::abs(after.parameters()[i] - expected.parameters()[i]) <= tolerance.parameter;
    for (std::size_t arena = 0; arena < static_cast<std::size_t>(spec.state_arenas()); ++arena)
      near = near &&
             std::abs(after.state(arena)[i] - expected.state(arena)[i]) <= tolerance.state[arena];
    INFO("element " << i << " in step " << step << ": " << std::hexfloat << after.parameters()[i]
                    << " instead of " << expected.parameters()[i] << " ± " << tolerance.parameter);
    if (!near) FAIL();
  }
}

void for_each_optimizer(
    const std::function<void(const OptimizerSpec&, const KernelBackend&, int threads)>& check) {
  for (const OptimizerSpec& spec : optimizer_specs()) {
    INFO(text_of(spec));
    for_each_backend(
        [&](const KernelBackend& backend, int threads) { check(spec, backend, threads); });
  }
}

}  // namespace

TEST_CASE("optimizers follow the reference, slice by slice") {
  for_each_optimizer([&](const OptimizerSpec& spec, const KernelBackend& backend, int threads) {
    Arenas arenas(spec);
    Arenas before(spec);
    Arenas before_slice(spec);
    const auto optimizer = backend.plan_optimizer(spec, arenas.view(), owned_ranges(threads));
    for (Size step = 1; step <= 5; ++step) {
      arenas.draw_gradients(step);
      before.copy_from(arenas);
      for (const Range slice : kSlices) {
        before_slice.copy_from(arenas);
        optimizer->step(slice, step);
        CHECK(arenas.same_bits_outside(before_slice, slice));
      }
      check_step(spec, before, arenas, step);
    }
    CHECK(arenas.intact());
  });
}

TEST_CASE("optimizers leave zeros that never get a gradient at zero") {
  // Padding of the arena: 0 / (√0 + ε) and not NaN.
  for_each_optimizer([&](const OptimizerSpec& spec, const KernelBackend& backend, int threads) {
    Arenas arenas(spec);
    const auto optimizer = backend.plan_optimizer(spec, arenas.view(), owned_ranges(threads));
    for (Size step = 1; step <= 3; ++step) {
      arenas.draw_gradients(step);
      optimizer->step({0, kParameters}, step);
    }
    bool zero = true;
    for (std::size_t i = 0; i < arenas.parameters().size(); ++i)
      if (Arenas::is_padding(i)) zero = zero && arenas.parameters()[i] == 0;
    CHECK(zero);
  });
}

TEST_CASE("no bit of an update depends on slices or on who owns them") {
  // Buckets and thread counts may differ between runs that are compared.
  for_each_optimizer([&](const OptimizerSpec& spec, const KernelBackend& backend, int threads) {
    Arenas whole(spec);
    Arenas sliced(spec);
    const auto one = backend.plan_optimizer(spec, whole.view(), {{{0, kParameters}, 0}});
    const auto many = backend.plan_optimizer(spec, sliced.view(), owned_ranges(threads));
    for (Size step = 1; step <= 3; ++step) {
      whole.draw_gradients(step);
      sliced.draw_gradients(step);
      one->step({0, kParameters}, step);
      for (const Range slice : kSlices) many->step(slice, step);
    }
    CHECK(whole.same_bits_outside(sliced, {0, 0}));
  });
}

TEST_CASE("by gradients that lie elsewhere, slices and pieces are updated as in the arena") {
  for_each_optimizer([&](const OptimizerSpec& spec, const KernelBackend& backend, int threads) {
    Arenas slices(spec);
    Arenas pieces(spec);
    Arenas passing(spec);
    const auto by_slices = backend.plan_optimizer(spec, slices.view(), owned_ranges(threads));
    const auto by_pieces = backend.plan_optimizer(spec, pieces.view(), owned_ranges(threads));
    if (!by_pieces->takes_pieces()) return;
    OptimizerArenas no_gradients = passing.view();
    no_gradients.gradients = {};
    const auto by_passing = backend.plan_optimizer(spec, no_gradients, owned_ranges(threads));
    for (Size step = 1; step <= 3; ++step) {
      slices.draw_gradients(step);
      const std::vector<float> elsewhere(slices.gradients().begin(), slices.gradients().end());
      for (const Range slice : kSlices) {
        by_slices->step(slice, step);
        const auto gradients = slice_of(std::span<const float>(elsewhere), slice);
        by_pieces->update_piece(gradients, slice, step);
        by_passing->step_by(gradients, slice, step);
      }
      std::ranges::copy(slices.gradients(), pieces.gradients().begin());
      std::ranges::copy(slices.gradients(), passing.gradients().begin());
    }
    CHECK(slices.same_bits_outside(pieces, {0, 0}));
    CHECK(slices.same_bits_outside(passing, {0, 0}));
  });
}

TEST_CASE("a gradient scale undoes a loss scale: the update is that of the gradients themselves") {
  constexpr float kScale = 1024;  // a power of two: multiplying by it rounds nothing
  for_each_optimizer([&](const OptimizerSpec& spec, const KernelBackend& backend, int threads) {
    Arenas plain(spec);
    Arenas scaled(spec);
    Arenas before(spec);
    const auto one = backend.plan_optimizer(spec, plain.view(), owned_ranges(threads));
    const auto other = backend.plan_optimizer(spec, scaled.view(), owned_ranges(threads));
    for (Size step = 1; step <= 3; ++step) {
      plain.draw_gradients(step);
      before.copy_from(plain);
      one->step({0, kParameters}, step);
      // One step from the same place: errors of earlier steps are not this one's.
      scaled.copy_from(before);
      for (float& gradient : scaled.gradients()) gradient *= kScale;
      for (const Range slice : kSlices) other->step(slice, step, 1 / kScale);
      check_step(spec, before, scaled, step);
      check_step(spec, before, plain, step);
    }
    CHECK(scaled.intact());
  });
}

TEST_CASE("an update that the device is told to skip leaves every bit as it is") {
  for_each_optimizer([&](const OptimizerSpec& spec, const KernelBackend& backend, int threads) {
    Arenas plain(spec);
    Arenas skipped(spec);
    Arenas before(spec);
    std::array<float, 1> skip{};
    OptimizerArenas view = skipped.view();
    view.skip = skip;
    const auto always = backend.plan_optimizer(spec, plain.view(), owned_ranges(threads));
    const auto sometimes = backend.plan_optimizer(spec, view, owned_ranges(threads));
    for (Size step = 1; step <= 2; ++step) {
      plain.draw_gradients(step);
      skipped.draw_gradients(step);
      before.copy_from(skipped);
      skip[0] = 1;
      sometimes->step({0, kParameters}, step);
      CHECK(skipped.same_bits_outside(before, {0, 0}));
      skip[0] = 0;
      sometimes->step({0, kParameters}, step);
      always->step({0, kParameters}, step);
      CHECK(skipped.same_bits_outside(plain, {0, 0}));
    }
  });
}
