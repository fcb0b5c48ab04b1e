#pragma once

#include <cudnn_graph.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ptbench::emulator {

class Descriptor;
using DescriptorPtr = std::shared_ptr<const Descriptor>;

/// The value of an attribute: elements of one type, which are descriptors or plain bytes.
struct Values {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
  std::vector<DescriptorPtr> descriptors;
};

/// Bytes of an element in the arrays that callers give and take.
[[nodiscard]] std::size_t element_bytes(cudnnBackendAttributeType_t type);

template <class T>
Values values_of(cudnnBackendAttributeType_t type, std::span<const T> elements) {
  Values values{type, static_cast<std::int64_t>(elements.size()), {}, {}};
  values.bytes.resize(elements.size_bytes());
  if (!elements.empty()) std::memcpy(values.bytes.data(), elements.data(), elements.size_bytes());
  return values;
}
[[nodiscard]] Values values_of(std::vector<DescriptorPtr> descriptors);

/// What lies behind a cudnnBackendDescriptor_t: attributes, which are set until it is final, and
/// never change afterwards. What other descriptors hold of it is only ever a final one.
class Descriptor {
 public:
  using Type = cudnnBackendDescriptorType_t;
  using Name = cudnnBackendAttributeName_t;

  explicit Descriptor(Type type) : type_(type) {}

  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool is_final() const { return is_final_; }

  void put(Name name, Values values) { values_[name] = std::move(values); }
  void make_final() { is_final_ = true; }

  [[nodiscard]] bool has(Name name) const { return values_.contains(name); }
  /// All that were set.
  [[nodiscard]] const std::map<Name, Values>& values() const { return values_; }
  /// Null where it was not set.
  [[nodiscard]] const Values* find(Name name) const;
  /// Elements of plain bytes; none where the attribute was not set.
  template <class T>
  [[nodiscard]] std::vector<T> all(Name name) const {
    const Values* values = find(name);
    std::vector<T> elements(values == nullptr ? 0 : values->bytes.size() / sizeof(T));
    if (!elements.empty())
      std::memcpy(elements.data(), values->bytes.data(), elements.size() * sizeof(T));
    return elements;
  }
  /// The only element.
  template <class T>
  [[nodiscard]] T one(Name name, T otherwise = {}) const {
    if (const Values* values = find(name)) std::memcpy(&otherwise, values->bytes.data(), sizeof(T));
    return otherwise;
  }
  /// Of type CUDNN_TYPE_FLOAT or CUDNN_TYPE_DOUBLE.
  [[nodiscard]] double number(Name name, double otherwise) const;
  /// Empty where the attribute was not set.
  [[nodiscard]] std::vector<DescriptorPtr> descriptors(Name name) const;
  /// Of an attribute that is required.
  [[nodiscard]] const Descriptor& descriptor(Name name) const;

 private:
  Type type_;
  bool is_final_ = false;
  std::map<Name, Values> values_;
};

/// What a cudnnBackendDescriptor_t points to. Getting descriptors makes the caller's stand for
/// others.
struct DescriptorHandle {
  std::shared_ptr<Descriptor> content;
};

// The calls of the backend API; they throw Refusal.

/// NOT_SUPPORTED where the emulation has no such descriptor.
[[nodiscard]] std::shared_ptr<Descriptor> create_descriptor(Descriptor::Type type);
void set_attribute(Descriptor& descriptor, Descriptor::Name name, cudnnBackendAttributeType_t type,
                   std::int64_t count, const void* elements);
void get_attribute(const Descriptor& descriptor, Descriptor::Name name,
                   cudnnBackendAttributeType_t type, std::int64_t requested, std::int64_t* count,
                   void* elements);
void finalize(Descriptor& descriptor);

}  // namespace ptbench::emulator
