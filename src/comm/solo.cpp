#include "src/comm/solo.h"

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/comm/reduce.h"

namespace ptbench {
namespace {

void reduce_alone(Isa isa, std::span<float> values, Reduction reduction, ResultType result) {
  if (reduction.scale == 1 && reduction.wire == WireType::fp32) return;
  const std::array<const float*, 1> source{values.data()};
  const std::array<float*, 1> destination{values.data()};
  reduce_range(isa, {.sources = source, .destinations = destination},
               {0, static_cast<Size>(values.size())}, reduction, result);
}

}  // namespace

Communicator::Ticket SoloCommunicator::start_all_reduce(std::span<float> values,
                                                        Reduction reduction) {
  reduce_alone(isa_, values, reduction, ResultType::wire);
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_reduce_scatter(std::span<float> values,
                                                            Reduction reduction) {
  reduce_alone(isa_, values, reduction, ResultType::fp32);
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_all_gather(std::span<float> /*values*/) {
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_reduce(std::span<float> values, Size root,
                                                    Reduction reduction) {
  ensure(root == 0, "the root of a reduction is a rank of the group");
  reduce_alone(isa_, values, reduction, ResultType::fp32);
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_gather(std::span<const std::byte> part,
                                                    std::span<std::byte> whole, Size root) {
  ensure(root == 0, "the root of a gather is a rank of the group");
  ensure(whole.size() == part.size(), "a gather's whole holds every rank's part");
  if (part.data() != whole.data()) std::ranges::copy(part, whole.begin());
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_broadcast(std::span<std::byte> /*bytes*/, Size root) {
  ensure(root == 0, "the root of a broadcast is a rank of the group");
  return Ticket{++started_};
}

Communicator::Ticket SoloCommunicator::start_barrier() { return Ticket{++started_}; }

void SoloCommunicator::wait(Ticket ticket, Timeout /*timeout*/) {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
}

}  // namespace ptbench
