// Several devices in one process: communicators, peer copies, and what each device has for itself.
#include <thread>

#include "tests/cuda_emulator/ranks/ranks.h"

namespace ptbench::emulator::cases {
namespace {

constexpr int kDevices = 2;
constexpr int kCount = 64;

__device__ int counter;
__global__ void counted(int by) { atomicAdd(&counter, by); }
__global__ void doubled(const float* from, float* to) { to[threadIdx.x] = 2 * from[threadIdx.x]; }

/// A rank on a device of this process.
struct Replica {
  explicit Replica(int device) : device(device), values(own_values(device, kCount)) {}
  int device;
  DeviceArray<float> values;
  StreamOwner stream;
};

std::vector<float> both() {
  std::vector<float> sum = own_values(0, kCount);
  const std::vector<float> second = own_values(1, kCount);
  for (int index = 0; index < kCount; ++index)
    sum[static_cast<std::size_t>(index)] += second[static_cast<std::size_t>(index)];
  return sum;
}

void reduce(const Replica& replica, ncclComm_t comm) {
  NCCL_CHECK(ncclAllReduce(replica.values.get(), replica.values.get(), kCount, ncclFloat32, ncclSum,
                           comm, replica.stream.get()));
}

/// One thread, which asks every device in turn; what the first waits for keeps none of its other
/// streams from working.
bool one_thread(bool) {
  ncclComm_t comms[kDevices];
  NCCL_CHECK(ncclCommInitAll(comms, kDevices, nullptr));
  CASE_CHECK(cudaSetDevice(0));
  const Replica first(0);
  const StreamOwner other;
  const DeviceArray<float> unrelated(kCount);
  CASE_CHECK(cudaSetDevice(1));
  const Replica second(1);
  CASE_CHECK(cudaSetDevice(0));
  reduce(first, comms[0]);
  CASE_CHECK(cudaMemsetAsync(unrelated.get(), 0, kCount * sizeof(float), other.get()));
  other.finish();
  if (cudaStreamQuery(first.stream.get()) != cudaErrorNotReady) return false;
  CASE_CHECK(cudaSetDevice(1));
  reduce(second, comms[1]);
  NCCL_CHECK(ncclGroupStart());
  for (const Replica* replica : {&first, &second}) reduce(*replica, comms[replica->device]);
  NCCL_CHECK(ncclGroupEnd());
  second.stream.finish();
  first.stream.finish();
  std::vector<float> wanted = both();
  for (float& value : wanted) value *= 2;
  const bool right =
      same("first", first.values.read(), wanted) && same("second", second.values.read(), wanted);
  for (ncclComm_t comm : comms) NCCL_CHECK(ncclCommDestroy(comm));
  CASE_CHECK(cudaSetDevice(0));
  return right;
}

/// A thread a device, each of which waits for its own.
bool threads(bool) {
  ncclUniqueId id;
  NCCL_CHECK(ncclGetUniqueId(&id));
  bool right[kDevices] = {};
  const auto work = [&](int device) {
    CASE_CHECK(cudaSetDevice(device));
    ncclComm_t comm = nullptr;
    NCCL_CHECK(ncclCommInitRank(&comm, kDevices, id, device));
    const Replica replica(device);
    for (int turn = 0; turn < 3; ++turn) {
      reduce(replica, comm);
      replica.stream.finish();
    }
    std::vector<float> wanted = both();
    for (float& value : wanted) value *= 4;
    right[device] = same("reduced", replica.values.read(), wanted);
    NCCL_CHECK(ncclCommDestroy(comm));
  };
  std::thread first(work, 0);
  std::thread second(work, 1);
  first.join();
  second.join();
  return right[0] && right[1];
}

/// A buffer of another device than the communicator's.
bool buffer_of_other_device(bool faulty) {
  ncclComm_t comm = nullptr;
  const int device = 1;
  NCCL_CHECK(ncclCommInitAll(&comm, 1, &device));
  CASE_CHECK(cudaSetDevice(faulty ? 0 : 1));
  const DeviceArray<float> values(std::vector<float>(kCount, 1.0F));
  CASE_CHECK(cudaSetDevice(1));
  const ncclResult_t result =
      ncclAllReduce(values.get(), values.get(), kCount, ncclFloat32, ncclSum, comm, nullptr);
  CASE_CHECK(cudaDeviceSynchronize());
  NCCL_CHECK(ncclCommDestroy(comm));
  return result == (faulty ? ncclInvalidArgument : ncclSuccess);
}

/// The second device takes what the first has computed, by a copy between their streams; with a
/// fault, nothing orders the copy behind the kernel.
bool peer_copy_order(bool faulty) {
  const DeviceArray<float> from(std::vector<float>(kCount, 1.0F));
  const DeviceArray<float> result(std::vector<float>(kCount, 0.0F));
  const StreamOwner first;
  const EventOwner done;
  doubled<<<1, kCount, 0, first.get()>>>(from.get(), result.get());
  CASE_CHECK(cudaEventRecord(done.get(), first.get()));
  CASE_CHECK(cudaSetDevice(1));
  const DeviceArray<float> arrived(kCount);
  const StreamOwner second;
  if (!faulty) CASE_CHECK(cudaStreamWaitEvent(second.get(), done.get(), 0));
  CASE_CHECK(
      cudaMemcpyPeerAsync(arrived.get(), 1, result.get(), 0, kCount * sizeof(float), second.get()));
  second.finish();
  const bool right = same("arrived", arrived.read(), std::vector<float>(kCount, 2.0F));
  CASE_CHECK(cudaSetDevice(0));
  return right;
}

/// cudaDeviceSynchronize waits for the current device: with a fault, for the wrong one.
bool waits_for_own_device(bool faulty) {
  const DeviceArray<float> from(std::vector<float>(kCount, 1.0F));
  const DeviceArray<float> result(kCount);
  const StreamOwner first;
  CASE_CHECK(cudaSetDevice(1));
  const StreamOwner second;
  CASE_CHECK(cudaSetDevice(0));
  doubled<<<1, kCount, 0, first.get()>>>(from.get(), result.get());
  CASE_CHECK(cudaSetDevice(faulty ? 1 : 0));
  CASE_CHECK(cudaDeviceSynchronize());
  CASE_CHECK(cudaSetDevice(1));
  CASE_CHECK(cudaMemsetAsync(result.get(), 0, kCount * sizeof(float), second.get()));
  second.finish();
  CASE_CHECK(cudaSetDevice(0));
  CASE_CHECK(cudaDeviceSynchronize());
  return same("result", result.read(), std::vector<float>(kCount, 0.0F));
}

/// Wrong numbers of devices in a peer copy; and access that was enabled comes to an end.
bool peer_refusals(bool) {
  const DeviceArray<float> of_first(std::vector<float>(kCount, 1.0F));
  CASE_CHECK(cudaSetDevice(1));
  const DeviceArray<float> of_second(kCount);
  int can = 0;
  CASE_CHECK(cudaDeviceCanAccessPeer(&can, 1, 0));
  const bool right =
      can == 1 &&
      cudaMemcpyPeer(of_second.get(), 0, of_first.get(), 0, 4) == cudaErrorInvalidValue &&
      cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice &&
      cudaDeviceEnablePeerAccess(0, 0) == cudaSuccess &&
      cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled &&
      cudaDeviceDisablePeerAccess(0) == cudaSuccess &&
      cudaDeviceDisablePeerAccess(0) == cudaErrorPeerAccessNotEnabled;
  cudaGetLastError();
  CASE_CHECK(cudaSetDevice(0));
  return right;
}

/// Each device has a variable of its own.
bool own_variables(bool) {
  int first = 0;
  int second = 0;
  counted<<<1, 32>>>(1);
  CASE_CHECK(cudaSetDevice(1));
  counted<<<1, 32>>>(10);
  counted<<<1, 32>>>(10);
  CASE_CHECK(cudaMemcpyFromSymbol(&second, counter, sizeof second));
  CASE_CHECK(cudaSetDevice(0));
  CASE_CHECK(cudaMemcpyFromSymbol(&first, counter, sizeof first));
  return first == 32 && second == 640;
}

}  // namespace

std::vector<Case> several_device_cases() {
  return {{"one-thread", one_thread},
          {"threads", threads},
          {"buffer-of-other-device", buffer_of_other_device},
          {"peer-copy-order", peer_copy_order},
          {"waits-for-own-device", waits_for_own_device},
          {"peer-refusals", peer_refusals},
          {"own-variables", own_variables}};
}

}  // namespace ptbench::emulator::cases
