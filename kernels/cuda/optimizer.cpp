#include "kernels/cuda/optimizer.h"

#include <optional>

#include "kernels/cuda/optimizer_kernels.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

class CudaOptimizer final : public Optimizer {
 public:
  CudaOptimizer(const OptimizerSpec& spec, const OptimizerArenas& arenas, const OperatorSite& site)
      : spec_(spec),
        arenas_(arenas),
        site_(site),
        cell_(site.device.memory().allocate(sizeof(OptimizerScalars), "an optimizer's numbers")),
        scalars_(cell_.as<OptimizerScalars>().data()) {
    ensure(static_cast<int>(arenas.state.size()) == spec.state_arenas(),
           "an optimizer gets the state arenas that it asks for");
  }

  void step(Range slice, Size step, float gradient_scale) override {
    if (slice.empty()) return;
    prepare(step, gradient_scale);
    with_update(slice, [&](const auto& update) { site_.small_work.add(update); });
  }

  void step_in(Queue& queue, Range slice, Size step, float gradient_scale) override {
    if (slice.empty()) return;
    ensure(told_ == scalars_of(spec_, step, gradient_scale), "an update beside others is prepared");
    const cudaStream_t stream = dynamic_cast<CudaQueue&>(queue).stream();
    with_update(slice, [&](const auto& update) { launch_alone(update, stream); });
  }

  void prepare(Size step, float gradient_scale) override {
    const OptimizerScalars scalars = scalars_of(spec_, step, gradient_scale);
    if (told_ == scalars) return;
    tell_scalars(scalars, scalars_, site_.device.stream());
    told_ = scalars;
  }

 private:
  /// Calls `use` with the update of that slice by this optimizer's rule.
  template <class Use>
  void with_update(Range slice, const Use& use) const {
    ensure(slice.begin >= 0 && slice.end <= std::ssize(arenas_.parameters),
           "a slice lies in the arena");
    const ArenaSlice part = slice_of(slice);
    if (spec_.kind != OptimizerKind::sgd)
      use(Update<UpdateRule::adam>{part, scalars_});
    else if (part.first != nullptr)
      use(Update<UpdateRule::momentum_sgd>{part, scalars_});
    else
      use(Update<UpdateRule::plain_sgd>{part, scalars_});
  }

  [[nodiscard]] ArenaSlice slice_of(Range range) const {
    const auto state = [&](std::size_t index) {
      return index < arenas_.state.size() ? arenas_.state[index].data() + range.begin : nullptr;
    };
    return {.parameters = arenas_.parameters.data() + range.begin,
            .gradients = arenas_.gradients.data() + range.begin,
            .first = state(0),
            .second = state(1),
            .skip = arenas_.skip.data(),
            .count = range.size()};
  }

  OptimizerSpec spec_;
  OptimizerArenas arenas_;
  OperatorSite site_;
  Buffer cell_;
  OptimizerScalars* scalars_;             ///< in the device's memory
  std::optional<OptimizerScalars> told_;  ///< what they are once the device's work is done
};

}  // namespace

std::unique_ptr<Optimizer> plan_optimizer(const OptimizerSpec& spec, const OptimizerArenas& arenas,
                                          const OperatorSite& site) {
  return std::make_unique<CudaOptimizer>(spec, arenas, site);
}

}  // namespace ptbench::cuda
