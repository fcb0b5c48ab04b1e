#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cpu/onednn.h"

/// What the files behind onednn.h share. They alone see oneDNN's own names, which come from here.
namespace ptbench::onednn {

using dnnl::memory;

struct WeightLayout::Descriptor {
  memory::desc desc;
};

/// oneDNN cuts its work by the OpenMP threads of whoever creates and executes; here every team
/// member runs its own primitives alone.
void use_one_thread();

/// Throws what a failed call of oneDNN means.
[[noreturn]] void fail(std::string_view what, dnnl_status_t status);

/// One checking place for every call: oneDNN's own exceptions become ours.
template <class Call>
auto checked(std::string_view what, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const dnnl::error& failure) {
    fail(what, failure.status);
  }
}

[[nodiscard]] memory::data_type type_of(ElementType type);
[[nodiscard]] memory::dims dims_of(const Shape& shape);
[[nodiscard]] WeightLayout layout_of(const memory::desc& desc);

/// The CPU. One engine for all, as it must outlive every primitive, those in oneDNN's cache too; it
/// has no state that changes.
[[nodiscard]] const dnnl::engine& cpu();

/// oneDNN takes inputs by non-const pointer, and does not write to them.
[[nodiscard]] memory at(const memory::desc& desc, const void* data);

/// The kernels of dnnl_sgemm, which some primitives run on: the first call generates them all.
void generate_gemm();

/// A primitive with its memory. The arguments are kept as the C API takes them: the C++ API would
/// make a new list in every call.
class BoundKernel final : public Kernel {
 public:
  struct Argument {
    int name;
    memory value;
  };

  BoundKernel(std::string what, dnnl::primitive primitive, std::vector<Argument> memories)
      : what_(std::move(what)),
        stream_(cpu()),
        primitive_(std::move(primitive)),
        memories_(std::move(memories)) {
    for (const Argument& argument : memories_)
      arguments_.push_back({argument.name, argument.value.get()});
  }

  void run() override {
    use_one_thread();
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success) fail(what_, status);
  }

 private:
  std::string what_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<Argument> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace ptbench::onednn
