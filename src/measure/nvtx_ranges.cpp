#include "src/measure/nvtx_ranges.h"

#ifdef PTBENCH_HAS_NVTX
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>
#endif

namespace ptbench {

#ifdef PTBENCH_HAS_NVTX
namespace {

/// The tool's handles of the domain and of the names of ranges; all null where no tool listens.
struct Handles {
  Handles() : domain(nvtxDomainCreateA("ptbench")) {
    if (domain == nullptr) return;
    step = nvtxDomainRegisterStringA(domain, "step");
    bucket = nvtxDomainRegisterStringA(domain, "bucket");
    for (std::size_t phase = 0; phase < phases.size(); ++phase) {
      // What is waited is known afterwards only: it has no range.
      if (static_cast<StepPhase>(phase) == StepPhase::wait) continue;
      const std::string name(name_of(static_cast<StepPhase>(phase)));
      phases[phase] = nvtxDomainRegisterStringA(domain, name.c_str());
    }
  }

  nvtxDomainHandle_t domain;
  nvtxStringHandle_t step = nullptr;
  nvtxStringHandle_t bucket = nullptr;
  std::array<nvtxStringHandle_t, kStepPhases> phases{};
};

/// NVTX itself attaches a tool once a process, and what the tool registered is valid until the
/// process ends: so the handles are constants that are known from the first use on, and a domain is
/// never destroyed, since threads may still end ranges in it.
const Handles& handles() {
  static const Handles instance;
  return instance;
}

nvtxEventAttributes_t attributes_of(nvtxStringHandle_t name, std::uint64_t payload) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = static_cast<std::uint16_t>(sizeof(attributes));
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = payload;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = name;
  return attributes;
}

nvtxStringHandle_t name_in(const Handles& all, StepPhase phase) {
  return all.phases[static_cast<std::size_t>(phase)];
}

void push(const Handles& all, nvtxStringHandle_t name, std::uint64_t payload) {
  if (all.domain == nullptr) return;
  const nvtxEventAttributes_t attributes = attributes_of(name, payload);
  nvtxDomainRangePushEx(all.domain, &attributes);
}

}  // namespace

bool has_nvtx() { return true; }
bool find_nvtx_tool() { return handles().domain != nullptr; }

void push_nvtx_step(std::uint64_t step) {
  const Handles& all = handles();
  push(all, all.step, step);
}

void push_nvtx_phase(StepPhase phase, std::uint64_t payload) {
  const Handles& all = handles();
  push(all, name_in(all, phase), payload);
}

void push_nvtx_bucket(std::uint64_t bytes) {
  const Handles& all = handles();
  push(all, all.bucket, bytes);
}

void pop_nvtx() {
  const Handles& all = handles();
  if (all.domain != nullptr) nvtxDomainRangePop(all.domain);
}

NvtxSpan::NvtxSpan(StepPhase phase, std::uint64_t payload) {
  const Handles& all = handles();
  if (all.domain == nullptr) return;
  const nvtxEventAttributes_t attributes = attributes_of(name_in(all, phase), payload);
  id_ = nvtxDomainRangeStartEx(all.domain, &attributes);
}

void NvtxSpan::end() {
  if (id_ != kEnded) nvtxDomainRangeEnd(handles().domain, std::exchange(id_, kEnded));
}

#else

bool has_nvtx() { return false; }
bool find_nvtx_tool() { return false; }

void push_nvtx_step(std::uint64_t /*step*/) {}
void push_nvtx_phase(StepPhase /*phase*/, std::uint64_t /*payload*/) {}
void push_nvtx_bucket(std::uint64_t /*bytes*/) {}
void pop_nvtx() {}

NvtxSpan::NvtxSpan(StepPhase /*phase*/, std::uint64_t /*payload*/) {}
void NvtxSpan::end() { id_ = kEnded; }

#endif

}  // namespace ptbench
