#include "kernels/choose.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "kernels/candidate_trial.h"

namespace ptbench {
namespace {

/// Steps that are shorter are repeated within a turn.
constexpr double kTurnSeconds = 0.003;
constexpr int kMostSteps = 100;
/// By which a candidate must be faster to displace one that is listed before it: between those that
/// are alike, noise would choose, and every time otherwise.
constexpr double kLeastGain = 0.06;
/// Turns that are held against the one before; the farther from that share, the fewer.
constexpr int kMostPairs = 5;
constexpr double kLongestDuel = 0.3;  // seconds, after two pairs
constexpr double kPlainGain = 0.15;
constexpr double kPlainLoss = 1;
constexpr double kClearGain = 0.1;
constexpr double kClearLoss = 0.05;
constexpr double kLikelyLoss = -0.04;  // which is a gain, and not enough

/// The middle one, the mean of the middle two; there is one.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Two candidates in turn. Each turn is held against the one before, so that whatever else the
/// machine does concerns both.
class Duel {
 public:
  /// `usual`: seconds that the incumbent has needed.
  explicit Duel(double usual) : incumbent_{usual} {}

  /// Seconds of a step in the next turn; the challenger begins.
  void add(double seconds) {
    (challenger_is_next_ ? challenger_ : incumbent_).note(seconds);
    if (before_) ratios_.push_back(challenger_is_next_ ? seconds / *before_ : *before_ / seconds);
    challenger_is_next_ = !challenger_is_next_;
    before_ = seconds;
    seconds_ += seconds;
  }
  [[nodiscard]] bool challenger_is_next() const { return challenger_is_next_; }
  [[nodiscard]] double least_of_challenger() const { return challenger_.seconds; }
  [[nodiscard]] double least_of_incumbent() const { return incumbent_.seconds; }

  /// Whether the challenger is faster; empty: another turn has to tell.
  [[nodiscard]] std::optional<bool> verdict() const {
    const auto pairs = static_cast<int>(ratios_.size());
    if (pairs == 0) return std::nullopt;
    const double by_least = 1 - challenger_.seconds / incumbent_.seconds;
    const double by_pairs = 1 - median(ratios_);
    const auto [surely, at_most] = std::minmax(by_least, by_pairs);
    if (surely > kPlainGain) return true;
    if (-at_most > kPlainLoss) return false;
    if (pairs < 2) return std::nullopt;
    if (surely > kClearGain) return true;
    if (-at_most > (pairs == 2 ? kClearLoss : kLikelyLoss)) return false;
    if (pairs >= kMostPairs || seconds_ > kLongestDuel) return surely > kLeastGain;
    return std::nullopt;
  }

 private:
  /// Noise only adds.
  struct Least {
    double seconds = std::numeric_limits<double>::infinity();
    void note(double other) { seconds = std::min(seconds, other); }
  };

  Least incumbent_;
  Least challenger_;
  bool challenger_is_next_ = true;
  std::optional<double> before_;
  std::vector<double> ratios_;
  double seconds_ = 0;
};

struct Contender {
  std::string candidate;
  std::vector<std::string> words;
  bool is_tried = false;
};

std::vector<std::string> words_of(const std::string& name) {
  std::istringstream text(name);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

/// Whether the names differ in this word alone; those of unequal length have nothing to compare.
bool differ_in(const Contender& a, const Contender& b, std::size_t word) {
  if (a.words.size() != b.words.size() || word >= a.words.size()) return false;
  for (std::size_t i = 0; i < a.words.size(); ++i)
    if ((a.words[i] == b.words[i]) == (i == word)) return false;
  return true;
}

/// For the best candidate so far, and for one that challenges it.
using TrialSpaces = std::array<TrialMemory, 2>;

/// The search of one operator's fastest candidate.
class Search {
 public:
  Search(const KernelBackend& backend, const OperatorSpec& spec,
         const std::vector<std::string>& candidates, TrialSpaces& spaces, const Clock& clock,
         const std::function<bool()>& keep_going)
      : backend_(backend),
        spec_(spec),
        spaces_(spaces),
        clock_(clock),
        keep_going_(keep_going),
        tensors_(backend, spec) {
    for (const std::string& candidate : candidates)
      field_.push_back({.candidate = candidate, .words = words_of(candidate)});
  }

  std::string run() {
    if (keep_going_()) {
      incumbent_ = trial_of(0);
      usual_ = seconds_of_turn(*incumbent_);
      decide_word_by_word();
    }
    return field_[best_].candidate;
  }

 private:
  /// After a first step, which meets cold caches. In the memory that the incumbent does not use.
  std::unique_ptr<CandidateTrial> trial_of(std::size_t index) {
    field_[index].is_tried = true;
    auto trial = std::make_unique<CandidateTrial>(backend_, spec_, field_[index].candidate,
                                                  tensors_, spaces_[next_space_]);
    trial->step();
    return trial;
  }

  /// The least of a few steps, or of one that is long.
  double seconds_of_turn(CandidateTrial& trial) {
    double least = std::numeric_limits<double>::infinity();
    double total = 0;
    for (int step = 0; step < kMostSteps && total < kTurnSeconds; ++step) {
      const double seconds = backend_.seconds_of([&] { trial.step(); }, clock_);
      least = std::min(least, seconds);
      total += seconds;
    }
    return least;
  }

  void challenge(std::size_t index) {
    next_space_ = 1 - space_of_incumbent_;
    std::unique_ptr<CandidateTrial> challenger = trial_of(index);
    Duel duel(usual_);
    std::optional<bool> is_faster;
    while (!is_faster && keep_going_()) {
      duel.add(seconds_of_turn(duel.challenger_is_next() ? *challenger : *incumbent_));
      is_faster = duel.verdict();
    }
    usual_ = duel.least_of_incumbent();
    if (!is_faster.value_or(false)) return;
    best_ = index;
    incumbent_ = std::move(challenger);
    space_of_incumbent_ = next_space_;
    usual_ = duel.least_of_challenger();
  }

  /// Candidates for which `wanted` holds beside the best one so far, each against the best by then.
  template <class Wanted>
  void challenge_with(const Wanted& wanted) {
    const std::size_t against = best_;
    for (std::size_t i = 0; i < field_.size(); ++i) {
      if (field_[i].is_tried || !wanted(field_[i], field_[against])) continue;
      if (!keep_going_()) return;
      challenge(i);
    }
  }

  void decide_word_by_word() {
    for (std::size_t word = field_[0].words.size(); word-- > 0;)
      challenge_with(
          [word](const Contender& a, const Contender& b) { return differ_in(a, b, word); });
    challenge_with(
        [](const Contender& a, const Contender& b) { return a.words.size() != b.words.size(); });
  }

  const KernelBackend& backend_;
  const OperatorSpec& spec_;
  TrialSpaces& spaces_;
  const Clock& clock_;
  const std::function<bool()>& keep_going_;
  TrialTensors tensors_;
  std::vector<Contender> field_;
  std::size_t best_ = 0;
  std::size_t next_space_ = 0;
  std::size_t space_of_incumbent_ = 0;
  std::unique_ptr<CandidateTrial> incumbent_;  ///< of the best
  double usual_ = 0;                           ///< seconds of its step
};

}  // namespace

Choices without_unknown_candidates(const KernelBackend& backend,
                                   const std::vector<OperatorSpec>& specs, Choices known) {
  for (const OperatorSpec& spec : specs) {
    const auto found = known.find(key_of(spec));
    if (found != known.end() && !backend.has_candidate(spec, found->second)) known.erase(found);
  }
  return known;
}

namespace {

/// An operator that has to be timed.
struct OpenChoice {
  std::string key;
  const OperatorSpec* spec;
  std::vector<std::string> candidates;
};

/// Of each operator that `known` has no choice for and that has several candidates, once;
/// `choices` gets those of all others.
std::vector<OpenChoice> open_choices(const KernelBackend& backend,
                                     const std::vector<OperatorSpec>& specs, const Choices& known,
                                     Choices& choices) {
  std::vector<OpenChoice> open;
  for (const OperatorSpec& spec : specs) {
    const std::string key = key_of(spec);
    if (choices.contains(key) || std::ranges::find(open, key, &OpenChoice::key) != open.end())
      continue;
    if (const auto found = known.find(key); found != known.end()) {
      choices[key] = found->second;
      continue;
    }
    std::vector<std::string> candidates = backend.candidates(spec);
    if (candidates.size() == 1)
      choices[key] = candidates.front();
    else
      open.push_back({.key = key, .spec = &spec, .candidates = std::move(candidates)});
  }
  return open;
}

}  // namespace

Choices choose(const KernelBackend& backend, const std::vector<OperatorSpec>& specs,
               const Choices& known, const Clock& clock, const std::function<bool()>& keep_going,
               FunctionRef<void(Size done, Size total)> progress) {
  Choices choices;
  const std::vector<OpenChoice> open = open_choices(backend, specs, known, choices);
  TrialSpaces spaces;
  Size done = 0;
  for (const OpenChoice& choice : open) {
    if (!keep_going()) break;
    progress(done++, std::ssize(open));
    choices[choice.key] =
        Search(backend, *choice.spec, choice.candidates, spaces, clock, keep_going).run();
  }
  return choices;
}

Choices guess(const KernelBackend& backend, const std::vector<OperatorSpec>& specs,
              const Choices& known) {
  Choices choices;
  for (const OperatorSpec& spec : specs) {
    const std::string key = key_of(spec);
    if (choices.contains(key)) continue;
    const auto found = known.find(key);
    choices[key] = found != known.end() ? found->second : backend.safest_candidate(spec);
  }
  return choices;
}

}  // namespace ptbench
