#include "src/doctor/comm_calls.h"

#include "src/base/error.h"

namespace ptbench::comm {
namespace {

double ring_factor(double ranks) { return (ranks - 1) / ranks; }
double two_ring_factor(double ranks) { return 2 * ring_factor(ranks); }
double one_factor(double /*ranks*/) { return 1; }

Size check_sum(const Call& call, Pattern pattern, std::span<const float> result, Range range) {
  return Pattern::wrong(result, range, [&](Size i) { return pattern.sum(call.ranks(), i); });
}

Size check_all_gather(const Call& call, Pattern pattern, std::span<const float> result) {
  Size wrong = 0;
  for (Size owner = 0; owner < call.ranks(); ++owner)
    wrong += pattern.wrong_of(owner, result, call.part(owner));
  return wrong;
}

/// Other ranks than the root keep what they gave.
Size check_reduce(const Call& call, Pattern pattern, std::span<const float> result) {
  return call.rank() == kRoot ? check_sum(call, pattern, result, call.all())
                              : pattern.wrong_of(call.rank(), call.values.values(), call.all());
}

Size check_gather(const Call& call, Pattern pattern, std::span<const float> /*result*/) {
  if (call.rank() != kRoot) return 0;
  Size wrong = 0;
  for (Size owner = 0; owner < call.ranks(); ++owner)
    wrong +=
        Pattern::wrong(call.whole.values().subspan(static_cast<std::size_t>(owner * call.count())),
                       call.all(), [&](Size i) { return pattern.at(owner, i); });
  return wrong;
}

}  // namespace

std::vector<Collective> collectives() {
  return {
      {"all_reduce", two_ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_all_reduce(values_of(call.values.memory()), {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_all_reduce(call.values.memory(), call.whole.memory());
       },
       [](const Call& call, Pattern pattern, std::span<const float> result) {
         return check_sum(call, pattern, result, call.all());
       }},
      {"reduce_scatter", ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_reduce_scatter(values_of(call.values.memory()), {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_reduce_scatter(call.values.memory(), call.whole.memory());
       },
       [](const Call& call, Pattern pattern, std::span<const float> result) {
         return check_sum(call, pattern, result, call.part(call.rank()));
       }},
      {"all_gather", ring_factor, false, false,
       [](const Call& call) {
         return call.communicator().start_all_gather(values_of(call.values.memory()));
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_all_gather(call.values.memory(), call.whole.memory());
       },
       check_all_gather},
      {"broadcast", one_factor, false, true,
       [](const Call& call) {
         return call.communicator().start_broadcast(std::as_writable_bytes(call.values.memory()),
                                                    kRoot);
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_broadcast(call.values.memory(), call.whole.memory(), kRoot);
       },
       [](const Call& call, Pattern pattern, std::span<const float> result) {
         return pattern.wrong_of(kRoot, result, call.all());
       }},
      {"reduce", one_factor, true, true,
       [](const Call& call) {
         return call.communicator().start_reduce(values_of(call.values.memory()), kRoot, {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_reduce(call.values.memory(), call.whole.memory(), kRoot);
       },
       check_reduce},
      {"gather", ring_factor, false, true,
       [](const Call& call) {
         return call.communicator().start_gather(std::as_bytes(call.values.memory()),
                                                 std::as_writable_bytes(call.whole.memory()),
                                                 kRoot);
       },
       nullptr, check_gather},
  };
}

Collective find_collective(const std::string& name) {
  for (Collective& row : collectives())
    if (row.name == name) return row;
  throw Defect("a collective that cannot be measured");
}

}  // namespace ptbench::comm
