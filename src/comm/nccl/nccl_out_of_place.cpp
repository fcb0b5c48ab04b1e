// NcclCommunicator's collectives whose result lies apart from what is given.
#include "src/base/error.h"
#include "src/comm/nccl/check.h"
#include "src/comm/nccl/nccl_communicator.h"

namespace ptbench::nccl {
namespace {

using shared::Collective;

std::size_t size_of(Range part) { return static_cast<std::size_t>(part.size()); }

}  // namespace

/// `calls`: of NCCL, made as one.
Communicator::Ticket NcclCommunicator::start_apart(Collective collective, Size root,
                                                   std::span<const float> given,
                                                   std::span<float> result,
                                                   FunctionRef<void()> calls) {
  ensure(given.size() == result.size(), "a result is as long as what is given");
  require_member(root);
  const shared::Operation operation{
      .collective = collective, .root = root, .bytes = given.size_bytes()};
  return start(operation, nullptr, [&] {
    if (!given.empty()) give(operation, calls);
  });
}

Communicator::Ticket NcclCommunicator::start_all_reduce(std::span<const float> given,
                                                        std::span<float> result) {
  return start_apart(Collective::all_reduce, 0, given, result, [&] {
    PTBENCH_NCCL(ncclAllReduce(given.data(), result.data(), given.size(), ncclFloat32, ncclSum,
                               parts_.collectives->handle(), stream()));
  });
}

Communicator::Ticket NcclCommunicator::start_reduce_scatter(std::span<const float> given,
                                                            std::span<float> result) {
  return start_apart(Collective::reduce_scatter, 0, given, result, [&] {
    const ncclComm_t comm = parts_.collectives->handle();
    const auto count = static_cast<Size>(given.size());
    const Range own = own_part(count);
    if (has_equal_parts(count, world_size())) {
      PTBENCH_NCCL(ncclReduceScatter(given.data(), result.data() + own.begin, size_of(own),
                                     ncclFloat32, ncclSum, comm, stream()));
      return;
    }
    for (Size root = 0; root < world_size(); ++root)
      if (const Range part = rank_part(count, root, world_size()); !part.empty())
        PTBENCH_NCCL(ncclReduce(given.data() + part.begin, result.data() + part.begin,
                                size_of(part), ncclFloat32, ncclSum, static_cast<int>(root), comm,
                                stream()));
  });
}

Communicator::Ticket NcclCommunicator::start_all_gather(std::span<const float> given,
                                                        std::span<float> result) {
  return start_apart(Collective::all_gather, 0, given, result, [&] {
    const ncclComm_t comm = parts_.collectives->handle();
    const auto count = static_cast<Size>(given.size());
    const Range own = own_part(count);
    if (has_equal_parts(count, world_size())) {
      PTBENCH_NCCL(ncclAllGather(given.data() + own.begin, result.data(), size_of(own), ncclFloat32,
                                 comm, stream()));
      return;
    }
    for (Size root = 0; root < world_size(); ++root)
      if (const Range part = rank_part(count, root, world_size()); !part.empty())
        PTBENCH_NCCL(ncclBroadcast(given.data() + part.begin, result.data() + part.begin,
                                   size_of(part), ncclFloat32, static_cast<int>(root), comm,
                                   stream()));
  });
}

Communicator::Ticket NcclCommunicator::start_broadcast(std::span<const float> given,
                                                       std::span<float> result, Size root) {
  return start_apart(Collective::broadcast, root, given, result, [&] {
    PTBENCH_NCCL(ncclBroadcast(given.data(), result.data(), given.size(), ncclFloat32,
                               static_cast<int>(root), parts_.collectives->handle(), stream()));
  });
}

Communicator::Ticket NcclCommunicator::start_reduce(std::span<const float> given,
                                                    std::span<float> result, Size root) {
  return start_apart(Collective::reduce, root, given, result, [&] {
    PTBENCH_NCCL(ncclReduce(given.data(), result.data(), given.size(), ncclFloat32, ncclSum,
                            static_cast<int>(root), parts_.collectives->handle(), stream()));
  });
}

}  // namespace ptbench::nccl
