#include "src/comm/mpi/mpi_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/mpi/check.h"
#include "src/comm/mpi/mpi_session.h"
#include "src/comm/shm/reduce.h"
#include "src/device/isa.h"

namespace ptbench::over_mpi {
namespace {

using Clock = std::chrono::steady_clock;

int count_of(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw run_error(fmt::format("MPI takes no {} values at once", count));
  return static_cast<int>(count);
}

/// The only way to have MPI work on what was started. Others may compute in between.
class Patience {
 public:
  void rest() const {
    constexpr std::chrono::milliseconds kBusy{50};
    constexpr std::chrono::microseconds kNap{50};
    if (Clock::now() - begin_ < kBusy)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kNap);
  }

 private:
  Clock::time_point begin_ = Clock::now();
};

void require_whole(const MpiSession& session) {
  if (session.is_broken()) throw run_error("it was aborted");
}

class MpiMessage final : public LibraryMessage {
 public:
  /// `received`: its length; of a send -1.
  MpiMessage(const MpiSession& session, MPI_Request request, int received)
      : session_(session), request_(request), received_(received) {}

  void finish(Communicator::Timeout timeout) override {
    const Clock::time_point deadline = Clock::now() + timeout;
    const Patience patience;
    MPI_Status status;
    for (int is_done = 0; is_done == 0;) {
      require_whole(session_);
      PTBENCH_MPI(MPI_Test(&request_, &is_done, &status));
      if (is_done == 0 && Clock::now() >= deadline) throw run_error("it is late");
      if (is_done == 0) patience.rest();
    }
    if (received_ < 0) return;
    int came = 0;
    PTBENCH_MPI(MPI_Get_count(&status, MPI_BYTE, &came));
    if (came != received_) throw run_error(fmt::format("{} bytes were sent", came));
  }

 private:
  const MpiSession& session_;
  MPI_Request request_;
  int received_;
};

/// Parts in bytes, one after the other, as MPI's calls for parts of unlike lengths take them.
struct Parts {
  std::vector<int> counts;
  std::vector<int> places;

  Parts() = default;
  explicit Parts(const std::vector<Bytes>& lengths) {
    Bytes at = 0;
    for (const Bytes length : lengths) {
      counts.push_back(count_of(length));
      places.push_back(count_of(at));
      at += length;
    }
  }
};

class MpiLibrary final : public GroupLibrary {
 public:
  MpiLibrary(std::shared_ptr<MpiSession> session, MPI_Comm group, Size rank, Size ranks)
      : session_(std::move(session)), group_(group), rank_(rank), ranks_(ranks) {}
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;
  ~MpiLibrary() override {
    if (!session_->is_broken()) PTBENCH_MPI_NOTE(MPI_Comm_free(&group_));
  }

  /// Long arrays by way of each rank's part, which that rank adds up: what Open MPI has that does
  /// not block takes more than twice as long. Short ones not in place, which is slower still.
  void all_reduce(std::span<float> values) override {
    constexpr std::size_t kLong = (std::size_t{64} << 10U) / sizeof(float);
    if (values.empty()) return;
    if (values.size() >= kLong) return all_reduce_by_parts(values);
    came_.resize(std::max(came_.size(), values.size()));
    complete([&](MPI_Request* request) {
      PTBENCH_MPI(MPI_Iallreduce(values.data(), came_.data(), count_of(values.size()), MPI_FLOAT,
                                 MPI_SUM, group_, request));
    });
    std::copy_n(came_.begin(), values.size(), values.begin());
  }
  void reduce(std::span<float> values, Size root) override {
    const bool is_root = rank_ == root;
    complete([&](MPI_Request* request) {
      PTBENCH_MPI(MPI_Ireduce(is_root ? MPI_IN_PLACE : values.data(),
                              is_root ? values.data() : nullptr, count_of(values.size()), MPI_FLOAT,
                              MPI_SUM, static_cast<int>(root), group_, request));
    });
  }
  void all_to_all(std::span<std::byte> sent, const std::vector<Bytes>& sent_bytes,
                  std::span<std::byte> received, Bytes received_bytes) override {
    const Parts from(sent_bytes);
    const Parts to(std::vector<Bytes>(sent_bytes.size(), received_bytes));
    complete([&](MPI_Request* request) {
      PTBENCH_MPI(MPI_Ialltoallv(sent.data(), from.counts.data(), from.places.data(), MPI_BYTE,
                                 received.data(), to.counts.data(), to.places.data(), MPI_BYTE,
                                 group_, request));
    });
  }
  void all_gather(std::span<std::byte> whole, const std::vector<Bytes>& parts) override {
    const Parts all(parts);
    complete([&](MPI_Request* request) {
      PTBENCH_MPI(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole.data(),
                                  all.counts.data(), all.places.data(), MPI_BYTE, group_, request));
    });
  }
  void gather(std::span<std::byte> part, std::span<std::byte> whole, Size root) override {
    const int count = count_of(part.size());
    // Not even the root's own part may lie where it is put.
    const bool is_in_place =
        rank_ == root &&
        part.data() == whole.data() + static_cast<std::size_t>(rank_) * part.size();
    complete([&](MPI_Request* request) {
      PTBENCH_MPI(MPI_Igather(is_in_place ? MPI_IN_PLACE : part.data(), count, MPI_BYTE,
                              whole.data(), count, MPI_BYTE, static_cast<int>(root), group_,
                              request));
    });
  }
  void broadcast(std::span<std::byte> bytes, Size root) override {
    complete([&](MPI_Request* request) {
      PTBENCH_MPI(MPI_Ibcast(bytes.data(), count_of(bytes.size()), MPI_BYTE, static_cast<int>(root),
                             group_, request));
    });
  }
  void barrier() override {
    complete([&](MPI_Request* request) { PTBENCH_MPI(MPI_Ibarrier(group_, request)); });
  }

  std::unique_ptr<LibraryMessage> send(std::span<const std::byte> bytes, Size to,
                                       std::uint64_t number) override {
    require_whole(*session_);
    MPI_Request request = MPI_REQUEST_NULL;
    PTBENCH_MPI(MPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, static_cast<int>(to),
                          tag_of(number), group_, &request));
    return std::make_unique<MpiMessage>(*session_, request, -1);
  }
  std::unique_ptr<LibraryMessage> receive(std::span<std::byte> bytes, Size from,
                                          std::uint64_t number) override {
    require_whole(*session_);
    const int count = count_of(bytes.size());
    MPI_Request request = MPI_REQUEST_NULL;
    PTBENCH_MPI(MPI_Irecv(bytes.data(), count, MPI_BYTE, static_cast<int>(from), tag_of(number),
                          group_, &request));
    return std::make_unique<MpiMessage>(*session_, request, count);
  }

  void abort() noexcept override { session_->break_off(); }

 private:
  /// A stretch of an array whose parts, one a rank, are added up and given back.
  struct Stretch {
    std::span<float> values;
    Range own;
    Parts from;
    Parts to;
    Parts back;
    std::vector<float> came;
    MPI_Request exchange = MPI_REQUEST_NULL;
    MPI_Request gather = MPI_REQUEST_NULL;
  };

  /// While a stretch is added up, the next one's parts are under way.
  void all_reduce_by_parts(std::span<float> values) {
    constexpr std::size_t kFloats = std::size_t{1} << 18U;  // what is added up stays in a cache
    const auto begin = [&](Stretch& stretch) {
      stretch.values = values.first(std::min(values.size(), kFloats));
      values = values.subspan(stretch.values.size());
      start_exchange(stretch);
    };
    Size next = 0;
    begin(stretches_[0]);
    for (bool is_last = false; !is_last; next = 1 - next) {
      Stretch& stretch = stretches_[static_cast<std::size_t>(next)];
      Stretch& other = stretches_[static_cast<std::size_t>(1 - next)];
      finish(other.gather);
      is_last = values.empty();
      if (!is_last) begin(other);
      finish(stretch.exchange);
      add_up(stretch);
      start_gather(stretch);
    }
    for (Stretch& stretch : stretches_) finish(stretch.gather);
  }

  /// A rank's own part is added where it lies, and sent nowhere.
  void start_exchange(Stretch& stretch) {
    const Size count = std::ssize(stretch.values);
    stretch.own = rank_part(count, rank_, ranks_);
    std::vector<Bytes> parts;
    for (Size rank = 0; rank < ranks_; ++rank)
      parts.push_back(float_bytes(rank_part(count, rank, ranks_).size()));
    stretch.back = Parts(parts);
    stretch.from = stretch.back;
    stretch.to = Parts(std::vector<Bytes>(parts.size(), float_bytes(stretch.own.size())));
    stretch.from.counts[static_cast<std::size_t>(rank_)] = 0;
    stretch.to.counts[static_cast<std::size_t>(rank_)] = 0;
    stretch.came.resize(
        std::max(stretch.came.size(), static_cast<std::size_t>(stretch.own.size() * ranks_)));
    require_whole(*session_);
    PTBENCH_MPI(MPI_Ialltoallv(stretch.values.data(), stretch.from.counts.data(),
                               stretch.from.places.data(), MPI_BYTE, stretch.came.data(),
                               stretch.to.counts.data(), stretch.to.places.data(), MPI_BYTE, group_,
                               &stretch.exchange));
  }

  void add_up(Stretch& stretch) const {
    float* const sum = stretch.values.data() + stretch.own.begin;
    std::vector<const float*> sources;
    for (Size rank = 0; rank < ranks_; ++rank)
      sources.push_back(rank == rank_ ? sum : stretch.came.data() + rank * stretch.own.size());
    const std::array<float*, 1> destination{sum};
    reduce_range(isa_, {.sources = sources, .destinations = destination}, {0, stretch.own.size()},
                 {}, ResultType::fp32);
  }

  void start_gather(Stretch& stretch) const {
    require_whole(*session_);
    PTBENCH_MPI(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, stretch.values.data(),
                                stretch.back.counts.data(), stretch.back.places.data(), MPI_BYTE,
                                group_, &stretch.gather));
  }

  /// Every MPI has tags up to 2^15 - 1; messages of a pair keep their order.
  static int tag_of(std::uint64_t number) { return static_cast<int>(number & 0x7fffU); }

  /// What was started when the session is broken off is left alone: nobody calls MPI any more.
  template <class Start>
  void complete(const Start& start) const {
    require_whole(*session_);
    MPI_Request request = MPI_REQUEST_NULL;
    start(&request);
    finish(request);
  }

  /// No request is a finished one.
  void finish(MPI_Request& request) const {
    const Patience patience;
    for (int is_done = 0; is_done == 0;) {
      require_whole(*session_);
      PTBENCH_MPI(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE));
      if (is_done == 0) patience.rest();
    }
  }

  std::shared_ptr<MpiSession> session_;
  MPI_Comm group_;
  Size rank_;
  Size ranks_;
  Isa isa_ = detect_isa();
  std::vector<float> came_;
  std::array<Stretch, 2> stretches_;
};

MPI_Comm group_of(const std::vector<Size>& members) {
  std::vector<int> ranks;
  for (const Size member : members) ranks.push_back(static_cast<int>(member));
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  PTBENCH_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
  PTBENCH_MPI(MPI_Group_incl(world, count_of(ranks.size()), ranks.data(), &some));
  PTBENCH_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made));
  PTBENCH_MPI(MPI_Group_free(&some));
  PTBENCH_MPI(MPI_Group_free(&world));
  PTBENCH_MPI(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  return made;
}

}  // namespace

GroupLibraryMaker library_maker(Size rank, Size ranks) {
  auto session = std::make_shared<MpiSession>(rank, ranks);
  return [session](Communicator& host,
                   const std::vector<Size>& members) -> std::unique_ptr<GroupLibrary> {
    try {
      require_whole(*session);
      return std::make_unique<MpiLibrary>(session, group_of(members), host.rank(),
                                          std::ssize(members));
    } catch (...) {
      session->break_off();
      throw;
    }
  };
}

}  // namespace ptbench::over_mpi
