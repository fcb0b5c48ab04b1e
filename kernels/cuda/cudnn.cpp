#include "kernels/cuda/cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench::cuda {
namespace {

std::string describe(cudnnStatus_t status, const char* call, const std::source_location& where) {
  std::array<char, 256> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size());
  const std::string why = detail.data();
  return fmt::format("{}: {}{}{}, {}:{}", call, cudnnGetErrorString(status),
                     why.empty() ? "" : ": ", why, where.file_name(), where.line());
}

}  // namespace

void check_cudnn(cudnnStatus_t status, const char* call, std::source_location where) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw run_error(describe(status, call, where),
                    "set CUDNN_LOGLEVEL_DBG=2 and CUDNN_LOGDEST_DBG=stderr to have cuDNN say more");
}

void note_cudnn(cudnnStatus_t status, const char* call, std::source_location where) noexcept {
  if (status == CUDNN_STATUS_SUCCESS) return;
  try {
    log_error(describe(status, call, where));
  } catch (const std::exception&) {
    return;  // without memory for a message there is nobody to tell
  }
}

cudnnHandle_t Cudnn::handle() {
  if (owned_) {
    (void)device_.stream();
    return owned_.get();
  }
  device_.make_current();
  cudnnHandle_t handle = nullptr;
  PTBENCH_CUDNN(cudnnCreate(&handle));
  OwnedCudnn owned(handle);
  PTBENCH_CUDNN(cudnnSetStream(handle, device_.stream()));
  owned_ = std::move(owned);
  return handle;
}

std::string cudnn_version() {
  const std::size_t version = cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t created = nullptr;
  PTBENCH_CUDNN(cudnnBackendCreateDescriptor(type, &created));
  owned_.reset(created);
}

cudnnStatus_t Descriptor::try_set(cudnnBackendAttributeName_t name, std::string_view text) {
  return cudnnBackendSetAttribute(owned_.get(), name, CUDNN_TYPE_CHAR, std::ssize(text),
                                  static_cast<const void*>(text.data()));
}

std::optional<std::string> Descriptor::text(cudnnBackendAttributeName_t name) const {
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(owned_.get(), name, CUDNN_TYPE_CHAR, 0, &count, nullptr) !=
          CUDNN_STATUS_SUCCESS ||
      count <= 0)
    return std::nullopt;
  std::string text(static_cast<std::size_t>(count), '\0');
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(owned_.get(), name, CUDNN_TYPE_CHAR, count, &count, text.data());
  if (status != CUDNN_STATUS_SUCCESS || count != std::ssize(text)) return std::nullopt;
  return text;
}

cudnnStatus_t Descriptor::try_finalize() { return cudnnBackendFinalize(owned_.get()); }

std::vector<Descriptor> Descriptor::get_descriptors(cudnnBackendAttributeName_t name,
                                                    cudnnBackendDescriptorType_t type,
                                                    std::size_t most) const {
  std::vector<Descriptor> values;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::size_t i = 0; i < most; ++i) handles.push_back(values.emplace_back(type).get());
  const std::size_t count =
      get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, static_cast<void*>(handles.data()));
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(count), values.end());
  return values;
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* values) {
  PTBENCH_CUDNN(cudnnBackendSetAttribute(owned_.get(), name, type, count, values));
}

std::size_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            std::size_t most, void* values) const {
  std::int64_t count = 0;
  PTBENCH_CUDNN(cudnnBackendGetAttribute(owned_.get(), name, type, static_cast<std::int64_t>(most),
                                         &count, values));
  return std::min(most, static_cast<std::size_t>(count));
}

}  // namespace ptbench::cuda
