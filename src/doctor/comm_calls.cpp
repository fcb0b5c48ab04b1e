#include "src/doctor/comm_calls.h"

#include "src/base/error.h"

namespace ptbench::comm {
namespace {

double ring_factor(double ranks) { return (ranks - 1) / ranks; }
double two_ring_factor(double ranks) { return 2 * ring_factor(ranks); }
double one_factor(double /*ranks*/) { return 1; }

Range all_of(const Call& call) { return call.all(); }
Range own_part(const Call& call) { return call.part(call.rank()); }
Range all_at_root(const Call& call) { return call.rank() == kRoot ? call.all() : Range{0, 0}; }
Range gathered(const Call& call) { return {0, static_cast<Size>(call.whole.size())}; }

template <auto Part>
Size check_sum(const Call& call, Pattern pattern, std::span<const float> result) {
  return Pattern::wrong(result, Part(call), [&](Size i) { return pattern.sum(call.ranks(), i); });
}

Size check_all_gather(const Call& call, Pattern pattern, std::span<const float> result) {
  Size wrong = 0;
  for (Size owner = 0; owner < call.ranks(); ++owner)
    wrong += pattern.wrong_of(owner, result, call.part(owner));
  return wrong;
}

Size check_gather(const Call& call, Pattern pattern, std::span<const float> result) {
  return Pattern::wrong(result, gathered(call),
                        [&](Size i) { return pattern.at(i / call.count(), i % call.count()); });
}

}  // namespace

HostSide::HostSide(Device& device, Size most) : device_(device) {
  if (device.shares_memory_with_host()) return;
  copy_ = device.page_locked_memory().allocate(float_bytes(most), "the host's side of arrays");
}

std::span<float> HostSide::side_of(std::span<float> memory) {
  if (device_.shares_memory_with_host()) return memory;
  return copy_.as<float>().first(memory.size());
}

std::span<const float> HostSide::fetch(std::span<float> memory) {
  if (memory.empty()) return memory;
  device_.finish();
  const std::span<float> values = side_of(memory);
  if (values.data() == memory.data()) return memory;
  device_.compute().copy(std::as_bytes(memory), std::as_writable_bytes(values));
  device_.compute().finish();
  return values;
}

void HostSide::send(std::span<const float> values, std::span<float> memory) {
  if (values.data() == memory.data()) return;
  device_.compute().copy(std::as_bytes(values), std::as_writable_bytes(memory));
  device_.compute().finish();
}

std::vector<Collective> collectives() {
  return {
      {"all_reduce", two_ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_all_reduce(values_of(call.values), {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_all_reduce(call.values, call.whole);
       },
       all_of, check_sum<all_of>},
      {"reduce_scatter", ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_reduce_scatter(values_of(call.values), {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_reduce_scatter(call.values, call.whole);
       },
       own_part, check_sum<own_part>},
      {"all_gather", ring_factor, false, false,
       [](const Call& call) {
         return call.communicator().start_all_gather(values_of(call.values));
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_all_gather(call.values, call.whole);
       },
       all_of, check_all_gather},
      {"broadcast", one_factor, false, true,
       [](const Call& call) {
         return call.communicator().start_broadcast(std::as_writable_bytes(call.values), kRoot);
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_broadcast(call.values, call.whole, kRoot);
       },
       all_of,
       [](const Call& call, Pattern pattern, std::span<const float> result) {
         return pattern.wrong_of(kRoot, result, call.all());
       }},
      {"reduce", one_factor, true, true,
       [](const Call& call) {
         return call.communicator().start_reduce(values_of(call.values), kRoot, {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_reduce(call.values, call.whole, kRoot);
       },
       all_at_root, check_sum<all_at_root>},
      {"gather", ring_factor, false, true,
       [](const Call& call) {
         return call.communicator().start_gather(std::as_bytes(call.values),
                                                 std::as_writable_bytes(call.whole), kRoot);
       },
       nullptr, gathered, check_gather},
  };
}

Collective find_collective(const std::string& name) {
  for (Collective& row : collectives())
    if (row.name == name) return row;
  throw Defect("a collective that cannot be measured");
}

}  // namespace ptbench::comm
