#include "src/device/cuda/cupti.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

namespace ptbench {
namespace {

/// Of the same CUDA as the runtime that the module is linked to.
std::string library_name() { return fmt::format("libcupti.so.{}", CUDART_VERSION / 1000); }

/// Finds functions, and remembers the first that is missing.
class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <class Function>
  void find(const char* name, Function*& function) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): POSIX says that it may be.
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace

Cupti::Cupti() {
  void* library = dlopen(library_name().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one a thread
    reason_ = error == nullptr ? fmt::format("{} cannot be opened", library_name()) : error;
    return;
  }
  Finder finder(library);
  finder.find("cuptiGetVersion", functions_.version);
  finder.find("cuptiGetResultString", functions_.result_string);
  finder.find("cuptiActivityEnable", functions_.enable);
  finder.find("cuptiActivityDisable", functions_.disable);
  finder.find("cuptiActivityRegisterCallbacks", functions_.register_callbacks);
  finder.find("cuptiActivityRegisterTimestampCallback", functions_.register_timestamp);
  finder.find("cuptiActivityGetNextRecord", functions_.next_record);
  finder.find("cuptiActivityGetNumDroppedRecords", functions_.dropped);
  finder.find("cuptiActivityFlushAll", functions_.flush);
  finder.find("cuptiGetCallbackName", functions_.callback_name);
  if (!finder.missing().empty())
    reason_ = fmt::format("{} is too old: it has no {}", library_name(), finder.missing());
}

std::string Cupti::text_of(CuptiResult result) const {
  const char* text = nullptr;
  const bool told = functions_.result_string(result, &text) == CuptiResult::success;
  return told && text != nullptr ? std::string(text)
                                 : fmt::format("error {}", static_cast<int>(result));
}

std::string Cupti::name() const {
  std::uint32_t version = 0;
  const bool told = functions_.version(&version) == CuptiResult::success;
  return told ? fmt::format("CUPTI {}", version) : std::string("CUPTI");
}

}  // namespace ptbench
