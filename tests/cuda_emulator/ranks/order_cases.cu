// Order between collectives and what is around them, and calls of which ranks mean different
// things.
#include "tests/cuda_emulator/ranks/ranks.h"

namespace ptbench::emulator::cases {
namespace {

constexpr int kCount = 64;

__global__ void produced(float* values, float base) {
  values[threadIdx.x] = base + static_cast<float>(threadIdx.x);
}
__global__ void consumed(const float* values, float* to) { to[threadIdx.x] = values[threadIdx.x]; }

std::vector<float> produced_by_two() {
  std::vector<float> sum(kCount);
  for (int index = 0; index < kCount; ++index)
    sum[static_cast<std::size_t>(index)] = 1.0F + 2.0F * static_cast<float>(index);
  return sum;
}

/// A bucket of gradients: produced on one stream, reduced on another, consumed on the first.
class Bucket {
 public:
  explicit Bucket(const Rank& rank)
      : rank_(rank), comm_(rank), values_(std::vector<float>(kCount)), result_(kCount) {}

  void produce() {
    produced<<<1, kCount, 0, compute_.get()>>>(values_.get(), static_cast<float>(rank_.rank));
  }
  void reduce(bool after_producer) {
    if (after_producer) follow(communication_, compute_, ready_);
    NCCL_CHECK(ncclAllReduce(values_.get(), values_.get(), kCount, ncclFloat32, ncclSum,
                             comm_.get(), communication_.get()));
  }
  void consume(bool after_reduction) {
    if (after_reduction) follow(compute_, communication_, reduced_);
    consumed<<<1, kCount, 0, compute_.get()>>>(values_.get(), result_.get());
  }
  bool is_right() {
    CASE_CHECK(cudaDeviceSynchronize());
    return same("consumed", result_.read(), produced_by_two());
  }
  [[nodiscard]] const StreamOwner& compute() const { return compute_; }
  [[nodiscard]] ncclComm_t comm() const { return comm_.get(); }

 private:
  static void follow(const StreamOwner& later, const StreamOwner& earlier,
                     const EventOwner& event) {
    CASE_CHECK(cudaEventRecord(event.get(), earlier.get()));
    CASE_CHECK(cudaStreamWaitEvent(later.get(), event.get(), 0));
  }

  Rank rank_;
  RankOwner comm_;
  DeviceArray<float> values_;
  DeviceArray<float> result_;
  StreamOwner compute_;
  StreamOwner communication_;
  EventOwner ready_;
  EventOwner reduced_;
};

bool unordered_producer(bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    Bucket bucket(rank);
    bucket.produce();
    bucket.reduce(!faulty);
    bucket.consume(true);
    return bucket.is_right();
  });
}

bool unordered_consumer(bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    Bucket bucket(rank);
    bucket.produce();
    bucket.reduce(true);
    bucket.consume(!faulty);
    return bucket.is_right();
  });
}

/// Captured on two streams and launched three times; with a fault once more after the communicator
/// has ended.
bool captured(bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    Bucket bucket(rank);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CASE_CHECK(cudaStreamBeginCapture(bucket.compute().get(), cudaStreamCaptureModeThreadLocal));
    bucket.produce();
    bucket.reduce(true);
    bucket.consume(true);
    CASE_CHECK(cudaStreamEndCapture(bucket.compute().get(), &graph));
    CASE_CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int turn = 0; turn < 3; ++turn)
      CASE_CHECK(cudaGraphLaunch(executable, bucket.compute().get()));
    const bool right = bucket.is_right();
    if (faulty) {
      NCCL_CHECK(ncclCommFinalize(bucket.comm()));
      CASE_CHECK(cudaGraphLaunch(executable, bucket.compute().get()));
    }
    CASE_CHECK(cudaGraphExecDestroy(executable));
    CASE_CHECK(cudaGraphDestroy(graph));
    return right;
  });
}

/// No capture survives that a communicator is made or destroyed.
bool forming_in_capture(bool faulty) {
  return in_processes(1, [=](const Rank& rank) {
    const StreamOwner stream;
    cudaGraph_t graph = nullptr;
    ncclComm_t comm = nullptr;
    CASE_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    if (faulty && ncclCommInitRank(&comm, 1, rank.id, 0) != ncclUnhandledCudaError) return false;
    const cudaError_t ended = cudaStreamEndCapture(stream.get(), &graph);
    if (faulty) return ended == cudaErrorStreamCaptureInvalidated;
    CASE_CHECK(ended);
    CASE_CHECK(cudaGraphDestroy(graph));
    return true;
  });
}

/// What one call of both ranks has; the second rank's is changed by faults.
struct Spoken {
  std::size_t count = kCount;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  int root = 0;
  bool reduces_to_root = false;
};

bool spoken(const Rank& rank, const Spoken& call) {
  const RankOwner comm(rank);
  const StreamOwner stream;
  const DeviceArray<float> values(std::vector<float>(2 * kCount, 1.0F));
  if (call.reduces_to_root)
    NCCL_CHECK(ncclReduce(values.get(), values.get(), call.count, call.type, call.op, call.root,
                          comm.get(), stream.get()));
  else
    NCCL_CHECK(ncclAllReduce(values.get(), values.get(), call.count, call.type, call.op, comm.get(),
                             stream.get()));
  stream.finish();
  return true;
}

bool mismatched(const Spoken& healthy, const Spoken& other, bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    return spoken(rank, faulty && rank.rank == 1 ? other : healthy);
  });
}

bool other_count(bool faulty) { return mismatched({}, {.count = kCount - 1}, faulty); }
bool other_type(bool faulty) { return mismatched({}, {.type = ncclInt32}, faulty); }
bool other_operator(bool faulty) { return mismatched({}, {.op = ncclMax}, faulty); }
bool other_call(bool faulty) { return mismatched({}, {.reduces_to_root = true}, faulty); }
bool other_root(bool faulty) {
  return mismatched({.reduces_to_root = true}, {.root = 1, .reduces_to_root = true}, faulty);
}

/// Two calls on two buckets, which the second rank makes the other way round.
bool other_order(bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    const RankOwner comm(rank);
    const StreamOwner stream;
    const DeviceArray<float> large(std::vector<float>(kCount, 1.0F));
    const DeviceArray<float> small(std::vector<float>(kCount / 2, 1.0F));
    for (const bool is_large : {true, false}) {
      const bool first = faulty && rank.rank == 1 ? !is_large : is_large;
      float* at = first ? large.get() : small.get();
      NCCL_CHECK(ncclAllReduce(at, at, first ? kCount : kCount / 2, ncclFloat32, ncclSum,
                               comm.get(), stream.get()));
    }
    stream.finish();
    return same("large", large.read(), std::vector<float>(kCount, 2.0F)) &&
           same("small", small.read(), std::vector<float>(kCount / 2, 2.0F));
  });
}

bool other_message(bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    const RankOwner comm(rank);
    const StreamOwner stream;
    const DeviceArray<float> values(std::vector<float>(kCount, 1.0F));
    if (rank.rank == 0)
      NCCL_CHECK(ncclSend(values.get(), kCount, ncclFloat32, 1, comm.get(), stream.get()));
    else
      NCCL_CHECK(ncclRecv(values.get(), faulty ? kCount / 2 : kCount, ncclFloat32, 0, comm.get(),
                          stream.get()));
    stream.finish();
    return true;
  });
}

/// What a collective touches, on one rank.
bool alone(bool (*body)(bool, ncclComm_t, const StreamOwner&), bool faulty) {
  return in_processes(1, [=](const Rank& rank) {
    const RankOwner comm(rank);
    const StreamOwner stream;
    return body(faulty, comm.get(), stream);
  });
}

bool short_buffer(bool faulty) {
  return alone(
      [](bool is_short, ncclComm_t comm, const StreamOwner& stream) {
        const DeviceArray<float> from(std::vector<float>(kCount, 1.0F));
        const DeviceArray<float> to(is_short ? kCount - 1 : kCount);
        NCCL_CHECK(
            ncclAllReduce(from.get(), to.get(), kCount, ncclFloat32, ncclSum, comm, stream.get()));
        stream.finish();
        return true;
      },
      faulty);
}

bool unwritten(bool faulty) {
  return alone(
      [](bool is_unwritten, ncclComm_t comm, const StreamOwner& stream) {
        const DeviceArray<float> values(kCount);
        if (!is_unwritten)
          CASE_CHECK(cudaMemsetAsync(values.get(), 0, kCount * sizeof(float), stream.get()));
        NCCL_CHECK(ncclAllReduce(values.get(), values.get(), kCount, ncclFloat32, ncclSum, comm,
                                 stream.get()));
        stream.finish();
        return true;
      },
      faulty);
}

bool overlap(bool faulty) {
  return alone(
      [](bool overlaps, ncclComm_t comm, const StreamOwner& stream) {
        const DeviceArray<float> values(std::vector<float>(2 * kCount, 1.0F));
        NCCL_CHECK(ncclAllReduce(values.get(), values.get() + (overlaps ? 1 : kCount), kCount,
                                 ncclFloat32, ncclSum, comm, stream.get()));
        stream.finish();
        return true;
      },
      faulty);
}

}  // namespace

std::vector<Case> order_cases() {
  return {{"unordered-producer", unordered_producer},
          {"unordered-consumer", unordered_consumer},
          {"captured", captured},
          {"forming-in-capture", forming_in_capture},
          {"other-count", other_count},
          {"other-type", other_type},
          {"other-operator", other_operator},
          {"other-call", other_call},
          {"other-root", other_root},
          {"other-order", other_order},
          {"other-message", other_message},
          {"short-buffer", short_buffer},
          {"unwritten", unwritten},
          {"overlap", overlap}};
}

}  // namespace ptbench::emulator::cases
