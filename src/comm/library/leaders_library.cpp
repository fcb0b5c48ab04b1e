#include "src/comm/library/leaders_library.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/comm/shm/reduce.h"
#include "src/comm/shm/shared_arena.h"
#include "src/comm/shm/shared_memory.h"
#include "src/device/isa.h"

namespace ptbench {
namespace {

constexpr Size kFloatsAtOnce = Size{1} << 18U;  ///< floats: 1 MiB
constexpr Size kMostUnderWay = 64;              ///< messages of a leader
constexpr Size kFirst = 0;                      ///< the leader's place on its host

using Ticket = Communicator::Ticket;

Values values_in(std::span<float> values, Range range) {
  return values_of(values.subspan(static_cast<std::size_t>(range.begin),
                                  static_cast<std::size_t>(range.size())));
}

Range piece(Size number, Size count) {
  return intersect({number * kFloatsAtOnce, (number + 1) * kFloatsAtOnce}, {0, count});
}

Size pieces_of(Size count) { return (count + kFloatsAtOnce - 1) / kFloatsAtOnce; }

class LeadersLibrary final : public GroupLibrary {
 public:
  /// `leaders`: among the leaders, by host; null on other ranks, and where there is one host.
  LeadersLibrary(RanksOfHosts hosts, Size rank, std::unique_ptr<GroupLibrary> plain,
                 std::unique_ptr<GroupLibrary> leaders)
      : hosts_(std::move(hosts)),
        place_(std::ranges::find(own_host(), rank) - own_host().begin()),
        plain_(std::move(plain)),
        leaders_(std::move(leaders)),
        host_(hosts_.region, place_),
        arena_(hosts_.region, place_),
        isa_(detect_isa()) {}

  void all_reduce(std::span<float> values) override {
    add_up(values, values, [&](Range part) {
      if (leaders_)
        leaders_->all_reduce(values.subspan(static_cast<std::size_t>(part.begin),
                                            static_cast<std::size_t>(part.size())));
      return host_.start_broadcast(values_in(values, part).bytes, kFirst);
    });
  }

  void reduce(std::span<float> values, Size root) override {
    const std::optional<std::size_t> host = led_by(root);
    if (!host) return plain_->reduce(values, root);
    const bool is_at_root = *host == hosts_.own;
    const std::span<float> sums = leads() && !is_at_root ? copy_of(values) : values;
    add_up(values, sums, [](Range) { return std::nullopt; });
    if (leaders_) leaders_->reduce(sums, static_cast<Size>(*host));
  }

  /// Leaders give each other the sums of their hosts, and each rank of theirs its part.
  bool reduce_scatter(std::span<float> values) override {
    const Size count = std::ssize(values);
    const std::span<float> sums = leads() ? copy_of(values) : values;
    add_up(values, sums, [](Range) { return std::nullopt; });
    const Range own = part_of(place_, count);
    if (!leads()) {
      finish(host_.start_receive(values_in(values, own).bytes, kFirst));
      return true;
    }
    add_up_hosts(sums);
    with_each_other([&](Size place) {
      return host_.start_send(values_in(sums, part_of(place, count)).bytes, place);
    });
    std::ranges::copy(
        sums.subspan(static_cast<std::size_t>(own.begin), static_cast<std::size_t>(own.size())),
        values.begin() + own.begin);
    return true;
  }

  void all_to_all(std::span<std::byte> sent, const std::vector<Bytes>& sent_bytes,
                  std::span<std::byte> received, Bytes received_bytes) override {
    plain_->all_to_all(sent, sent_bytes, received, received_bytes);
  }

  void all_gather(std::span<std::byte> whole, const std::vector<Bytes>& parts) override {
    std::vector<Bytes> of_hosts;
    std::vector<Bytes> begins;
    Bytes begin = 0;
    for (const Bytes part : parts) {
      begins.push_back(begin);
      begin += part;
    }
    for (const std::vector<Size>& members : hosts_.members) {
      Bytes bytes = 0;
      for (const Size member : members) bytes += parts[static_cast<std::size_t>(member)];
      of_hosts.push_back(bytes);
    }
    const auto bytes_of = [&](Size place) {
      const auto rank = static_cast<std::size_t>(own_host()[static_cast<std::size_t>(place)]);
      return whole.subspan(begins[rank], parts[rank]);
    };
    if (leads()) {
      with_each_other([&](Size place) { return host_.start_receive(bytes_of(place), place); });
      if (leaders_) leaders_->all_gather(whole, of_hosts);
    } else {
      finish(host_.start_send(bytes_of(place_), kFirst));
    }
    finish(host_.start_broadcast(whole, kFirst));
  }

  void gather(std::span<std::byte> part, std::span<std::byte> whole, Size root) override {
    plain_->gather(part, whole, root);
  }

  void broadcast(std::span<std::byte> bytes, Size root) override {
    const std::optional<std::size_t> host = led_by(root);
    if (!host) return plain_->broadcast(bytes, root);
    if (leaders_) leaders_->broadcast(bytes, static_cast<Size>(*host));
    finish(host_.start_broadcast(bytes, kFirst));
  }

  void barrier() override {
    finish(host_.start_barrier());
    if (leaders_) leaders_->barrier();
    finish(host_.start_barrier());
  }

  std::unique_ptr<LibraryMessage> send(std::span<const std::byte> bytes, Size to,
                                       std::uint64_t number) override {
    return plain_->send(bytes, to, number);
  }
  std::unique_ptr<LibraryMessage> receive(std::span<std::byte> bytes, Size from,
                                          std::uint64_t number) override {
    return plain_->receive(bytes, from, number);
  }

  MemorySource* memory() override { return &arena_; }

  void abort() noexcept override {
    hosts_.region.give_up(place_, "its run ends");
    plain_->abort();
    if (leaders_) leaders_->abort();
  }

 private:
  [[nodiscard]] const std::vector<Size>& own_host() const { return hosts_.members[hosts_.own]; }
  [[nodiscard]] bool leads() const { return place_ == kFirst; }
  [[nodiscard]] Size ranks() const {
    Size all = 0;
    for (const std::vector<Size>& members : hosts_.members) all += std::ssize(members);
    return all;
  }
  /// The host whose leader that rank is.
  [[nodiscard]] std::optional<std::size_t> led_by(Size rank) const {
    for (std::size_t host = 0; host < hosts_.members.size(); ++host)
      if (hosts_.leader_of(host) == rank) return host;
    return std::nullopt;
  }

  void finish(Ticket ticket) { host_.wait(ticket, Communicator::kLongWork); }

  /// A message of the leader with each other rank of its host, which `start` begins.
  template <class Start>
  void with_each_other(const Start& start) {
    std::optional<Ticket> last;
    for (Size place = 1; place < std::ssize(own_host()); ++place) {
      if (last && place % kMostUnderWay == 0) finish(*last);
      last = start(place);
    }
    if (last) finish(*last);
  }

  std::span<float> copy_of(std::span<const float> values) {
    sums_.assign(values.begin(), values.end());
    return sums_;
  }

  /// Puts the sum over the host's ranks into the leader's `sums`, piece by piece; `next` is called
  /// with each that is there, and may start what is done with it.
  template <class Next>
  void add_up(std::span<float> values, std::span<float> sums, const Next& next) {
    const Size count = std::ssize(values);
    const auto start = [&](Size number) {
      return host_.start_reduce(values_in(leads() ? sums : values, piece(number, count)), kFirst,
                                {});
    };
    std::optional<Ticket> last;
    std::optional<Ticket> sum;
    if (count > 0) sum = start(0);
    for (Size number = 0; number < pieces_of(count); ++number) {
      const Ticket own = *sum;
      if (number + 1 < pieces_of(count)) sum = start(number + 1);
      finish(own);
      if (const std::optional<Ticket> started = next(piece(number, count))) last = started;
    }
    if (last) finish(*last);
  }

  /// Of one of this host's ranks.
  [[nodiscard]] Range part_of(Size place, Size count) const {
    return rank_part(count, own_host()[static_cast<std::size_t>(place)], ranks());
  }

  /// The part of an array that a host's ranks have together.
  [[nodiscard]] Range part_of_host(std::size_t host, Size count) const {
    const std::vector<Size>& members = hosts_.members[host];
    return {rank_part(count, members.front(), ranks()).begin,
            rank_part(count, members.back(), ranks()).end};
  }

  /// Replaces the part of this host in its leader's sums by the sum over hosts, in their order.
  void add_up_hosts(std::span<float> sums) {
    if (!leaders_) return;
    const Size count = std::ssize(sums);
    std::vector<Bytes> sent;
    for (std::size_t host = 0; host < hosts_.members.size(); ++host)
      sent.push_back(float_bytes(part_of_host(host, count).size()));
    const Range own = part_of_host(hosts_.own, count);
    came_.resize(static_cast<std::size_t>(own.size()) * hosts_.members.size());
    leaders_->all_to_all(std::as_writable_bytes(sums), sent,
                         std::as_writable_bytes(std::span(came_)), float_bytes(own.size()));
    std::vector<const float*> sources;
    for (std::size_t host = 0; host < hosts_.members.size(); ++host)
      sources.push_back(came_.data() + static_cast<Size>(host) * own.size());
    const std::array<float*, 1> destination{sums.data() + own.begin};
    reduce_range(isa_, {.sources = sources, .destinations = destination}, {0, own.size()}, {},
                 ResultType::fp32);
  }

  RanksOfHosts hosts_;
  Size place_;  ///< of this rank on its host
  std::unique_ptr<GroupLibrary> plain_;
  std::unique_ptr<GroupLibrary> leaders_;
  SharedMemoryCommunicator host_;  ///< of the thread that does collectives
  SharedArena arena_;              ///< of the others
  Isa isa_;
  std::vector<float> sums_;
  std::vector<float> came_;
};

std::vector<Size> leaders_of(const RanksOfHosts& hosts) {
  std::vector<Size> leaders;
  for (std::size_t host = 0; host < hosts.members.size(); ++host)
    leaders.push_back(hosts.leader_of(host));
  return leaders;
}

}  // namespace

GroupLibraryMaker by_way_of_leaders(const EngineSetup& setup, GroupLibraryMaker plain) {
  return
      [hosts = *setup.hosts, rank = setup.rank, timeout = setup.timeout, plain = std::move(plain),
       is_made = std::make_shared<bool>()](
          Communicator& words, const std::vector<Size>& members) -> std::unique_ptr<GroupLibrary> {
        std::unique_ptr<GroupLibrary> all = plain(words, members);
        // Each rank of the hosts' memory is there once: for the world, which is made first.
        if (std::exchange(*is_made, true)) return all;
        const bool leads = hosts.leader_of(hosts.own) == rank;
        const std::unique_ptr<Communicator> group = words.split(leads ? 0 : 1, rank, timeout);
        std::unique_ptr<GroupLibrary> leaders;
        if (leads && hosts.members.size() > 1) leaders = plain(*group, leaders_of(hosts));
        return std::make_unique<LeadersLibrary>(hosts, rank, std::move(all), std::move(leaders));
      };
}

}  // namespace ptbench
