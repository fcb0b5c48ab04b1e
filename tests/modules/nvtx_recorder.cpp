// A tool that listens to NVTX: writes a line for each event to the file that PTBENCH_TEST_NVTX_FILE
// names, as tests/support/nvtx_events.h reads them. Processes may share the file.
#define NVTX_NO_IMPL
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

// What NVTX's handles point to is the tool's own affair, but for the names of the types.
struct nvtxDomainRegistration_st {
  std::string name;
};
struct nvtxStringRegistration_st {
  std::string text;
};

namespace {

constexpr const char* kNone = "-";

/// All of a process. What it hands out lives as long as the process.
class Recorder {
 public:
  static Recorder& instance() {
    static Recorder* const recorder = std::make_unique<Recorder>().release();
    return *recorder;
  }

  /// Whether there is a file to write to.
  [[nodiscard]] bool is_open() const { return file_ >= 0; }

  nvtxDomainHandle_t add_domain(const char* name) {
    const std::lock_guard lock(mutex_);
    domains_.push_back(std::make_unique<nvtxDomainRegistration>(name));
    write("domain", domains_.back().get(), kNone, 0);
    return domains_.back().get();
  }

  nvtxStringHandle_t add_string(nvtxDomainHandle_t domain, const char* text) {
    const std::lock_guard lock(mutex_);
    strings_.push_back(std::make_unique<nvtxStringRegistration>(text));
    write("string", domain, text, 0);
    return strings_.back().get();
  }

  std::uint64_t new_range() { return ++ranges_; }

  /// One call of write(2) a line, so that lines of several processes do not mix.
  void write(const char* kind, nvtxDomainHandle_t domain, std::string_view name,
             std::uint64_t payload, std::uint64_t range = 0) const {
    std::array<char, 256> line{};
    const int length = std::snprintf(
        line.data(), line.size(), "%d %d %s %s %.*s %llu %llu\n", getpid(), gettid(), kind,
        domain == nullptr ? kNone : domain->name.c_str(), static_cast<int>(name.size()),
        name.data(), static_cast<unsigned long long>(payload),
        static_cast<unsigned long long>(range));
    if (::write(file_, line.data(), static_cast<std::size_t>(length)) != length) std::abort();
  }

 private:
  static int open_file() {
    const char* path = std::getenv("PTBENCH_TEST_NVTX_FILE");
    return path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }

  int file_ = open_file();
  std::atomic<std::uint64_t> ranges_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<nvtxDomainRegistration>> domains_;
  std::vector<std::unique_ptr<nvtxStringRegistration>> strings_;
};

std::string_view name_of(const nvtxEventAttributes_t& event) {
  if (event.messageType == NVTX_MESSAGE_TYPE_REGISTERED) return event.message.registered->text;
  return "unregistered";
}

std::uint64_t payload_of(const nvtxEventAttributes_t& event) {
  return event.payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 ? event.payload.ullValue : 0;
}

nvtxDomainHandle_t create_domain(const char* name) { return Recorder::instance().add_domain(name); }

nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* text) {
  return Recorder::instance().add_string(domain, text);
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  Recorder::instance().write("push", domain, name_of(*event), payload_of(*event));
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  Recorder::instance().write("pop", domain, kNone, 0);
  return 0;
}

nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::uint64_t range = Recorder::instance().new_range();
  Recorder::instance().write("start", domain, name_of(*event), payload_of(*event), range);
  return range;
}

void end(nvtxDomainHandle_t domain, nvtxRangeId_t range) {
  Recorder::instance().write("end", domain, kNone, 0, range);
}

int push_outside(const nvtxEventAttributes_t* event) { return push(nullptr, event); }
int pop_outside() { return pop(nullptr); }
nvtxRangeId_t start_outside(const nvtxEventAttributes_t* event) { return start(nullptr, event); }
void end_outside(nvtxRangeId_t range) { end(nullptr, range); }

/// NVTX's tables of one module of functions; each entry points to where the tool's function goes.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &entries_, &size_) == 0) size_ = 0;
  }

  template <class Function>
  void set(unsigned index, Function* function) {
    if (index < size_) *entries_[index] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable entries_ = nullptr;
  unsigned size_ = 0;
};

void listen(const NvtxExportTableCallbacks& callbacks) {
  Table core(callbacks, NVTX_CB_MODULE_CORE);
  core.set(NVTX_CBID_CORE_RangePushEx, push_outside);
  core.set(NVTX_CBID_CORE_RangePop, pop_outside);
  core.set(NVTX_CBID_CORE_RangeStartEx, start_outside);
  core.set(NVTX_CBID_CORE_RangeEnd, end_outside);
  Table domains(callbacks, NVTX_CB_MODULE_CORE2);
  domains.set(NVTX_CBID_CORE2_DomainCreateA, create_domain);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  domains.set(NVTX_CBID_CORE2_DomainRangePushEx, push);
  domains.set(NVTX_CBID_CORE2_DomainRangePop, pop);
  domains.set(NVTX_CBID_CORE2_DomainRangeStartEx, start);
  domains.set(NVTX_CBID_CORE2_DomainRangeEnd, end);
}

}  // namespace

/// Called once by each shared object that uses NVTX; 0: this tool cannot listen.
// NOLINTNEXTLINE(readability-identifier-naming): the name is NVTX's.
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  if (!Recorder::instance().is_open()) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr) return 0;
  listen(*callbacks);
  return 1;
}
