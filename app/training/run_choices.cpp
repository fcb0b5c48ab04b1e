#include "app/training/run_choices.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "app/training/communication_choice.h"

namespace ptbench {
namespace {

/// Foreign share of the cores up to which what was timed serves later runs too.
constexpr double kQuiet = 0.1;

/// What choosing may take where the user wants a first look.
constexpr double kQuickSeconds = 1.5;

/// The choices of both; where both know an operator, what `first` says.
Choices joined(Choices first, const Choices& second) {
  first.insert(second.begin(), second.end());
  return first;
}

/// A line a choice: key, tab, candidate. Neither holds tabs or line ends.
std::string text_of(const Choices& choices) {
  std::string text;
  for (const auto& [key, candidate] : choices)
    text.append(key).append(1, '\t').append(candidate).append(1, '\n');
  return text;
}

Choices choices_of(std::string_view text) {
  Choices choices;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t tab = line.find('\t');
    choices[std::string(line.substr(0, tab))] = std::string(line.substr(tab + 1));
    text.remove_prefix(end + 1);
  }
  return choices;
}

}  // namespace

RunChoices::RunChoices(const TrainingContext& context, const RankRole& role, RunProgress& watch,
                       RunRecord& record)
    : context_(context),
      options_(context.config.options),
      role_(role),
      watch_(watch),
      record_(record) {}

Choices RunChoices::choose_operators(const TrainingShape& shape, const VerificationPlan& check) {
  watch_.enter(RankPhase::choosing);
  Choices choices;
  if (role_.leads()) choices = with_one_layout(context_, shape, choose_and_keep(shape, check));
  return share_choices(context_.control, choices);
}

bool RunChoices::knows_operators(const TrainingShape& shape) {
  for (const TrainingShape& rank : shapes_of_ranks(shape)) {
    const std::vector<OperatorSpec> specs = operators_of(context_.graph, rank);
    const Choices found = usable(specs, stored());
    for (const OperatorSpec& spec : specs)
      if (!found.contains(key_of(spec))) return false;
  }
  return true;
}

Choices RunChoices::guess_operators(const TrainingShape& shape) {
  Choices guessed;
  if (role_.leads()) {
    for (const TrainingShape& rank : shapes_of_ranks(shape)) {
      const std::vector<OperatorSpec> specs = operators_of(context_.graph, rank);
      guessed.merge(guess(context_.backend(), specs, usable(specs, stored())));
    }
    guessed = with_one_layout(context_, shape, std::move(guessed));
  }
  return share_choices(context_.control, guessed);
}

/// On rank 0: what the store knew before this run.
const Choices& RunChoices::stored() {
  if (store_) return stored_;
  const std::string fingerprint = context_.backend().fingerprint();
  store_.emplace(options_.plan_file ? PlanStore::of_file(*options_.plan_file, fingerprint)
                                    : PlanStore::of_host(fingerprint));
  stored_ = store_->load();
  return stored_;
}

/// A cache may be of another build, a file that the user named is used as it is.
Choices RunChoices::usable(const std::vector<OperatorSpec>& specs, Choices known) const {
  if (store_->named_by_user()) return known;
  return without_unknown_candidates(context_.backend(), specs, std::move(known));
}

Choices RunChoices::choose_and_keep(const TrainingShape& shape, const VerificationPlan& check) {
  const Choices known = stored();
  const CpuLoad load;
  Choices choices = choose_for_ranks(shape, known);
  operators_ = timed(choices);
  if (store_->named_by_user()) keep(choices, load);
  const Choices communication = communication_in(known);
  keep_for_repetitions(joined(choices, communication));
  if (check.oracle && !check.on_host)
    choices.merge(choose_for(*check.oracle, joined(known, choices)));
  if (!store_->named_by_user()) keep(timed(choices), load);
  warn_of_guesses();
  return joined(std::move(choices), communication);
}

/// Without what was guessed.
Choices RunChoices::timed(Choices choices) const {
  std::erase_if(choices, [this](const auto& choice) { return guessed_.contains(choice.first); });
  return choices;
}

/// Whether the user waits for a first look, and wants no plan for later.
bool RunChoices::is_quick() const { return options_.quick && !store_->named_by_user(); }

/// One operator after the other, until their time is over; the rest is guessed.
Choices RunChoices::choose_quickly(const std::vector<OperatorSpec>& specs, const Choices& known) {
  if (!begin_) begin_ = context_.clock.now();
  Choices choices;
  Size done = 0;
  for (const OperatorSpec& spec : specs) {
    watch_.count(done++, std::ssize(specs));
    const bool has_time = context_.clock.now() - *begin_ < kQuickSeconds;
    const Choices before = joined(known, choices);
    const bool is_open =
        !before.contains(key_of(spec)) && context_.backend().candidates(spec).size() > 1;
    Choices chosen = is_open && has_time ? choose(context_.backend(), {spec}, before,
                                                  context_.clock, watch_.keep_going())
                                         : guess(context_.backend(), {spec}, before);
    watch_.stop_if_interrupted();
    if (is_open && !has_time) guessed_.insert(chosen.begin(), chosen.end());
    choices.merge(chosen);
  }
  return choices;
}

void RunChoices::warn_of_guesses() {
  if (guessed_.empty()) return;
  record_.warnings.push_back(
      {.code = "operators-guessed",
       .message = fmt::format("--quick left no time to choose how {} operators are computed: the "
                              "usual way was taken, which may be slower than the fastest",
                              guessed_.size()),
       .remedy = "Measure once without --quick: what it chooses is kept for later runs."});
}

Choices RunChoices::choose_for_ranks(const TrainingShape& shape, const Choices& known) {
  Choices choices;
  for (const TrainingShape& rank : shapes_of_ranks(shape))
    choices.merge(choose_for(rank, joined(known, choices)));
  return choices;
}

Choices RunChoices::choose_for(const TrainingShape& shape, Choices known) {
  const std::vector<OperatorSpec> specs = operators_of(context_.graph, shape);
  known = usable(specs, std::move(known));
  // An emulated device has no speed to choose by.
  if (context_.config.device.is_emulated) return guess(context_.backend(), specs, known);
  if (is_quick()) return choose_quickly(specs, known);
  Choices chosen = choose(context_.backend(), specs, known, context_.clock, watch_.keep_going(),
                          [this](Size done, Size total) { watch_.count(done, total); });
  watch_.stop_if_interrupted();
  return chosen;
}

DdpOptions RunChoices::decide_communication(const TrainingShape& shape,
                                            const std::shared_ptr<const ProgramPlan>& plan,
                                            Choices& choices) {
  if (!context_.config.strategy.buckets || shape.batch.replicas == 1) return context_.data_parallel;
  const Choices before = communication_in(choices);
  const std::span<const int> cpus = context_.device().cpus();
  const CpuLoad load({cpus.begin(), cpus.end()});
  CommunicationChoice choice(context_, shape, role_, context_.clock);
  const DdpOptions decided = choice.decide(plan, choices, watch_.keep_going());
  if (role_.leads()) watch_.stop_if_interrupted();
  record_.strategy.bucket_bytes = decided.bucket_bytes;
  record_.strategy.overlap = decided.overlap;
  Choices after = communication_in(choices);
  if (role_.leads() && after != before) keep_communication(std::move(after), load.foreign_share());
  return decided;
}

Choices RunChoices::communication_in(const Choices& choices) const {
  Choices found;
  for (const std::string& key : communication_keys(context_.config, context_.communicator.name()))
    if (const auto chosen = choices.find(key); chosen != choices.end()) found.insert(*chosen);
  return found;
}

void RunChoices::keep(const Choices& choices, const CpuLoad& load) {
  if (!store_->lacks(choices)) return;
  const std::optional<double> foreign_share = load.foreign_share();
  store_->save(choices);
  if (foreign_share > kQuiet) warn_of_load("operators", "operators were", *foreign_share);
}

/// Beside the operators. A plan file that was there before stays as it is.
void RunChoices::keep_communication(Choices decided, std::optional<double> foreign_share) {
  decided = joined(std::move(decided), operators_);
  keep_for_repetitions(decided);
  if (store_->named_by_user() && !store_->is_final()) store_->save(decided);
  if (store_->named_by_user()) return;
  PlanStore cache = PlanStore::of_host(context_.backend().fingerprint());
  (void)cache.load();
  cache.save(decided);
  if (foreign_share > kQuiet)
    warn_of_load("communication", "ranks' communication was", *foreign_share);
}

/// Into the file that the processes after a preparation plan from.
void RunChoices::keep_for_repetitions(const Choices& choices) const {
  if (options_.orders.keep_plan)
    PlanStore::of_file(*options_.orders.keep_plan, context_.backend().fingerprint()).save(choices);
}

void RunChoices::warn_of_load(std::string_view kind, std::string_view timed, double foreign_share) {
  record_.warnings.push_back(
      {.code = fmt::format("{}-chosen-under-load", kind),
       .message =
           fmt::format("other programs used {:.0f} % of the cores while {} timed: another run may "
                       "choose differently, and compare judges only runs of one plan",
                       100 * foreign_share, timed),
       .remedy = "Use one --plan FILE for all runs that you compare."});
}

Choices share_choices(ControlChannel& control, const Choices& choices) {
  constexpr auto kPatience = Communicator::kLongWork;
  if (control.world_size() == 1) return choices;
  std::string text = text_of(choices);
  std::uint64_t size = text.size();
  control.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, kPatience);
  text.resize(size);
  control.broadcast(std::as_writable_bytes(std::span(text)), 0, kPatience);
  return choices_of(text);
}

}  // namespace ptbench
