#include "tests/cuda_emulator/cudnn/plan_text.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/cuda_emulator/cudnn/refusal.h"
#include "tests/cuda_emulator/cudnn/rules.h"

namespace ptbench::emulator {
namespace {

constexpr const char* kVersionField = R"({"cudnnVersion":)";
constexpr const char* kDeviceField = R"(,"deviceVer":)";
constexpr const char* kConfigurationField = R"(,"configuration":")";
constexpr const char* kTextEnd = R"("})";
constexpr const char* kDigits = "0123456789abcdef";

[[noreturn]] void refuse_text(cudnnStatus_t status, const char* why) {
  throw Refusal(status, std::string("the text of a plan ") + why, false);
}
[[noreturn]] void refuse_broken_text() { refuse_text(CUDNN_STATUS_BAD_PARAM, "is broken"); }

/// A hundred times the compute capability of the current device.
int device_version() {
  int device = 0;
  int major = 0;
  int minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess)
    throw Refusal(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the device of a plan is not known");
  return 100 * major + 10 * minor;
}

/// Type, number of attributes, and of each its name, type, number of elements and elements: other
/// descriptors, or digits of bytes. Handles mean nothing to another process.
void write_descriptor(const Descriptor& descriptor, std::ostream& to) {
  std::size_t attributes = 0;
  for (const auto& [name, values] : descriptor.values())
    if (values.type != CUDNN_TYPE_HANDLE) ++attributes;
  to << static_cast<int>(descriptor.type()) << ' ' << attributes;
  for (const auto& [name, values] : descriptor.values()) {
    if (values.type == CUDNN_TYPE_HANDLE) continue;
    to << ' ' << static_cast<int>(name) << ' ' << static_cast<int>(values.type) << ' '
       << values.count;
    if (!values.bytes.empty()) to << ' ';
    for (const std::byte byte : values.bytes)
      to << kDigits[std::to_integer<unsigned>(byte) / 16]
         << kDigits[std::to_integer<unsigned>(byte) % 16];
    for (const DescriptorPtr& part : values.descriptors) {
      to << ' ';
      write_descriptor(*part, to);
    }
  }
}

std::int64_t read_number(std::istream& from) {
  std::int64_t number = 0;
  if (!(from >> number)) refuse_broken_text();
  return number;
}

/// A number of parts, of which no description has many.
std::size_t read_count(std::istream& from) {
  constexpr std::int64_t kMostParts = 1000;
  const std::int64_t count = read_number(from);
  if (count < 0 || count > kMostParts) refuse_broken_text();
  return static_cast<std::size_t>(count);
}

std::byte read_byte(std::istream& from) {
  const std::string digits = kDigits;
  unsigned value = 0;
  for (int digit = 0; digit < 2; ++digit) {
    const std::size_t found = digits.find(static_cast<char>(from.get()));
    if (!from || found == std::string::npos) refuse_broken_text();
    value = 16 * value + static_cast<unsigned>(found);
  }
  return static_cast<std::byte>(value);
}

DescriptorPtr read_descriptor(std::istream& from) {
  const std::int64_t kind = read_number(from);
  const std::size_t attributes = read_count(from);
  const auto made = create_descriptor(static_cast<Descriptor::Type>(kind));
  for (std::size_t attribute = 0; attribute < attributes; ++attribute) {
    const auto name = static_cast<Descriptor::Name>(read_number(from));
    const auto type = static_cast<cudnnBackendAttributeType_t>(read_number(from));
    const std::size_t count = read_count(from);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      std::vector<DescriptorPtr> parts;
      for (std::size_t part = 0; part < count; ++part) parts.push_back(read_descriptor(from));
      (void)find_rule(made->type(), name, type);
      made->put(name, values_of(std::move(parts)));
      continue;
    }
    std::vector<std::byte> bytes(count * element_bytes(type));
    if (!bytes.empty()) from.get();  // the blank before them
    for (std::byte& byte : bytes) byte = read_byte(from);
    set_attribute(*made, name, type, static_cast<std::int64_t>(count), bytes.data());
  }
  finalize(*made);
  return made;
}

/// Passes over what has to be there.
void expect_text(std::istream& from, const std::string& wanted) {
  std::string found(wanted.size(), '\0');
  from.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (found != wanted) refuse_broken_text();
}

DescriptorPtr configuration_in(const std::string& text) {
  std::istringstream from(text);
  expect_text(from, kVersionField);
  if (read_number(from) != CUDNN_VERSION)
    refuse_text(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, "is of another version");
  expect_text(from, kDeviceField);
  if (read_number(from) != device_version())
    refuse_text(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, "is of another device");
  expect_text(from, kConfigurationField);
  DescriptorPtr configuration = read_descriptor(from);
  expect_text(from, kTextEnd);
  return configuration;
}

}  // namespace

std::string text_of(const Descriptor& configuration) {
  std::ostringstream text;
  text << kVersionField << CUDNN_VERSION << kDeviceField << device_version() << kConfigurationField;
  write_descriptor(configuration, text);
  text << kTextEnd;
  return text.str();
}

void restore_plan(Descriptor& plan) {
  if (!plan.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) return;
  if (!plan.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))  // without one the real library crashes
    bad_parameter("a plan is given as a text, and no handle");
  if (plan.has(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))
    not_supported("plans that are given both a text and a configuration are not emulated");
  const std::vector<char> text = plan.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  plan.put(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
           values_of(std::vector{configuration_in({text.begin(), text.end()})}));
}

}  // namespace ptbench::emulator
