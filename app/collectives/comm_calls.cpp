#include "app/collectives/comm_calls.h"

#include "src/base/error.h"
#include "src/comm/exchange.h"

namespace ptbench::comm {
namespace {

double ring_factor(double ranks) { return (ranks - 1) / ranks; }
double two_ring_factor(double ranks) { return 2 * ring_factor(ranks); }
double one_factor(double /*ranks*/) { return 1; }

Size rounded_up(Size count, Size ranks) { return (count + ranks - 1) / ranks * ranks; }

Lengths in_place(Size count, Size /*ranks*/, Size /*rank*/) {
  return {.given = count, .counted = count};
}
Lengths lengths_of_gather(Size count, Size ranks, Size rank) {
  const Size all = rounded_up(count, ranks);
  return {.given = all / ranks, .result = rank == kRoot ? all : 0, .counted = all};
}
Lengths lengths_of_all_to_all(Size count, Size ranks, Size /*rank*/) {
  const Size all = rounded_up(count, ranks);
  return {.given = all, .result = all, .counted = all};
}
Lengths lengths_of_send_receive(Size count, Size /*ranks*/, Size /*rank*/) {
  return {.given = count, .result = count, .counted = count};
}

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

/// The rank that many places further round the ring.
Size neighbour(const Call& call, Size places) {
  return (call.rank() + places + call.ranks()) % call.ranks();
}

/// What two ranks give each other in an exchange of all.
std::span<float> share(std::span<float> values, Size rank, const Call& call) {
  const auto length = values.size() / static_cast<std::size_t>(call.ranks());
  return values.subspan(static_cast<std::size_t>(rank) * length, length);
}

/// Has messages leave that were started, where the device does what is started later.
Communicator::Ticket sent(const Call& call, Communicator::Ticket last) {
  if (call.communicator().works_on_device())
    call.communicator().order(call.on.device.compute(), last, call.timeout);
  return last;
}

Communicator::Ticket start_send_receive(const Call& call) {
  return sent(call,
              start_both_ways(call.communicator(), {.sent = std::as_bytes(call.values),
                                                    .to = neighbour(call, 1),
                                                    .received = std::as_writable_bytes(call.whole),
                                                    .from = neighbour(call, -1)}));
}

/// Each rank begins with another one, and has a bounded number of messages under way.
Communicator::Ticket start_all_to_all(const Call& call) {
  constexpr Size kMostUnderWay = 64;
  Communicator::Ticket last{};
  for (Size places = 0; places < call.ranks(); ++places) {
    if (places > 0 && places % kMostUnderWay == 0) call.communicator().wait(last, call.timeout);
    const Size to = neighbour(call, places);
    const Size from = neighbour(call, -places);
    last = start_both_ways(call.communicator(),
                           {.sent = std::as_bytes(share(call.values, to, call)),
                            .to = to,
                            .received = std::as_writable_bytes(share(call.whole, from, call)),
                            .from = from});
  }
  return sent(call, last);
}

Size check_send_receive(const Call& call, Pattern pattern, std::span<const float> result) {
  return pattern.wrong_of(neighbour(call, -1), result, gathered(call));
}

Size check_all_to_all(const Call& call, Pattern pattern, std::span<const float> result) {
  const Size length = call.count() / call.ranks();
  return Pattern::wrong(result, gathered(call), [&](Size i) {
    return pattern.at(i / length, call.rank() * length + i % length);
  });
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
      {"all_reduce", in_place, two_ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_all_reduce(values_of(call.values), {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_all_reduce(call.values, call.whole);
       },
       all_of, check_sum<all_of>},
      {"reduce_scatter", in_place, ring_factor, true, false,
       [](const Call& call) {
         return call.communicator().start_reduce_scatter(values_of(call.values), {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_reduce_scatter(call.values, call.whole);
       },
       own_part, check_sum<own_part>},
      {"all_gather", in_place, ring_factor, false, false,
       [](const Call& call) {
         return call.communicator().start_all_gather(values_of(call.values));
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_all_gather(call.values, call.whole);
       },
       all_of, check_all_gather},
      {"broadcast", in_place, one_factor, false, true,
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
      {"reduce", in_place, one_factor, true, true,
       [](const Call& call) {
         return call.communicator().start_reduce(values_of(call.values), kRoot, {});
       },
       [](OutOfPlace& communicator, const Call& call) {
         return communicator.start_reduce(call.values, call.whole, kRoot);
       },
       all_at_root, check_sum<all_at_root>},
      {"gather", lengths_of_gather, ring_factor, false, true,
       [](const Call& call) {
         return call.communicator().start_gather(std::as_bytes(call.values),
                                                 std::as_writable_bytes(call.whole), kRoot);
       },
       nullptr, gathered, check_gather},
      {"all_to_all", lengths_of_all_to_all, ring_factor, false, false, start_all_to_all, nullptr,
       gathered, check_all_to_all},
      {"send_receive", lengths_of_send_receive, one_factor, false, false, start_send_receive,
       nullptr, gathered, check_send_receive},
  };
}

Collective find_collective(const std::string& name) {
  for (Collective& row : collectives())
    if (row.name == name) return row;
  throw Defect("a collective that cannot be measured");
}

}  // namespace ptbench::comm
