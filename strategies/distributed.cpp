#include "strategies/distributed.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/slice.h"
#include "workloads/layout_digest.h"

namespace ptbench {
namespace {

/// Something that ranks must have in common, with its digest on this rank.
struct Trait {
  std::string_view what;  ///< plural, as errors name it
  std::uint64_t digest = 0;
  bool of_model = false;  ///< rather than of how it is trained
};
using Traits = std::vector<Trait>;

template <class T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  else
    return static_cast<std::uint64_t>(value);
}

void add_parameters(const ProgramPlan& plan, Traits& traits) {
  std::uint64_t names = fnv1a("");
  std::uint64_t shapes = fnv1a("");
  for (const ParameterSpec& tensor : plan.tensors()) {
    names = fnv1a("\n", fnv1a(tensor.name, names));
    shapes = fnv1a("\n", fnv1a(tensor.shape.text(), shapes));
  }
  traits.push_back({.what = "the names of their parameters", .digest = names, .of_model = true});
  traits.push_back({.what = "the shapes of their parameters", .digest = shapes, .of_model = true});
}

void add_training(const StepSpec& step, const DdpOptions& options, Traits& traits) {
  const OptimizerSpec& optimizer = step.optimizer;
  const auto add = [&](std::string_view what, auto value) {
    traits.push_back({.what = what, .digest = bits_of(value)});
  };
  add("the optimizers", optimizer.kind);
  add("the learning rates", optimizer.lr);
  add("the momenta", optimizer.momentum);
  add("the weight decays", optimizer.weight_decay);
  add("the first betas of Adam", optimizer.beta1);
  add("the second betas of Adam", optimizer.beta2);
  add("the epsilons of Adam", optimizer.epsilon);
  add("the kinds of loss scaling", step.loss_scale.kind);
  add("the loss scales", step.loss_scale.value);
  add("the accumulation steps", step.accumulation_steps);
  add("the types of gradients on the wire", options.wire);
  add("the sizes of the first bucket", options.first_bucket_bytes);
  add("the sizes of the other buckets", options.bucket_bytes);
  add("the choices of overlap", options.overlap);
  add("the choices of --broadcast-buffers", options.broadcast_buffers);
}

/// Plans for unequal micro-batches are unequal; what counts then is where parameters lie.
void add_plan(const ProgramPlan& plan, bool equal_micro_batches, Traits& traits) {
  traits.push_back(
      {.what = "the global batches", .digest = bits_of(plan.graph().loss().global_batch)});
  if (equal_micro_batches)
    traits.push_back(
        {.what = "the hashes of their plans", .digest = fnv1a(plan.hash()), .of_model = true});
  else
    traits.push_back({.what = "the layouts of their parameters",
                      .digest = layout_digest(plan),
                      .of_model = true});
}

std::vector<std::uint64_t> digests_of(const Traits& traits) {
  std::vector<std::uint64_t> digests(traits.size());
  std::ranges::transform(traits, digests.begin(), &Trait::digest);
  return digests;
}

/// `all`: the digests on every rank, by rank. The digests of rank 0 are what others are compared
/// with, so that all ranks say the same.
void require_common(const Traits& traits, std::span<const std::uint64_t> all) {
  const auto first = all.first(traits.size());
  for (std::size_t rank = 1; rank < all.size() / traits.size(); ++rank) {
    const auto other = all.subspan(rank * traits.size(), traits.size());
    const auto apart = std::ranges::mismatch(first, other).in1;
    if (apart == first.end()) continue;
    const Trait& trait = traits[static_cast<std::size_t>(apart - first.begin())];
    throw run_error(fmt::format("ranks 0 and {} do not train {}: {} differ", rank,
                                trait.of_model ? "the same model" : "alike", trait.what),
                    "start all ranks with the same model, options and plan");
  }
}

/// Has the collectives of a communicator watched for as long as it lives.
class WatchScope {
 public:
  WatchScope(Communicator& communicator, PhaseTimer* timer) : communicator_(communicator) {
    if (timer != nullptr) communicator_.watch(timer->collectives());
  }
  ~WatchScope() { communicator_.watch(nullptr); }
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;

 private:
  Communicator& communicator_;
};

}  // namespace

Distributed::Distributed(StrategyContext context)
    : replica_(context.take_replica()),
      communicator_(context.communicator),
      control_(context.control),
      options_(context.data_parallel),
      arrivals_(static_cast<std::size_t>(communicator_.world_size())),
      given_(replica_->queue().make_event()) {
  check_agreement();
}

Values Distributed::gradients(Range slice) {
  return values_of(slice_of(replica_->program().gradients(), slice));
}

Values Distributed::parameters(Range slice) {
  return values_of(slice_of(replica_->program().parameters(), slice));
}

const Event* Distributed::after_given() {
  replica_->queue().record(*given_);
  return given_.get();
}

void Distributed::order(Communicator::Ticket ticket) {
  const PhaseScope scope(timer(), StepPhase::communication);
  communicator_.order(replica_->queue(), ticket, options_.timeout);
}

/// By the deadline that a queue does not know.
void Distributed::wait_for_operations() {
  if (last_) communicator_.wait(*last_, options_.timeout);
}

void Distributed::sum_over_ranks(std::span<float> cell) {
  last_ = communicator_.start_all_reduce(values_of(cell), {}, after_given());
  order(*last_);
}

void Distributed::start_loss(const Event& ready) {
  if (sums_loss_ || !communicator_.works_on_device()) return;
  last_ = communicator_.start_all_reduce(values_of(replica_->loss()), {}, &ready);
  sums_loss_ = true;
}

void Distributed::check_agreement() {
  const ProgramPlan& plan = replica_->program().plan();
  const std::vector<std::uint64_t> micro_batches = of_all_ranks({bits_of(plan.batch())});
  const bool are_equal =
      std::ranges::adjacent_find(micro_batches, std::not_equal_to()) == micro_batches.end();
  Traits traits;  // in this order: the first difference explains those that follow from it
  add_parameters(plan, traits);
  add_training(replica_->step(), options_, traits);
  add_plan(plan, are_equal, traits);
  require_common(traits, of_all_ranks(digests_of(traits)));
  const Size together = std::accumulate(
      micro_batches.begin(), micro_batches.end(), Size{0},
      [](Size sum, std::uint64_t samples) { return sum + static_cast<Size>(samples); });
  ensure(plan.graph().loss().global_batch == together * replica_->step().accumulation_steps,
         "the ranks' micro-batches add up to the plan's global batch");
}

/// What every rank has, by rank.
std::vector<std::uint64_t> Distributed::of_all_ranks(const std::vector<std::uint64_t>& own) {
  std::vector<std::uint64_t> all;
  for (Size rank = 0; rank < communicator_.world_size(); ++rank)
    all.insert(all.end(), own.begin(), own.end());
  control_.exchange(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)),
                    options_.timeout);
  return all;
}

/// As late as this, since weights are set after a strategy was built.
void Distributed::share_first_parameters() {
  order(communicator_.start_broadcast(parameters(replica_->all()).bytes, kRoot, after_given()));
  replica_->program().parameters_changed();
}

void Distributed::share_running_statistics() {
  const auto statistics = std::as_writable_bytes(replica_->program().running_statistics());
  if (statistics.empty() || !options_.broadcast_buffers || communicator_.world_size() == 1) return;
  const PhaseScope scope(timer(), StepPhase::communication, statistics.size());
  communicator_.order(replica_->queue(),
                      communicator_.start_broadcast(statistics, kRoot, after_given()),
                      options_.timeout);
}

bool Distributed::record_steps() {
  records_ = replica_->can_record_steps() &&
             (communicator_.works_on_device() || communicator_.world_size() == 1);
  return records_;
}

void Distributed::take_step() {
  const WatchScope watched(communicator_, timer());
  if (steps() == 0) share_first_parameters();
  const bool records = records_ && !is_observed();
  // Once the first step has opened all connections.
  if (records && steps() > 0 && !replica_->has_recorded_steps()) record_step();
  if (records && replica_->has_recorded_steps())
    replay_step();
  else
    make_step();
  // By other ranks, too.
  if (communicator_.world_size() > 1) replica_->program().parameters_changed();
}

void Distributed::make_step() {
  share_running_statistics();
  if (communicator_.world_size() == 1 && replica_->updates_in_backward()) {
    replica_->make_step(next_update());
    if (PhaseTimer* const observing = timer()) observing->arrive();
    count_update();
    return;
  }
  replica_->prepare_update(next_update());
  replica_->compute_gradients(
      [this](Range slice, Program::ReadyMark ready) { on_gradients(slice, ready); });
  end_backward();
  if (is_observed()) timer()->arrive();
  const bool scales = !replica_->updates_slice_by_slice();
  if (scales) find_non_finite();
  const bool finite = !scales || read_finite();
  std::optional<Communicator::Ticket> last;
  if (finite) {
    last = update(next_update());
    count_update();
  }
  if (scales) replica_->finish_scaled_step(finite);
  end_update(last);
}

/// Behind what strategies start, whose updates need not wait for it.
void Distributed::end_backward() {
  on_backward_end();
  if (communicator_.works_on_device() && !sums_loss_) start_loss(*after_given());
  sums_loss_ = false;
}

/// `last`: of the update. Orders the queue after all operations of the step: tickets are in order.
void Distributed::end_update(std::optional<Communicator::Ticket> last) {
  if (!communicator_.works_on_device()) return sum_over_ranks(replica_->loss());
  last_ = std::max(last_, last);
  order(*last_);
}

/// Whether gradients are finite the device finds out itself: an update leaves all as it is where
/// they are not. A world of one has nothing to sum.
void Distributed::record_step() {
  replica_->record_step(
      next_update(),
      {.begin = [this] { share_running_statistics(); },
       .ready = [this](Range slice, Program::ReadyMark ready) { on_gradients(slice, ready); },
       .update = [this] { record_update(); }});
  last_.reset();  // of what was not done
}

void Distributed::record_update() {
  end_backward();
  if (!replica_->updates_slice_by_slice()) find_non_finite();
  const auto last = update(next_update());
  if (communicator_.works_on_device())
    end_update(last);
  else if (last)
    order(*last);
}

/// Collectives are part of what was recorded. Behind them comes an operation without values: a
/// ticket by which a reader waits with a deadline, and which tells the ranks that did not come.
void Distributed::replay_step() {
  replica_->replay_step(next_update());
  if (communicator_.works_on_device())
    last_ = communicator_.start_all_reduce(values_of(std::span<float>()), {}, after_given());
  const bool scales = !replica_->updates_slice_by_slice();
  const bool was_made = !scales || read_finite();
  if (was_made) count_update();
  if (scales) replica_->finish_scaled_step(was_made);
}

float Distributed::read_loss() {
  wait_for_operations();
  return replica_->read_loss();
}

/// By one clock, which all ranks of a host have. Until the last rank has come nobody's gradients
/// can be whole: what passed until then was waiting, not communication. Ranks of several hosts
/// cannot tell it apart.
void Distributed::after_observed_step() {
  if (!options_.share_clock) return;
  const double arrival = timer()->arrival();
  control_.exchange(std::as_bytes(std::span(&arrival, 1)),
                    std::as_writable_bytes(std::span(arrivals_)), options_.timeout);
  const double waited = *std::ranges::max_element(arrivals_) - arrival;
  const double communicated = timer()->since_arrival(StepPhase::communication);
  timer()->move(std::min(waited, communicated), StepPhase::communication, StepPhase::wait);
}

void Distributed::find_non_finite() {
  order_reduction();
  replica_->find_non_finite(reduced_slices());
  sum_over_ranks(replica_->non_finite());
}

bool Distributed::read_finite() {
  wait_for_operations();
  return replica_->read_finite();
}

}  // namespace ptbench
