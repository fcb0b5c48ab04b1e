#pragma once

#include <nccl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/function_ref.h"
#include "src/comm/communicator.h"
#include "src/comm/nccl/nccl_comm.h"
#include "src/comm/nccl/nccl_rank.h"
#include "src/comm/nccl_interface.h"
#include "src/comm/out_of_place.h"
#include "src/comm/shm/shared_layout.h"
#include "src/device/memory.h"

namespace ptbench::nccl {

/// Whether all ranks' parts are as long, as NCCL's own of a whole are.
[[nodiscard]] inline bool has_equal_parts(Size count, Size ranks) {
  const Range last = rank_part(count, ranks - 1, ranks);
  return last.size() * ranks == count && rank_part(count, 0, ranks).size() == last.size();
}

/// The communicator of all ranks of the region.
[[nodiscard]] std::unique_ptr<Communicator> make_world(NcclSetup setup);

/// Ranks on GPUs, whose values lie in the memory of their devices: all spans do. NCCL adds in an
/// order of its own, and values of bf16, or on a wire of bf16, in bf16.
///
/// Operations begin when they are started; messages when somebody waits, as NCCL's sends may end
/// only once they are received. Collectives and messages have a stream each. What another rank's
/// device does not do in time is told by the rank that waits for it on the host; queues only wait.
class NcclCommunicator final : public Communicator, public OutOfPlace {
 public:
  using Ticket = Communicator::Ticket;
  /// NCCL's own communicators, and who of the region is in it.
  struct Parts {
    std::unique_ptr<Communicator> host;  ///< among the same ranks
    std::vector<Size> ranks;             ///< of the region, in the group's order
    std::unique_ptr<NcclComm> collectives;
    std::unique_ptr<NcclComm> messages;
  };
  NcclCommunicator(std::shared_ptr<NcclRank> rank, Parts parts);
  /// Gives up for this rank where an exception ends it.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] bool sends_values() const override { return true; }
  [[nodiscard]] Size rank() const override { return parts_.host->rank(); }
  [[nodiscard]] Size world_size() const override { return parts_.host->world_size(); }
  [[nodiscard]] bool works_on_device() const override { return true; }
  void watch(WorkObserver* watch) override { watch_ = watch; }
  [[nodiscard]] MemorySource& memory() override { return rank_->device().memory(); }

  [[nodiscard]] Ticket start_all_reduce(Values values, Reduction reduction,
                                        const Event* after) override;
  [[nodiscard]] Ticket start_reduce_scatter(Values values, Reduction reduction,
                                            const Event* after) override;
  [[nodiscard]] Ticket start_all_gather(Values values, const Event* after) override;
  [[nodiscard]] Ticket start_reduce(Values values, Size root, Reduction reduction,
                                    const Event* after) override;
  [[nodiscard]] Ticket start_gather(std::span<const std::byte> part, std::span<std::byte> whole,
                                    Size root, const Event* after) override;
  [[nodiscard]] Ticket start_broadcast(std::span<std::byte> bytes, Size root,
                                       const Event* after) override;
  [[nodiscard]] Ticket start_send(std::span<const std::byte> bytes, Size to,
                                  const Event* after) override;
  [[nodiscard]] Ticket start_receive(std::span<std::byte> bytes, Size from,
                                     const Event* after) override;
  [[nodiscard]] Ticket start_barrier() override;
  void wait(Ticket ticket, Timeout timeout) override;
  void order(Queue& queue, Ticket ticket, Timeout timeout) override;
  [[nodiscard]] std::unique_ptr<Communicator> split(Size colour, Size key,
                                                    Timeout timeout) override;

  [[nodiscard]] Ticket start_all_reduce(std::span<const float> given,
                                        std::span<float> result) override;
  [[nodiscard]] Ticket start_reduce_scatter(std::span<const float> given,
                                            std::span<float> result) override;
  [[nodiscard]] Ticket start_all_gather(std::span<const float> given,
                                        std::span<float> result) override;
  [[nodiscard]] Ticket start_broadcast(std::span<const float> given, std::span<float> result,
                                       Size root) override;
  [[nodiscard]] Ticket start_reduce(std::span<const float> given, std::span<float> result,
                                    Size root) override;

  /// Gives those messages to the stream that were started.
  void send_messages();
  void abort() const noexcept;

 private:
  struct Message {
    std::uint64_t ticket = 0;
    std::uint64_t number = 0;
    shared::Operation operation;
    std::byte* data = nullptr;  ///< of a send, only read
  };
  /// Values as they travel.
  struct Travelling {
    std::byte* data = nullptr;
    Size count = 0;
    ElementType type = ElementType::f32;

    [[nodiscard]] std::byte* at(Size index) const {
      return data + index * static_cast<Size>(bytes_of(type));
    }
  };

  Ticket start(const shared::Operation& operation, const Event* after, FunctionRef<void()> work);
  Ticket start_apart(shared::Collective collective, Size root, std::span<const float> given,
                     std::span<float> result, FunctionRef<void()> calls);
  Ticket start_message(const shared::Operation& operation, std::byte* data, const Event* after);
  Ticket start_reduction(shared::Operation operation, Values values, const Event* after,
                         Range result, FunctionRef<void(const Travelling&, ncclRedOp_t)> calls);
  void give(const shared::Operation& operation, FunctionRef<void()> calls) const;
  [[nodiscard]] Travelling pack(Values values, const shared::Operation& operation);
  void unpack(const Travelling& travelling, Values values, Range part);
  [[nodiscard]] Range own_part(Size count) const { return rank_part(count, rank(), world_size()); }
  void require_member(Size rank) const;
  void finish(NcclComm& comm, std::uint64_t ticket, Timeout timeout);
  [[nodiscard]] shared::Operation told(shared::Operation operation) const;
  [[nodiscard]] cudaStream_t stream() const { return parts_.collectives->stream(); }
  [[nodiscard]] bool is_world() const { return world_size() == rank_->region().world_size(); }

  std::shared_ptr<NcclRank> rank_;
  Parts parts_;
  Buffer token_;                   ///< a value that barriers add
  std::vector<Buffer> packed_;     ///< for narrower wires; the last is the largest
  std::vector<Message> messages_;  ///< not given to the stream yet
  std::uint64_t started_ = 0;      ///< operations: the last ticket
  WorkObserver* watch_ = nullptr;  ///< of collectives
  int exceptions_;                 ///< that were on their way when this was made
};

}  // namespace ptbench::nccl
