#include "strategies/distributed.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/hash.h"

namespace ptbench {
namespace {

constexpr std::size_t kCell = 16;  // floats of a cache line
constexpr std::size_t kCells = 2;  // the loss, and ranks whose gradients are not finite

std::span<float> slice_of(std::span<float> arena, Range slice) {
  return arena.subspan(static_cast<std::size_t>(slice.begin),
                       static_cast<std::size_t>(slice.size()));
}

/// What ranks must have in common for their arenas to mean the same, as digests.
using ModelDigest = std::array<std::uint64_t, 3>;
constexpr std::array<std::string_view, 3> kDigested{
    "the names of their parameters", "the shapes of their parameters", "the hashes of their plans"};

ModelDigest digest_of(const ProgramPlan& plan) {
  std::uint64_t names = fnv1a("");
  std::uint64_t shapes = fnv1a("");
  for (const ParameterSpec& tensor : plan.tensors()) {
    names = fnv1a("\n", fnv1a(tensor.name, names));
    shapes = fnv1a("\n", fnv1a(tensor.shape.text(), shapes));
  }
  return {names, shapes, fnv1a(plan.hash())};
}

std::optional<std::string_view> difference(const ModelDigest& a, const ModelDigest& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return kDigested[i];
  return std::nullopt;
}

std::unique_ptr<Replica> only(std::vector<std::unique_ptr<Replica>> replicas) {
  ensure(replicas.size() == 1, "each rank of a data-parallel strategy has one replica");
  return std::move(replicas.front());
}

}  // namespace

Distributed::Distributed(StrategyContext context)
    : replica_(only(std::move(context.replicas))),
      communicator_(context.communicator),
      options_(context.data_parallel),
      cells_(communicator_.memory().allocate(kCells * kCell * sizeof(float), "sums over ranks")) {
  check_agreement();
}

std::span<float> Distributed::gradients(Range slice) {
  return slice_of(replica_->program().gradients(), slice);
}

std::span<float> Distributed::parameters(Range slice) {
  return slice_of(replica_->program().parameters(), slice);
}

void Distributed::wait(Communicator::Ticket ticket) {
  const PhaseScope scope(timer(), StepPhase::communication);
  communicator_.wait(ticket, options_.timeout);
}

void Distributed::check_agreement() {
  const ModelDigest own = digest_of(replica_->program().plan());
  std::vector<ModelDigest> all(static_cast<std::size_t>(communicator_.world_size()));
  const auto bytes = std::as_writable_bytes(std::span(all));
  const bool is_root = communicator_.rank() == kRoot;
  communicator_.wait(communicator_.start_gather(std::as_bytes(std::span(own)),
                                                is_root ? bytes : std::span<std::byte>(), kRoot),
                     options_.timeout);
  communicator_.wait(communicator_.start_broadcast(bytes, kRoot), options_.timeout);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (const auto what = difference(all.front(), all[rank]))
      throw run_error(
          fmt::format("ranks 0 and {} do not train the same model: {} differ", rank, *what),
          "start all ranks with the same model, options and plan");
}

/// As late as this, since weights are set after a strategy was built.
void Distributed::share_first_parameters() {
  const auto all = std::as_writable_bytes(parameters(replica_->all()));
  wait(communicator_.start_broadcast(all, kRoot));
  replica_->program().parameters_changed();
}

float Distributed::take_step() {
  if (steps_ == 0) share_first_parameters();
  ++steps_;
  const float share = compute_gradients();
  if (replica_->updates_slice_by_slice()) {
    update(++updates_);
  } else {
    finish_reduction();
    const bool finite = agree_on_finiteness();
    if (finite) update(++updates_);
    replica_->finish_scaled_step(finite);
  }
  // Waits for what `update` has started, too.
  const float loss = sum_over_ranks(cells_.as<float>().first(1), share);
  replica_->program().parameters_changed();
  return loss;
}

bool Distributed::agree_on_finiteness() {
  const float own = gradients_finite() ? 0.0F : 1.0F;
  return sum_over_ranks(cells_.as<float>().subspan(kCell, 1), own) == 0;
}

float Distributed::sum_over_ranks(std::span<float> cell, float value) {
  cell.front() = value;
  wait(communicator_.start_all_reduce(cell, {}));
  return cell.front();
}

}  // namespace ptbench
