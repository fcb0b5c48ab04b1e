#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/device/cuda/cuda_device.h"

// cuDNN's backend API: graphs of operations, described by attributes of opaque descriptors.
namespace ptbench::cuda {

/// Throws a run error that names `call` and what cuDNN says of it, unless `status` is success.
void check_cudnn(cudnnStatus_t status, const char* call,
                 std::source_location where = std::source_location::current());
/// The same for destructors: logs instead of throwing.
void note_cudnn(cudnnStatus_t status, const char* call,
                std::source_location where = std::source_location::current()) noexcept;

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function does not see the text of its argument.
#define PTBENCH_CUDNN(call) ::ptbench::cuda::check_cudnn((call), #call)
#define PTBENCH_CUDNN_NOTE(call) ::ptbench::cuda::note_cudnn((call), #call)
// NOLINTEND(cppcoreguidelines-macro-usage)

struct DestroyCudnn {
  void operator()(cudnnHandle_t handle) const noexcept { PTBENCH_CUDNN_NOTE(cudnnDestroy(handle)); }
};
using OwnedCudnn = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, DestroyCudnn>;

/// cuDNN on one device, which outlives it. Opened when it is first asked for, since that takes time
/// and memory that a model without convolutions does not need.
class Cudnn {
 public:
  explicit Cudnn(const CudaDevice& device) : device_(device) {}
  /// What it executes, it gives to the device's stream for computing. To be asked for before each
  /// execution: what was put off on that stream is launched first.
  [[nodiscard]] cudnnHandle_t handle();

 private:
  const CudaDevice& device_;
  OwnedCudnn owned_;
};

/// "9.19.0".
[[nodiscard]] std::string cudnn_version();

/// What an attribute of C++ type T is called.
template <class T>
struct AttributeType;
template <>
struct AttributeType<std::int64_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_INT64;
};
template <>
struct AttributeType<bool> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_BOOLEAN;
};
template <>
struct AttributeType<char> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_CHAR;
};
template <>
struct AttributeType<float> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_FLOAT;
};
template <>
struct AttributeType<void*> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_VOID_PTR;
};
template <>
struct AttributeType<cudnnHandle_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_HANDLE;
};
template <>
struct AttributeType<cudnnDataType_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_DATA_TYPE;
};
template <>
struct AttributeType<cudnnConvolutionMode_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_CONVOLUTION_MODE;
};
template <>
struct AttributeType<cudnnPointwiseMode_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_POINTWISE_MODE;
};
template <>
struct AttributeType<cudnnNanPropagation_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_NAN_PROPOGATION;
};
template <>
struct AttributeType<cudnnBackendHeurMode_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_HEUR_MODE;
};
template <>
struct AttributeType<cudnnBackendNumericalNote_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_NUMERICAL_NOTE;
};
template <>
struct AttributeType<cudnnBackendBehaviorNote_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_BEHAVIOR_NOTE;
};
template <>
struct AttributeType<cudnnBackendKnobType_t> {
  static constexpr cudnnBackendAttributeType_t kValue = CUDNN_TYPE_KNOB_TYPE;
};

/// A descriptor of the backend API. Move-only. Descriptors that are an attribute of another one
/// have to outlive it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return owned_.get(); }

  template <class T>
  void set(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set(name, AttributeType<T>::kValue, std::ssize(values),
        static_cast<const void*>(values.data()));
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    set(name, std::span<const T>(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set_descriptor(name, value.get());
  }
  void set_descriptor(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<const void*>(&value));
  }
  void set_descriptors(cudnnBackendAttributeName_t name,
                       std::span<const cudnnBackendDescriptor_t> values) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(values),
        static_cast<const void*>(values.data()));
  }

  /// A text that cuDNN may refuse.
  [[nodiscard]] cudnnStatus_t try_set(cudnnBackendAttributeName_t name, std::string_view text);

  /// After all attributes are set. What cuDNN cannot do, it says here.
  [[nodiscard]] cudnnStatus_t try_finalize();
  void finalize() { PTBENCH_CUDNN(try_finalize()); }

  /// As many of an attribute's values as there are, up to `most`.
  template <class T>
  [[nodiscard]] std::vector<T> get(cudnnBackendAttributeName_t name, std::size_t most) const {
    std::vector<T> values(most);
    values.resize(get(name, AttributeType<T>::kValue, most, values.data()));
    return values;
  }
  /// A text of any length; empty where cuDNN does not give it.
  [[nodiscard]] std::optional<std::string> text(cudnnBackendAttributeName_t name) const;
  /// Values that are descriptors of one type.
  [[nodiscard]] std::vector<Descriptor> get_descriptors(cudnnBackendAttributeName_t name,
                                                        cudnnBackendDescriptorType_t type,
                                                        std::size_t most) const;

 private:
  struct Destroy {
    void operator()(void* descriptor) const noexcept {
      PTBENCH_CUDNN_NOTE(cudnnBackendDestroyDescriptor(descriptor));
    }
  };

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  [[nodiscard]] std::size_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                std::size_t most, void* values) const;

  std::unique_ptr<void, Destroy> owned_;
};

}  // namespace ptbench::cuda
