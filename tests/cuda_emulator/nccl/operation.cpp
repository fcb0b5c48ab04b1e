#include "tests/cuda_emulator/nccl/operation.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/nccl/numbers.h"

namespace ptbench::emulator::nccl {
namespace {

[[noreturn]] void found(const std::string& fault) { ptbench_emulator_report(fault.c_str()); }

/// A request while it is carried out, in pieces as large as what ranks share.
class Progress {
 public:
  Progress(Communicator& communicator, const Request& request)
      : communicator_(communicator),
        request_(request),
        width_(width_of(request.type)),
        ranks_(static_cast<std::size_t>(communicator.place().ranks)),
        rank_(communicator.place().rank) {}

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] bool is_message() const {
    return request_.kind == Kind::send || request_.kind == Kind::receive;
  }
  [[nodiscard]] bool follows(const Progress& earlier) const {
    if (is_message() != earlier.is_message()) return false;
    return !is_message() ||
           (request_.kind == earlier.request_.kind && request_.root == earlier.request_.root);
  }
  /// Whether it got on.
  bool advance();

 private:
  void begin();
  void touch(const void* at, std::size_t bytes, bool writes) const;
  [[nodiscard]] Description description() const;
  bool post();
  bool take();
  void take_piece(std::size_t first, std::size_t count);
  void check_descriptions(U64 piece) const;
  bool send();
  bool receive();
  [[nodiscard]] bool all(std::atomic<U64> Region::Rank::* counter, U64 least) const {
    for (int rank = 0; rank < static_cast<int>(ranks_); ++rank)
      if (communicator_.region().rank(rank).*counter < least) return false;
    return true;
  }
  [[nodiscard]] bool sends() const {
    return request_.kind != Kind::broadcast || rank_ == request_.root;
  }
  [[nodiscard]] bool receives() const {
    return request_.kind != Kind::reduce || rank_ == request_.root;
  }
  [[nodiscard]] std::size_t sent_parts() const {
    return request_.kind == Kind::reduce_scatter ? ranks_ : 1;
  }
  [[nodiscard]] std::size_t received_parts() const {
    return request_.kind == Kind::all_gather ? ranks_ : 1;
  }
  [[nodiscard]] std::size_t left(std::size_t done) const {
    return std::min(request_.count - done, per_piece_);
  }

  Communicator& communicator_;
  Request request_;
  std::size_t width_;
  std::size_t ranks_;
  int rank_;
  std::size_t per_piece_ = 0;  ///< elements
  std::size_t posted_ = 0;     ///< elements, as also those below
  std::size_t taken_ = 0;
  bool has_begun_ = false;
  bool is_over_ = false;
};

void Progress::touch(const void* at, std::size_t bytes, bool writes) const {
  ptbench_emulator_touch(request_.call, at, bytes, writes);
}

/// Its accesses count from here on, and until it is over.
void Progress::begin() {
  has_begun_ = true;
  const std::size_t share = request_.count * width_;
  if (is_message()) {
    per_piece_ = kPairBytes / width_;
    if (request_.kind == Kind::send)
      touch(request_.from, share, false);
    else
      touch(request_.to, share, true);
    return;
  }
  per_piece_ = kSlotBytes / width_ / sent_parts();
  const std::size_t sent = sends() ? share * sent_parts() : 0;
  const std::size_t received = receives() ? share * received_parts() : 0;
  const std::size_t own = static_cast<std::size_t>(rank_) * share;
  const U8* in_place = request_.from;
  const U8* result = request_.to;
  if (request_.kind == Kind::all_gather) result += own;
  if (request_.kind == Kind::reduce_scatter) in_place += own;
  if (sent != 0 && received != 0 && in_place != result && request_.from < request_.to + received &&
      request_.to < request_.from + sent)
    found(text("overlap: ", request_.call,
               ": what it reads and what it writes overlap, and not as "
               "in place"));
  touch(request_.from, sent, false);
  touch(request_.to, received, true);
}

Description Progress::description() const {
  Description own{};
  std::snprintf(own.call.data(), own.call.size(), "%s", request_.call);
  own.count = request_.count;
  own.type = request_.type;
  const bool reduces = request_.kind == Kind::all_reduce || request_.kind == Kind::reduce_scatter ||
                       request_.kind == Kind::reduce;
  own.op = reduces ? request_.op : 0;
  own.factor = reduces ? request_.factor : 0;
  own.root = request_.root;
  return own;
}

/// "ncclReduce of 4 float32 with ncclSum, root 0".
std::string told(const Description& said) {
  std::string words = text(said.call.data(), " of ", said.count, " ",
                           name_of(static_cast<ncclDataType_t>(said.type)));
  if (said.factor != 0) words += text(" with ", name_of(static_cast<ncclRedOp_t>(said.op)));
  if (said.factor != 0 && said.factor != 1) words += text(" (scaled by ", said.factor, ")");
  return said.root < 0 ? words : words + text(", root ", said.root);
}

void Progress::check_descriptions(U64 piece) const {
  const Description own = description();
  for (int rank = 0; rank < static_cast<int>(ranks_); ++rank) {
    const Description& other = communicator_.region().rank(rank).described[piece % 2];
    if (other == own) continue;
    found(text("mismatch: rank ", rank_, " calls ", told(own), ", and rank ", rank, " ",
               told(other)));
  }
}

bool Progress::post() {
  Region::Rank& self = communicator_.self();
  const U64 piece = self.posted;
  if (posted_ == request_.count || !all(&Region::Rank::taken, piece == 0 ? 0 : piece - 1))
    return false;
  const std::size_t count = left(posted_);
  U8* slot = communicator_.region().slot(rank_, piece);
  ptbench_emulator_open_memory();
  if (sends())
    for (std::size_t part = 0; part < sent_parts(); ++part)
      std::memcpy(slot + part * count * width_,
                  request_.from + (part * request_.count + posted_) * width_, count * width_);
  self.described[piece % 2] = description();
  posted_ += count;
  self.posted = piece + 1;
  return true;
}

void Progress::take_piece(std::size_t first, std::size_t count) {
  if (!receives()) return;
  ptbench_emulator_open_memory();
  Region& region = communicator_.region();
  const U64 piece = communicator_.self().taken;
  U8* to = request_.to + first * width_;
  if (request_.kind == Kind::broadcast) {
    std::memcpy(to, region.slot(request_.root, piece), count * width_);
    return;
  }
  std::array<const U8*, kMaxRanks> sources{};
  const std::size_t offset =
      request_.kind == Kind::reduce_scatter ? static_cast<std::size_t>(rank_) * count * width_ : 0;
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    sources[rank] = region.slot(static_cast<int>(rank), piece) + offset;
  if (request_.kind == Kind::all_gather) {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      std::memcpy(to + rank * request_.count * width_, sources[rank], count * width_);
    return;
  }
  combine({.type = request_.type,
           .op = request_.op,
           .factor = request_.factor,
           .ranks = static_cast<int>(ranks_)},
          std::span(sources.data(), ranks_), to, count);
}

bool Progress::take() {
  Region::Rank& self = communicator_.self();
  const U64 piece = self.taken;
  if (taken_ == posted_ || !all(&Region::Rank::posted, piece + 1)) return false;
  check_descriptions(piece);
  const std::size_t count = left(taken_);
  take_piece(taken_, count);
  taken_ += count;
  self.taken = piece + 1;
  is_over_ = taken_ == request_.count;
  return true;
}

bool Progress::send() {
  Region::Pair& pair = communicator_.region().pair(rank_, request_.root);
  if (pair.posted != pair.taken) return false;
  const std::size_t count = left(posted_);
  ptbench_emulator_open_memory();
  std::memcpy(communicator_.region().pair_slot(rank_, request_.root),
              request_.from + posted_ * width_, count * width_);
  pair.count = request_.count;
  pair.type = request_.type;
  posted_ += count;
  ++pair.posted;
  is_over_ = posted_ == request_.count;
  return true;
}

bool Progress::receive() {
  Region::Pair& pair = communicator_.region().pair(request_.root, rank_);
  if (pair.posted == pair.taken) return false;
  if (pair.count != request_.count || pair.type != request_.type)
    found(text("mismatch: rank ", rank_, " receives ", request_.count, " ", name_of(request_.type),
               ", and rank ", request_.root, " sends ", pair.count, " ",
               name_of(static_cast<ncclDataType_t>(pair.type))));
  const std::size_t count = left(taken_);
  ptbench_emulator_open_memory();
  std::memcpy(request_.to + taken_ * width_, communicator_.region().pair_slot(request_.root, rank_),
              count * width_);
  taken_ += count;
  ++pair.taken;
  is_over_ = taken_ == request_.count;
  return true;
}

bool Progress::advance() {
  if (!has_begun_) begin();
  if (request_.kind == Kind::send) return send();
  if (request_.kind == Kind::receive) return receive();
  const bool has_posted = post();
  return take() || has_posted;
}

/// A launched group.
class Launched {
 public:
  Launched(std::shared_ptr<Communicator> communicator, const std::vector<Request>& requests)
      : communicator_(std::move(communicator)), number_(communicator_->issue()) {
    for (const Request& request : requests) parts_.emplace_back(*communicator_, request);
  }

  /// Whether it is over.
  bool attempt() {
    if (communicator_->is_aborted()) return true;
    if (!communicator_->has_turn(number_)) return false;
    while (advance()) {
    }
    if (!std::ranges::all_of(parts_, &Progress::is_over)) return false;
    communicator_->finish();
    return true;
  }

 private:
  bool advance() {
    bool has_advanced = false;
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      Progress& part = parts_[index];
      if (part.is_over()) continue;
      const bool waits = std::any_of(
          parts_.begin(), parts_.begin() + static_cast<long>(index),
          [&](const Progress& earlier) { return !earlier.is_over() && part.follows(earlier); });
      if (!waits && part.advance()) has_advanced = true;
    }
    return has_advanced;
  }

  std::shared_ptr<Communicator> communicator_;
  U64 number_;
  std::vector<Progress> parts_;
};

}  // namespace

std::function<bool()> make_attempt(const std::shared_ptr<Communicator>& communicator,
                                   const std::vector<Request>& requests) {
  if (communicator->has_left())
    found(text("use after destroy: ", requests.front().call,
               " of a graph, which was launched after its communicator had ended"));
  const auto launched = std::make_shared<Launched>(communicator, requests);
  return [launched] { return launched->attempt(); };
}

}  // namespace ptbench::emulator::nccl
