#include "kernels/choose.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "src/base/random.h"

namespace ptbench {
namespace {

/// Enough to tell candidates apart, little enough that nobody waits.
constexpr int kLeastRepetitions = 3;
constexpr int kMostRepetitions = 50;
constexpr double kSecondsPerCandidate = 0.02;
constexpr int kRounds = 3;
constexpr double kNear = 1.15;  // of the best: worth another look

/// An operator with data of its own, as a step would run it: forward, backward, and an update by
/// the owners, since who wrote a weight last decides what reading it costs.
class Trial {
 public:
  Trial(const KernelBackend& backend, const OperatorSpec& spec, std::string_view candidate,
        MemorySource& memory)
      : plan_(backend.plan(spec, candidate)) {
    const TensorElements sizes = elements_of(spec);
    const ParameterLayout layout = plan_->layout();
    bindings_.input = random(memory, sizes.input, 1);
    bindings_.output = zero(memory, sizes.output);
    bindings_.output_gradient = random(memory, sizes.output, 2);
    bindings_.input_gradient = zero(memory, sizes.input);
    const std::span<float> parameters = random(memory, layout.elements, 3);
    bindings_.parameters = parameters;
    bindings_.gradients = zero(memory, layout.elements);
    labels_.assign(static_cast<std::size_t>(sizes.labels), 0);
    bindings_.labels = labels_;
    bindings_.loss = loss_;
    workspace_ = memory.allocate(plan_->workspace_bytes(), "the choice of operators");
    bindings_.workspace = workspace_.as<std::byte>();
    operator_ = plan_->bind(bindings_);
    OptimizerSpec sgd;
    sgd.lr = 1e-12;  // touches every weight, moves none
    if (layout.elements > 0)
      optimizer_ = backend.plan_optimizer(
          sgd, {.parameters = parameters, .gradients = bindings_.gradients, .state = {}},
          layout.owned);
    all_ = {0, layout.elements};
  }

  void step() {
    operator_->forward();
    operator_->backward();
    if (optimizer_) optimizer_->step(all_, 1);
  }

 private:
  std::span<float> zero(MemorySource& memory, Size elements) {
    buffers_.push_back(
        memory.allocate(static_cast<Bytes>(elements) * sizeof(float), "the choice of operators"));
    return buffers_.back().as<float>();
  }
  /// Never zeros: some hardware multiplies those faster.
  std::span<float> random(MemorySource& memory, Size elements, std::uint64_t stream) {
    const std::span<float> values = zero(memory, elements);
    const CounterRandom generator(0, stream);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = generator.uniform(i, -1.0F, 1.0F);
    return values;
  }

  std::unique_ptr<OperatorPlan> plan_;
  std::vector<Buffer> buffers_;
  Buffer workspace_;
  std::vector<std::int32_t> labels_;
  std::array<float, 1> loss_{};
  Bindings bindings_;
  std::unique_ptr<Operator> operator_;
  std::unique_ptr<Optimizer> optimizer_;
  Range all_;
};

/// Least seconds of a step: the noise of a machine only ever adds.
double time_candidate(Trial& trial, const Clock& clock) {
  trial.step();
  double best = std::numeric_limits<double>::infinity();
  const double start = clock.now();
  for (int repetition = 0; repetition < kMostRepetitions; ++repetition) {
    const double before = clock.now();
    trial.step();
    const double after = clock.now();
    best = std::min(best, after - before);
    if (repetition + 1 >= kLeastRepetitions && after - start > kSecondsPerCandidate) break;
  }
  return best;
}

struct Timed {
  std::string candidate;
  double seconds = std::numeric_limits<double>::infinity();
};

/// All candidates once, then those that were near the best again, in turn: a machine that slows
/// down for a moment should not decide.
std::string fastest(const KernelBackend& backend, const OperatorSpec& spec,
                    const std::vector<std::string>& candidates, MemorySource& memory,
                    const Clock& clock, const std::function<bool()>& keep_going) {
  std::vector<Timed> field;
  field.reserve(candidates.size());
  for (const std::string& candidate : candidates) field.push_back({.candidate = candidate});
  const auto faster = [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; };
  for (int round = 0; round < kRounds && keep_going(); ++round) {
    for (Timed& timed : field) {
      if (!keep_going()) break;
      Trial trial(backend, spec, timed.candidate, memory);
      timed.seconds = std::min(timed.seconds, time_candidate(trial, clock));
    }
    const double best = std::ranges::min_element(field, faster)->seconds;
    std::erase_if(field, [&](const Timed& timed) { return timed.seconds > kNear * best; });
  }
  return std::ranges::min_element(field, faster)->candidate;
}

}  // namespace

Choices choose(const KernelBackend& backend, const std::vector<OperatorSpec>& specs,
               const Choices& known, MemorySource& memory, const Clock& clock,
               const std::function<bool()>& keep_going) {
  Choices choices;
  for (const OperatorSpec& spec : specs) {
    const std::string key = key_of(spec);
    if (choices.contains(key)) continue;
    if (const auto found = known.find(key); found != known.end()) {
      choices[key] = found->second;
      continue;
    }
    const std::vector<std::string> candidates = backend.candidates(spec);
    choices[key] = candidates.size() == 1
                       ? candidates.front()
                       : fastest(backend, spec, candidates, memory, clock, keep_going);
  }
  return choices;
}

}  // namespace ptbench
