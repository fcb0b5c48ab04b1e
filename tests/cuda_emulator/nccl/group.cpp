#include "tests/cuda_emulator/nccl/group.h"

#include <algorithm>
#include <utility>

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator::nccl {

ncclResult_t Group::failed(ncclResult_t result) {
  if (depth_ != 0 && result_ == ncclSuccess) result_ = result;
  return result;
}

ncclResult_t Group::launch(const Launch& launch) {
  const auto attempts = [communicator = launch.communicator, requests = launch.requests] {
    return make_attempt(communicator, requests);
  };
  const char* what = launch.requests.front().call;
  if (ptbench_emulator_enqueue_attempt(launch.stream, launch.communicator->place().device, what,
                                       attempts) != 0)
    return explain(ncclUnhandledCudaError, text(what, ": the stream cannot be used"));
  return launch.communicator->is_first() ? ncclInProgress : ncclSuccess;
}

ncclResult_t Group::add(const std::shared_ptr<Communicator>& communicator, const Request& request,
                        cudaStream_t stream) {
  if (request.count == 0) return ncclSuccess;
  if (depth_ == 0) return launch({communicator, stream, {request}});
  const auto found = std::ranges::find(launches_, communicator, &Launch::communicator);
  if (found == launches_.end()) {
    launches_.push_back({communicator, stream, {request}});
  } else if (found->stream != stream) {
    const std::string why = "several streams in one group of a communicator are not emulated";
    ptbench_emulator_remark((request.call + (": " + why)).c_str());
    return failed(explain(ncclInvalidUsage, why));
  } else {
    found->requests.push_back(request);
  }
  return ncclSuccess;
}

ncclResult_t Group::add(const std::shared_ptr<Communicator>& forming) {
  const bool blocking = forming->place().blocking;
  if (depth_ == 0) return blocking ? forming->formed() : ncclInProgress;
  forming_.push_back(forming);
  return blocking ? ncclSuccess : ncclInProgress;
}

ncclResult_t Group::end() {
  if (depth_ == 0) return explain(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--depth_ != 0) return ncclSuccess;
  ncclResult_t result = std::exchange(result_, ncclSuccess);
  const auto launches = std::exchange(launches_, {});
  for (const auto& forming : std::exchange(forming_, {})) {
    if (result != ncclSuccess && result != ncclInProgress) break;
    result = forming->place().blocking ? forming->formed() : ncclInProgress;
  }
  for (const Launch& ready : launches) {
    if (result != ncclSuccess && result != ncclInProgress) break;
    if (const ncclResult_t launched = launch(ready); launched != ncclSuccess) result = launched;
  }
  return result;
}

Group& group() {
  thread_local Group own;
  return own;
}

}  // namespace ptbench::emulator::nccl
