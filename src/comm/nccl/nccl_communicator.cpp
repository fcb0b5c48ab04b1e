#include "src/comm/nccl/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/comm/nccl/check.h"
#include "src/comm/nccl/wire.h"
#include "src/comm/operation_text.h"
#include "src/device/cuda/check.h"
#include "src/device/cuda/cuda_queue.h"

namespace ptbench::nccl {
namespace {

using shared::Collective;
using shared::Operation;

ncclDataType_t type_of(ElementType type) {
  switch (kept_type(type)) {
    case ElementType::bf16: return ncclBfloat16;
    case ElementType::f16: return ncclFloat16;
    default: return ncclFloat32;
  }
}

/// A sum of values times a scale, for as long as it lives.
class ScaledSum {
 public:
  ScaledSum(NcclComm& comm, float scale, ElementType type) : comm_(comm) {
    if (scale == 1) return;
    ensure(type == ElementType::f32 || type == ElementType::bf16, "scaled sums are f32 or bf16");
    // The upper half of a float is the value in bf16, cut.
    auto halves = std::bit_cast<std::array<std::uint16_t, 2>>(scale);
    void* scalar = type == ElementType::f32 ? static_cast<void*>(&scale) : &halves[1];
    PTBENCH_NCCL(ncclRedOpCreatePreMulSum(&sum_, scalar, type_of(type), ncclScalarHostImmediate,
                                          comm.handle()));
    is_own_ = true;
  }
  ~ScaledSum() {
    if (is_own_ && comm_.handle() != nullptr)
      PTBENCH_NCCL_NOTE(ncclRedOpDestroy(sum_, comm_.handle()));
  }
  ScaledSum(const ScaledSum&) = delete;
  ScaledSum& operator=(const ScaledSum&) = delete;

  [[nodiscard]] ncclRedOp_t get() const { return sum_; }

 private:
  NcclComm& comm_;
  ncclRedOp_t sum_ = ncclSum;
  bool is_own_ = false;
};

std::size_t size_of(Size count) { return static_cast<std::size_t>(count); }

}  // namespace

NcclCommunicator::NcclCommunicator(std::shared_ptr<NcclRank> rank, Parts parts)
    : rank_(std::move(rank)),
      parts_(std::move(parts)),
      token_(memory().allocate(sizeof(float), "what barriers add")),
      exceptions_(std::uncaught_exceptions()) {
  rank_->add(*this);
}

NcclCommunicator::~NcclCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) rank_->give_up("an error ended it");
  parts_.messages.reset();
  parts_.collectives.reset();
  rank_->remove(*this);
}

void NcclCommunicator::abort() const noexcept {
  if (parts_.messages) parts_.messages->abort();
  if (parts_.collectives) parts_.collectives->abort();
}

/// As errors tell it: by ranks of the world. Communicators of NCCL get no other.
Operation NcclCommunicator::told(Operation operation) const {
  operation.root = parts_.ranks[size_of(operation.root)];
  return operation;
}

void NcclCommunicator::require_member(Size rank) const {
  ensure(rank >= 0 && rank < world_size(), "the other rank is one of the group");
}

/// `work` gives it to the stream of collectives.
Communicator::Ticket NcclCommunicator::start(const Operation& operation, const Event* after,
                                             FunctionRef<void()> work) {
  rank_->require_going([&] { return operation_text(told(operation)); });
  rank_->make_current();
  const std::uint64_t number = rank_->count_start(is_world());
  const WorkEvents watched = watch_ == nullptr ? WorkEvents{} : watch_->next();
  parts_.collectives->wait_for(after);
  parts_.collectives->record(watched.begin);
  work();
  parts_.collectives->record(watched.end);
  parts_.collectives->mark(++started_, number, told(operation));
  return Ticket{started_};
}

void NcclCommunicator::give(const Operation& operation, FunctionRef<void()> calls) const {
  parts_.collectives->give(calls, told(operation));
}

/// In the type in which they travel: where they lie, or in a copy that the stream fills.
NcclCommunicator::Travelling NcclCommunicator::pack(Values values, const Operation& operation) {
  if (operation.wire == WireType::fp32 || values.type != ElementType::f32)
    return {.data = values.bytes.data(), .count = values.count(), .type = values.type};
  const Bytes bytes = size_of(values.count()) * sizeof(std::uint16_t);
  // Work that was started reads the smaller ones still.
  if (packed_.empty() || packed_.back().as<std::byte>().size() < bytes)
    packed_.push_back(
        memory().allocate(std::bit_ceil(std::max<Bytes>(bytes, 1)), "gradients on their way"));
  auto* packed = packed_.back().as<std::uint16_t>().data();
  pack_bf16(reinterpret_cast<const float*>(values.bytes.data()), values.count(), packed, stream());
  return {.data = reinterpret_cast<std::byte*>(packed),
          .count = values.count(),
          .type = ElementType::bf16};
}

/// What has come of `part`.
void NcclCommunicator::unpack(const Travelling& travelling, Values values, Range part) {
  if (travelling.data == values.bytes.data() || part.empty()) return;
  unpack_bf16(reinterpret_cast<const std::uint16_t*>(travelling.at(part.begin)), part.size(),
              reinterpret_cast<float*>(values.bytes.data()) + part.begin, stream());
}

/// Of which this rank gets `result`.
Communicator::Ticket NcclCommunicator::start_reduction(
    Operation operation, Values values, const Event* after, Range result,
    FunctionRef<void(const Travelling&, ncclRedOp_t)> calls) {
  ensure(values.bytes.size() % bytes_of(values.type) == 0, "values are whole elements");
  operation.type = values.type;
  operation.bytes = values.bytes.size();
  return start(operation, after, [&] {
    if (values.bytes.empty()) return;
    const Travelling travelling = pack(values, operation);
    const ScaledSum sum(*parts_.collectives, operation.scale, travelling.type);
    give(operation, [&] { calls(travelling, sum.get()); });
    unpack(travelling, values, result);
  });
}

Communicator::Ticket NcclCommunicator::start_all_reduce(Values values, Reduction reduction,
                                                        const Event* after) {
  return start_reduction(
      {.collective = Collective::all_reduce, .wire = reduction.wire, .scale = reduction.scale},
      values, after, {0, values.count()}, [&](const Travelling& all, ncclRedOp_t sum) {
        PTBENCH_NCCL(ncclAllReduce(all.data, all.data, size_of(all.count), type_of(all.type), sum,
                                   parts_.collectives->handle(), stream()));
      });
}

/// Parts of unlike lengths are reduced one by one: as many bytes go over each link, as a ring of a
/// reduction moves a part over all but one.
Communicator::Ticket NcclCommunicator::start_reduce_scatter(Values values, Reduction reduction,
                                                            const Event* after) {
  const auto calls = [&](const Travelling& all, ncclRedOp_t sum) {
    const ncclComm_t comm = parts_.collectives->handle();
    if (has_equal_parts(all.count, world_size())) {
      const Range own = own_part(all.count);
      PTBENCH_NCCL(ncclReduceScatter(all.data, all.at(own.begin), size_of(own.size()),
                                     type_of(all.type), sum, comm, stream()));
      return;
    }
    for (Size root = 0; root < world_size(); ++root) {
      const Range part = rank_part(all.count, root, world_size());
      if (part.empty()) continue;
      PTBENCH_NCCL(ncclReduce(all.at(part.begin), all.at(part.begin), size_of(part.size()),
                              type_of(all.type), sum, static_cast<int>(root), comm, stream()));
    }
  };
  return start_reduction(
      {.collective = Collective::reduce_scatter, .wire = reduction.wire, .scale = reduction.scale},
      values, after, own_part(values.count()), calls);
}

Communicator::Ticket NcclCommunicator::start_reduce(Values values, Size root, Reduction reduction,
                                                    const Event* after) {
  require_member(root);
  const bool is_root = rank() == root;
  return start_reduction(
      {.collective = Collective::reduce,
       .wire = reduction.wire,
       .at_root = reduction.at_root,
       .scale = reduction.scale,
       .root = root},
      values, after, is_root ? Range{0, values.count()} : Range{},
      [&](const Travelling& all, ncclRedOp_t sum) {
        PTBENCH_NCCL(ncclReduce(all.data, is_root ? all.data : nullptr, size_of(all.count),
                                type_of(all.type), sum, static_cast<int>(root),
                                parts_.collectives->handle(), stream()));
      });
}

Communicator::Ticket NcclCommunicator::start_all_gather(Values values, const Event* after) {
  const Operation operation{
      .collective = Collective::all_gather, .type = values.type, .bytes = values.bytes.size()};
  const Travelling all{.data = values.bytes.data(), .count = values.count(), .type = values.type};
  const ncclDataType_t type = type_of(values.type);
  return start(operation, after, [&] {
    if (all.count == 0) return;
    give(operation, [&] {
      const ncclComm_t comm = parts_.collectives->handle();
      if (has_equal_parts(all.count, world_size())) {
        const Range own = own_part(all.count);
        PTBENCH_NCCL(
            ncclAllGather(all.at(own.begin), all.data, size_of(own.size()), type, comm, stream()));
        return;
      }
      for (Size root = 0; root < world_size(); ++root) {
        const Range part = rank_part(all.count, root, world_size());
        if (part.empty()) continue;
        PTBENCH_NCCL(ncclBroadcast(all.at(part.begin), all.at(part.begin), size_of(part.size()),
                                   type, static_cast<int>(root), comm, stream()));
      }
    });
  });
}

Communicator::Ticket NcclCommunicator::start_gather(std::span<const std::byte> part,
                                                    std::span<std::byte> whole, Size root,
                                                    const Event* after) {
  require_member(root);
  const bool is_root = rank() == root;
  ensure(!is_root || whole.size() == part.size() * size_of(world_size()),
         "a gather's whole holds every rank's part");
  const Operation operation{.collective = Collective::gather, .root = root, .bytes = part.size()};
  return start(operation, after, [&] {
    if (part.empty()) return;
    std::byte* own = is_root ? whole.data() + size_of(rank()) * part.size() : nullptr;
    if (is_root && own != part.data())
      PTBENCH_CUDA(cudaMemcpyAsync(own, part.data(), part.size(), cudaMemcpyDefault, stream()));
    if (world_size() == 1) return;
    give(operation, [&] {
      const ncclComm_t comm = parts_.collectives->handle();
      if (!is_root)
        PTBENCH_NCCL(
            ncclSend(part.data(), part.size(), ncclUint8, static_cast<int>(root), comm, stream()));
      for (Size from = 0; is_root && from < world_size(); ++from)
        if (from != root)
          PTBENCH_NCCL(ncclRecv(whole.data() + size_of(from) * part.size(), part.size(), ncclUint8,
                                static_cast<int>(from), comm, stream()));
    });
  });
}

Communicator::Ticket NcclCommunicator::start_broadcast(std::span<std::byte> bytes, Size root,
                                                       const Event* after) {
  require_member(root);
  const Operation operation{
      .collective = Collective::broadcast, .root = root, .bytes = bytes.size()};
  return start(operation, after, [&] {
    if (bytes.empty()) return;
    give(operation, [&] {
      PTBENCH_NCCL(ncclBroadcast(bytes.data(), bytes.data(), bytes.size(), ncclUint8,
                                 static_cast<int>(root), parts_.collectives->handle(), stream()));
    });
  });
}

Communicator::Ticket NcclCommunicator::start_barrier() {
  const Operation operation{.collective = Collective::barrier};
  float* token = token_.as<float>().data();
  return start(operation, nullptr, [&] {
    give(operation, [&] {
      PTBENCH_NCCL(ncclAllReduce(token, token, 1, ncclFloat32, ncclSum,
                                 parts_.collectives->handle(), stream()));
    });
  });
}

Communicator::Ticket NcclCommunicator::start_message(const Operation& operation, std::byte* data,
                                                     const Event* after) {
  require_member(operation.root);
  rank_->require_going([&] { return operation_text(told(operation)); });
  rank_->make_current();
  parts_.messages->wait_for(after);
  messages_.push_back({.ticket = ++started_,
                       .number = rank_->count_start(false),
                       .operation = operation,
                       .data = data});
  return Ticket{started_};
}

Communicator::Ticket NcclCommunicator::start_send(std::span<const std::byte> bytes, Size to,
                                                  const Event* after) {
  return start_message({.collective = Collective::send, .root = to, .bytes = bytes.size()},
                       const_cast<std::byte*>(bytes.data()), after);
}

Communicator::Ticket NcclCommunicator::start_receive(std::span<std::byte> bytes, Size from,
                                                     const Event* after) {
  return start_message({.collective = Collective::receive, .root = from, .bytes = bytes.size()},
                       bytes.data(), after);
}

void NcclCommunicator::send_messages() {
  if (messages_.empty()) return;
  rank_->make_current();
  const Message last = messages_.back();
  NcclComm& comm = *parts_.messages;
  comm.give(
      [&] {
        for (const Message& message : messages_) {
          const auto other = static_cast<int>(message.operation.root);
          const auto bytes = static_cast<std::size_t>(message.operation.bytes);
          if (bytes == 0) continue;
          if (message.operation.collective == Collective::send)
            PTBENCH_NCCL(
                ncclSend(message.data, bytes, ncclUint8, other, comm.handle(), comm.stream()));
          else
            PTBENCH_NCCL(
                ncclRecv(message.data, bytes, ncclUint8, other, comm.handle(), comm.stream()));
        }
      },
      told(last.operation));
  messages_.clear();
  comm.mark(last.ticket, last.number, told(last.operation));
}

void NcclCommunicator::wait(Ticket ticket, Timeout timeout) {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
  rank_->send_messages();
  finish(*parts_.messages, number, timeout);
  finish(*parts_.collectives, number, timeout);
}

void NcclCommunicator::finish(NcclComm& comm, std::uint64_t ticket, Timeout timeout) {
  const Mark* mark = comm.last_until(ticket);
  if (mark == nullptr) return;
  rank_->await(
      comm, [&] { return NcclComm::is_done(*mark); }, timeout,
      [&] { return operation_text(mark->operation); }, mark->number);
}

void NcclCommunicator::order(Queue& queue, Ticket ticket, Timeout timeout) {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
  auto* of_device = dynamic_cast<CudaQueue*>(&queue);
  if (of_device == nullptr) return wait(ticket, timeout);
  rank_->send_messages();
  for (const NcclComm* comm : {parts_.messages.get(), parts_.collectives.get()})
    if (const Mark* mark = comm->last_until(number))
      PTBENCH_CUDA(
          cudaStreamWaitEvent(of_device->stream(), mark->event.get(), cudaEventWaitDefault));
}

}  // namespace ptbench::nccl
