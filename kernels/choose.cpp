#include "kernels/choose.h"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

#include "src/base/random.h"

namespace ptbench {
namespace {

/// Enough to tell candidates apart, little enough that nobody waits.
constexpr int kMostRepetitions = 50;
constexpr double kSecondsPerCandidate = 0.015;
constexpr double kHopeless = 1.5;      // times the best: one repetition is enough to know
constexpr double kHopelessCold = 2.5;  // the same for the first one, which touches new memory
constexpr int kRounds = 3;
constexpr double kNear = 1.15;  // of the best: worth another look

constexpr std::string_view kPurpose = "the choice of operators";

/// Never zeros: some hardware multiplies those faster. The same few numbers again and again, as
/// drawing takes longer than multiplying.
template <class T>
void fill(std::span<T> values, std::uint64_t stream) {
  static constexpr std::size_t kPeriod = 4093;  // a prime, so that rows differ
  const CounterRandom generator(0, stream);
  const std::size_t drawn = std::min(kPeriod, values.size());
  for (std::size_t i = 0; i < drawn; ++i) {
    const float value = generator.uniform(i, -1.0F, 1.0F);
    if constexpr (std::is_same_v<T, float>)
      values[i] = value;
    else
      values[i] = to_bf16(value);
  }
  for (std::size_t i = drawn; i < values.size(); ++i) values[i] = values[i - drawn];
}

/// The tensors that all candidates of an operator work on.
class Tensors {
 public:
  Tensors(const KernelBackend& backend, const OperatorSpec& spec, MemorySource& memory)
      : memory_(memory) {
    const OperatorTensors tensors = tensors_of(spec);
    std::uint64_t stream = 0;
    for (const TensorSpec& input : tensors.inputs) {
      bindings_.inputs.emplace_back(random(backend, input, ++stream));
      bindings_.input_gradients.push_back(tensors.input_gradient ? allocate(backend.bytes_of(input))
                                                                 : std::span<std::byte>{});
    }
    if (tensors.output) {
      bindings_.output = allocate(backend.bytes_of(*tensors.output));
      for (Size term = 0; term < tensors.gradient_terms; ++term)
        bindings_.output_gradients.emplace_back(random(backend, *tensors.output, ++stream));
    }
    Size buffers = 0;
    for (const ParameterSpec& buffer : buffers_of(spec)) buffers += buffer.shape.elements();
    bindings_.buffers = elements<float>(allocate(static_cast<Bytes>(buffers) * sizeof(float)));
    labels_.assign(static_cast<std::size_t>(tensors.labels), 0);
    bindings_.labels = labels_;
    bindings_.loss = loss_;
    bindings_.loss_scale = loss_scale_;
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors() = default;

  /// Without what depends on the candidate.
  [[nodiscard]] const Bindings& bindings() const { return bindings_; }

 private:
  std::span<std::byte> allocate(Bytes bytes) {
    buffers_.push_back(memory_.allocate(bytes, kPurpose));
    return buffers_.back().as<std::byte>();
  }
  /// Padding is not zero here, which costs no kernel time.
  std::span<std::byte> random(const KernelBackend& backend, const TensorSpec& tensor,
                              std::uint64_t stream) {
    const std::span<std::byte> bytes = allocate(backend.bytes_of(tensor));
    if (tensor.type == ElementType::f32)
      fill(elements<float>(bytes), stream);
    else
      fill(elements<Bf16>(bytes), stream);
    return bytes;
  }

  MemorySource& memory_;
  std::vector<Buffer> buffers_;
  std::vector<std::int32_t> labels_;
  std::array<float, 1> loss_{};
  std::array<float, 1> loss_scale_{1};
  Bindings bindings_;
};

/// A candidate as a step would run it: forward, backward, and an update by the owners, since who
/// wrote a weight last decides what reading it costs.
class Trial {
 public:
  Trial(const KernelBackend& backend, const OperatorSpec& spec, std::string_view candidate,
        const Tensors& tensors, MemorySource& memory)
      : plan_(backend.plan(spec, candidate)) {
    const ParameterLayout layout = plan_->layout();
    const Bytes arena = static_cast<Bytes>(layout.elements) * sizeof(float);
    parameters_ = memory.allocate(arena, kPurpose);
    gradients_ = memory.allocate(arena, kPurpose);
    workspace_ = memory.allocate(plan_->workspace_bytes(), kPurpose);
    scratch_ = memory.allocate(plan_->scratch_bytes(), kPurpose);
    const std::span<float> parameters = parameters_.as<float>();
    fill(parameters, 0);
    Bindings bindings = tensors.bindings();
    bindings.parameters = parameters;
    bindings.gradients = gradients_.as<float>();
    bindings.workspace = workspace_.as<std::byte>();
    bindings.scratch = scratch_.as<std::byte>();
    operator_ = plan_->bind(bindings);
    OptimizerSpec sgd;
    sgd.lr = 1e-12;  // touches every weight, moves none
    if (layout.elements > 0)
      optimizer_ = backend.plan_optimizer(
          sgd, {.parameters = parameters, .gradients = bindings.gradients, .state = {}},
          layout.owned);
    all_ = {0, layout.elements};
  }

  void step() {
    operator_->parameters_changed();
    operator_->forward();
    operator_->backward();
    if (optimizer_) optimizer_->step(all_, 1);
  }

 private:
  std::unique_ptr<OperatorPlan> plan_;
  Buffer parameters_;
  Buffer gradients_;
  Buffer workspace_;
  Buffer scratch_;
  std::unique_ptr<Operator> operator_;
  std::unique_ptr<Optimizer> optimizer_;
  Range all_;
};

double time_step(Trial& trial, const Clock& clock) {
  const double before = clock.now();
  trial.step();
  return clock.now() - before;
}

/// Least seconds of a step after a first one: the noise of a machine only ever adds. Stops early
/// where `best`, the least of another candidate, is out of reach.
double time_candidate(Trial& trial, double best, const Clock& clock) {
  const double cold = time_step(trial, clock);
  if (cold > kHopelessCold * best) return cold;
  double least = std::numeric_limits<double>::infinity();
  double total = cold;
  for (int repetition = 0; repetition < kMostRepetitions; ++repetition) {
    const double seconds = time_step(trial, clock);
    least = std::min(least, seconds);
    total += seconds;
    if (least > kHopeless * best || total > kSecondsPerCandidate) break;
  }
  return least;
}

struct Timed {
  std::string candidate;
  std::vector<std::string> words;
  double seconds = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool is_timed() const { return seconds < std::numeric_limits<double>::infinity(); }
};

std::vector<std::string> words_of(const std::string& name) {
  std::istringstream text(name);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

/// Whether the names differ in this word alone; those of unequal length have nothing to compare.
bool differ_in(const Timed& a, const Timed& b, std::size_t word) {
  if (a.words.size() != b.words.size() || word >= a.words.size()) return false;
  for (std::size_t i = 0; i < a.words.size(); ++i)
    if ((a.words[i] == b.words[i]) == (i == word)) return false;
  return true;
}

/// The search of one operator's fastest candidate.
class Search {
 public:
  Search(const KernelBackend& backend, const OperatorSpec& spec,
         const std::vector<std::string>& candidates, MemorySource& memory, const Clock& clock,
         const std::function<bool()>& keep_going)
      : backend_(backend),
        spec_(spec),
        memory_(memory),
        clock_(clock),
        keep_going_(keep_going),
        tensors_(backend, spec, memory) {
    for (const std::string& candidate : candidates)
      field_.push_back({.candidate = candidate, .words = words_of(candidate)});
  }

  std::string run() {
    decide_word_by_word();
    look_again();
    return field_[best_].candidate;
  }

 private:
  void time(std::size_t index) {
    Trial trial(backend_, spec_, field_[index].candidate, tensors_, memory_);
    Timed& timed = field_[index];
    timed.seconds = std::min(timed.seconds, time_candidate(trial, field_[best_].seconds, clock_));
    if (timed.seconds < field_[best_].seconds) best_ = index;
  }

  /// Times the candidates for which `wanted` holds beside the best one.
  template <class Wanted>
  void time_those(const Wanted& wanted) {
    const std::size_t against = best_;
    for (std::size_t i = 0; i < field_.size(); ++i) {
      if (field_[i].is_timed() || !wanted(field_[i], field_[against])) continue;
      if (!keep_going_()) return;
      time(i);
    }
  }

  void decide_word_by_word() {
    if (!keep_going_()) return;
    time(0);
    for (std::size_t word = field_[0].words.size(); word-- > 0;)
      time_those([word](const Timed& a, const Timed& b) { return differ_in(a, b, word); });
    time_those([](const Timed& a, const Timed& b) { return a.words.size() != b.words.size(); });
  }

  /// Those that were near the best again, in turn: a machine that slows down for a moment should
  /// not decide. Long steps have outlasted the moment.
  void look_again() {
    for (int round = 1; round < kRounds; ++round) {
      const double limit = kNear * field_[best_].seconds;
      if (limit > kSecondsPerCandidate ||
          std::ranges::count_if(field_, [&](const Timed& t) { return t.seconds <= limit; }) < 2)
        return;
      for (std::size_t i = 0; i < field_.size(); ++i) {
        if (field_[i].seconds > limit) continue;
        if (!keep_going_()) return;
        time(i);
      }
    }
  }

  const KernelBackend& backend_;
  const OperatorSpec& spec_;
  MemorySource& memory_;
  const Clock& clock_;
  const std::function<bool()>& keep_going_;
  Tensors tensors_;
  std::vector<Timed> field_;
  std::size_t best_ = 0;
};

}  // namespace

Choices choose(const KernelBackend& backend, const std::vector<OperatorSpec>& specs,
               const Choices& known, MemorySource& memory, const Clock& clock,
               const std::function<bool()>& keep_going) {
  Choices choices;
  for (const OperatorSpec& spec : specs) {
    if (!keep_going()) break;
    const std::string key = key_of(spec);
    if (choices.contains(key)) continue;
    if (const auto found = known.find(key); found != known.end()) {
      choices[key] = found->second;
      continue;
    }
    const std::vector<std::string> candidates = backend.candidates(spec);
    choices[key] = candidates.size() == 1
                       ? candidates.front()
                       : Search(backend, spec, candidates, memory, clock, keep_going).run();
  }
  return choices;
}

}  // namespace ptbench
