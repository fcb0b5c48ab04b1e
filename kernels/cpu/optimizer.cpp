#include "kernels/cpu/optimizer.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/simd.h"
#include "kernels/optimizer_scalars.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

/// The part of the arenas that one member updates in one go.
struct Piece {
  float* __restrict parameters;
  const float* __restrict gradients;
  float* __restrict first;   ///< momentum, or Adam's first moment; null for plain SGD
  float* __restrict second;  ///< Adam's second moment; null for SGD
  Size count;
};

void plain_sgd(const Piece& p, const OptimizerScalars& s) {
  for (Size i = 0; i < p.count; ++i)
    p.parameters[i] -= s.lr * (p.gradients[i] + s.weight_decay * p.parameters[i]);
}

void momentum_sgd(const Piece& p, const OptimizerScalars& s) {
  for (Size i = 0; i < p.count; ++i) {
    const float gradient = p.gradients[i] + s.weight_decay * p.parameters[i];
    p.first[i] = s.momentum * p.first[i] + gradient;
    p.parameters[i] -= s.lr * p.first[i];
  }
}

/// Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019) as PyTorch computes them: of the
/// two kinds of decay one is always switched off by its scalar.
void adam(const Piece& p, const OptimizerScalars& s) {
  for (Size i = 0; i < p.count; ++i) {
    const float gradient = p.gradients[i] + s.weight_decay * p.parameters[i];
    p.first[i] = s.beta1 * p.first[i] + s.fresh1 * gradient;
    p.second[i] = s.beta2 * p.second[i] + s.fresh2 * gradient * gradient;
    const float root = std::sqrt(p.second[i]) * s.root_scale + s.epsilon;
    p.parameters[i] = s.keep * p.parameters[i] - s.step_size * p.first[i] / root;
  }
}

class CpuOptimizer final : public Optimizer {
 public:
  CpuOptimizer(const OptimizerSpec& spec, OptimizerArenas arenas, std::vector<OwnedRange> owned,
               Team& team, Isa isa)
      : spec_(spec), arenas_(std::move(arenas)), owned_(std::move(owned)), team_(team), isa_(isa) {
    ensure(static_cast<int>(arenas_.state.size()) == spec.state_arenas(),
           "an optimizer gets the state arenas that it asks for");
    for (const OwnedRange& range : owned_) members_ = std::max(members_, range.member + 1);
    ensure(members_ <= team.size(), "owners are members of the team");
  }

  void step(Range slice, Size step, float gradient_scale) override {
    if (!arenas_.skip.empty() && arenas_.skip.front() != 0) return;
    update_slice(arenas_.gradients.data() + slice.begin, slice,
                 scalars_of(spec_, step, gradient_scale));
  }

  [[nodiscard]] bool takes_pieces() const override { return arenas_.skip.empty(); }
  void step_by(std::span<const float> gradients, Range slice, Size step) override {
    ensure(std::ssize(gradients) == slice.size(), "each element of a slice has a gradient");
    update_slice(gradients.data(), slice, scalars_of(spec_, step, 1));
  }
  void update_piece(std::span<const float> gradients, Range range, Size step) override {
    update(piece_of(range, gradients.data()), scalars_of(spec_, step, 1));
  }

 private:
  /// `gradients`: those of `slice`.
  void update_slice(const float* gradients, Range slice, const OptimizerScalars& scalars) {
    team_.run(members_, [this, gradients, slice, &scalars](int member) {
      for (const OwnedRange& owned : owned_) {
        const Range part = intersect(owned.range, slice);
        if (owned.member != member || part.empty()) continue;
        const Piece piece = piece_of(part, gradients + (part.begin - slice.begin));
        if (scalars.gradient_scale == 1)
          update(piece, scalars);
        else
          update_scaled(piece, scalars);
      }
    });
  }

  [[nodiscard]] Piece piece_of(Range range, const float* gradients) const {
    const auto state = [&](std::size_t index) {
      return index < arenas_.state.size() ? arenas_.state[index].data() + range.begin : nullptr;
    };
    return {.parameters = arenas_.parameters.data() + range.begin,
            .gradients = gradients,
            .first = state(0),
            .second = state(1),
            .count = range.size()};
  }

  void update(const Piece& piece, const OptimizerScalars& scalars) {
    if (spec_.kind != OptimizerKind::sgd)
      simd::run(isa_, [&] { adam(piece, scalars); });
    else if (piece.first != nullptr)
      simd::run(isa_, [&] { momentum_sgd(piece, scalars); });
    else
      simd::run(isa_, [&] { plain_sgd(piece, scalars); });
  }

  /// Scales into a buffer that stays in the nearest cache. A factor inside the update's own formula
  /// would let the compiler fuse other operations than without it, and so round differently.
  void update_scaled(const Piece& all, const OptimizerScalars& scalars) {
    constexpr Size kScaledAtOnce = 1024;
    alignas(64) float scaled[kScaledAtOnce];
    for (Size begin = 0; begin < all.count; begin += kScaledAtOnce) {
      const Piece piece{.parameters = all.parameters + begin,
                        .gradients = scaled,
                        .first = all.first == nullptr ? nullptr : all.first + begin,
                        .second = all.second == nullptr ? nullptr : all.second + begin,
                        .count = std::min(kScaledAtOnce, all.count - begin)};
      simd::run(isa_, [&, from = all.gradients + begin] {
        for (Size i = 0; i < piece.count; ++i) scaled[i] = from[i] * scalars.gradient_scale;
      });
      update(piece, scalars);
    }
  }

  OptimizerSpec spec_;
  OptimizerArenas arenas_;
  std::vector<OwnedRange> owned_;
  Team& team_;
  Isa isa_;
  int members_ = 1;
};

}  // namespace

std::unique_ptr<Optimizer> plan_cpu_optimizer(const OptimizerSpec& spec,
                                              const OptimizerArenas& arenas,
                                              const std::vector<OwnedRange>& owned, Team& team,
                                              Isa isa) {
  return std::make_unique<CpuOptimizer>(spec, arenas, owned, team, isa);
}

}  // namespace ptbench
