#include "workloads/weights_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "src/base/error.h"
#include "src/base/input_file.h"
#include "src/base/log.h"
#include "src/base/python_line.h"
#include "src/base/suggest.h"
#include "src/base/units.h"
#include "src/device/memory.h"
#include "workloads/file_text.h"

namespace ptbench {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

/// How much is read is compared with the free memory, once the header has told it.
constexpr InputRule kWeightsRule{.largest = std::numeric_limits<Bytes>::max()};
constexpr Bytes kLengthBytes = 8;             // the header's length, before the header
constexpr Bytes kMaximumHeader = 16U << 20U;  // some hundred thousand tensors
constexpr int kMostLevels = 4;                // tensor, field, array, and one to spare
constexpr std::size_t kListed = 3;            // tensors in a message
constexpr std::string_view kMetadata = "__metadata__";

/// A tensor as the header announces it; bytes count from the end of the header.
struct Entry {
  std::string name;
  Shape shape;
  Bytes begin = 0;
  Bytes end = 0;

  [[nodiscard]] Bytes bytes() const { return end - begin; }
};

constexpr const char* kSaveAgain =
    "save the weights again, with --save-initial-weights, --save-final-weights or PyTorch's "
    "safetensors.torch.save_file(model.state_dict(), FILE)";

Error malformed(const std::string& path, const std::string& what, std::string remedy = kSaveAgain) {
  return usage_error(fmt::format("'{}' is not a usable weights file: {}", printable(path), what),
                     std::move(remedy));
}

/// As PyTorch writes it: [1024, 784], and [] for a scalar.
std::string text_of(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dimensions(), ", "));
}

/// Where a complaint about one tensor comes from.
struct Place {
  std::string path;
  std::string tensor;

  [[nodiscard]] Error error(const std::string& what, std::string remedy = kSaveAgain) const {
    return malformed(path, fmt::format("tensor {} {}", in_quotes(tensor), what), std::move(remedy));
  }
};

const json& field_of(const Place& place, const json& fields, const char* key) {
  const auto found = fields.find(key);
  if (found == fields.end()) throw place.error(fmt::format("has no '{}'", key));
  return *found;
}

std::vector<Bytes> numbers_of(const Place& place, const json& fields, const char* key) {
  const json& array = field_of(place, fields, key);
  const auto is_whole = [](const json& element) { return element.is_number_unsigned(); };
  if (!array.is_array() || !std::ranges::all_of(array, is_whole))
    throw place.error(fmt::format("has a '{}' that is not an array of whole numbers", key));
  return array.get<std::vector<Bytes>>();
}

Shape shape_of(const Place& place, const json& fields) {
  const std::vector<Bytes> dimensions = numbers_of(place, fields, "shape");
  if (dimensions.size() > Shape::kMaximumRank)
    throw place.error(fmt::format("has {} dimensions, and at most {} are read", dimensions.size(),
                                  Shape::kMaximumRank));
  std::vector<Size> sizes;
  for (const Bytes dimension : dimensions) {
    if (!std::in_range<Size>(dimension)) throw place.error("has an absurd shape");
    sizes.push_back(static_cast<Size>(dimension));
  }
  return Shape(sizes);
}

/// The number of steps that a batch norm of PyTorch has seen, which nothing here needs.
bool is_step_count(std::string_view tensor) {
  constexpr std::string_view kCount = "num_batches_tracked";
  return tensor == kCount || tensor.ends_with("." + std::string(kCount));
}

/// Bytes of a value. Throws unless it is a float, or the count of a batch norm.
Bytes read_type(const Place& place, const json& fields) {
  const json& type = field_of(place, fields, "dtype");
  if (!type.is_string()) throw place.error("has a 'dtype' that is not a string");
  const auto& text = type.get_ref<const std::string&>();
  if (text == "I64" && is_step_count(place.tensor)) return sizeof(std::int64_t);
  if (text == "F32") return sizeof(float);
  throw place.error(
      fmt::format("is {}, and only F32 is read", shown(text)),
      fmt::format("save them as float32 (the old file stays, its name ends in .old): {}",
                  python_line("from safetensors.torch import load_file, save_file; "
                              "t = {k: v.float().contiguous() for k, v in load_file(f).items()}; "
                              "os.rename(f, f + '.old'); save_file(t, f)",
                              {place.path})));
}

Entry read_entry(const Place& place, const json& fields) {
  if (!fields.is_object()) throw place.error("is not described by an object");
  const Bytes value_bytes = read_type(place, fields);
  const Shape shape = shape_of(place, fields);
  const std::vector<Bytes> offsets = numbers_of(place, fields, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    throw place.error("has 'data_offsets' that are not [begin, end]");
  Bytes bytes = value_bytes;
  for (const Size dimension : shape.dimensions())
    if (__builtin_mul_overflow(bytes, static_cast<Bytes>(dimension), &bytes))
      throw place.error("has an absurd shape, " + text_of(shape));
  const Entry entry{place.tensor, shape, offsets[0], offsets[1]};
  if (entry.bytes() != bytes)
    throw place.error(fmt::format("of shape {} takes {} bytes, and its data_offsets give it {}",
                                  text_of(shape), bytes, entry.bytes()));
  return entry;
}

/// The header as JSON. The parser alone would take the last of two equal names, silently.
json parse_header(const std::string& path, const std::string& text) {
  std::set<std::string> names;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMostLevels) throw malformed(path, "its header is nested too deeply");
    if (event == json::parse_event_t::key && depth == 1) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names.insert(name).second)
        throw malformed(path, fmt::format("it holds two tensors {}", in_quotes(name)));
    }
    return true;
  };
  try {
    json header = json::parse(text, check);
    if (!header.is_object()) throw malformed(path, "its header is not a JSON object");
    return header;
  } catch (const json::exception& error) {
    throw malformed(path, fmt::format("its header is not JSON ({})", shown(error.what())));
  }
}

/// The tensors that the header announces, in the order of their bytes, which they cover without
/// gaps and overlaps.
std::vector<Entry> read_entries(const std::string& path, const std::string& text,
                                Bytes data_bytes) {
  const json header = parse_header(path, text);
  std::vector<Entry> entries;
  for (const auto& [name, fields] : header.items())
    if (name != kMetadata) entries.push_back(read_entry({path, name}, fields));
  std::ranges::sort(entries, {},
                    [](const Entry& entry) { return std::pair{entry.begin, entry.end}; });
  Bytes covered = 0;
  for (const Entry& entry : entries) {
    if (entry.end > data_bytes)
      throw malformed(path, fmt::format("tensor {} ends at byte {} of {}: the file is truncated",
                                        in_quotes(entry.name), entry.end, data_bytes));
    if (entry.begin != covered)
      throw malformed(path, fmt::format("tensor {} {}", in_quotes(entry.name),
                                        entry.begin < covered ? "overlaps the one before it"
                                                              : "leaves a gap before it"));
    covered = entry.end;
  }
  if (covered != data_bytes)
    throw malformed(path, fmt::format("{} bytes after the last tensor belong to no tensor",
                                      data_bytes - covered));
  return entries;
}

void read_bytes(std::istream& stream, const std::string& path, char* to, Bytes bytes) {
  if (!stream.read(to, static_cast<std::streamsize>(bytes)))
    throw malformed(path, "it ended while it was read");
}

const NamedTensor* find(std::span<const NamedTensor> tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

std::vector<NamedTensor> read_weights(const std::string& path) {
  InputFile file = open_input(path, kWeightsRule, [&](const InputProblem& problem) {
    return usage_error(fmt::format("the weights file '{}' {}", printable(path), problem.predicate),
                       "name a .safetensors file that you may read");
  });
  return read_weights(file.stream, file.bytes, path);
}

std::vector<NamedTensor> read_weights(std::istream& stream, Bytes bytes, const std::string& path) {
  if (bytes < kLengthBytes) throw malformed(path, "it is shorter than 8 bytes");
  std::array<char, kLengthBytes> length{};
  read_bytes(stream, path, length.data(), length.size());
  const auto header_bytes = std::bit_cast<Bytes>(length);
  const Bytes rest = bytes - kLengthBytes;
  if (header_bytes > rest)
    throw malformed(
        path, fmt::format("it promises a header of {} bytes and holds {}", header_bytes, rest));
  if (header_bytes > kMaximumHeader)
    throw malformed(path, fmt::format("its header takes {}, and at most {} are read",
                                      format_bytes(header_bytes), format_bytes(kMaximumHeader)));
  std::string header(header_bytes, '\0');
  read_bytes(stream, path, header.data(), header_bytes);
  const std::vector<Entry> entries = read_entries(path, header, rest - header_bytes);

  // A file may be sparse and so larger than any memory.
  if (rest > available_memory())
    throw usage_error(
        fmt::format("the weights in '{}' take {}, more than the memory left, {}", printable(path),
                    format_bytes(rest), format_bytes(available_memory())),
        "use a machine with more memory");
  std::vector<NamedTensor> tensors;
  for (const Entry& entry : entries) {
    if (is_step_count(entry.name)) {
      stream.ignore(static_cast<std::streamsize>(entry.bytes()));
      continue;
    }
    NamedTensor& tensor = tensors.emplace_back();
    tensor.name = entry.name;
    tensor.shape = entry.shape;
    tensor.values.resize(entry.bytes() / sizeof(float));
    read_bytes(stream, path, reinterpret_cast<char*>(tensor.values.data()), entry.bytes());
  }
  return tensors;
}

std::string serialize_weights(std::span<const NamedTensor> tensors) {
  // The note on the format is what PyTorch's own writer leaves, and some readers ask for it.
  ordered_json header = {{kMetadata, {{"format", "pt"}}}};
  Bytes end = 0;
  for (const NamedTensor& tensor : tensors) {
    ensure(tensor.shape.elements() == static_cast<Size>(tensor.values.size()),
           "a tensor has as many values as its shape says");
    ensure(!header.contains(tensor.name), "tensors have different names");
    const Bytes begin = end;
    end += tensor.values.size() * sizeof(float);
    const auto dimensions = tensor.shape.dimensions();
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", std::vector<Size>(dimensions.begin(), dimensions.end())},
                           {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  // Spaces, so that the data is aligned for readers that map the file.
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');

  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(Bytes{text.size()});
  std::string bytes;
  bytes.reserve(length.size() + text.size() + end);
  bytes.append(length.data(), length.size()).append(text);
  for (const NamedTensor& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()),
                 tensor.values.size() * sizeof(float));
  return bytes;
}

std::vector<const NamedTensor*> match_weights(std::span<const NamedTensor> tensors,
                                              std::span<const ParameterSpec> expected,
                                              std::string_view path) {
  std::vector<std::string> unexpected;
  for (const NamedTensor& tensor : tensors)
    if (std::ranges::find(expected, tensor.name, &ParameterSpec::name) == expected.end())
      unexpected.push_back(tensor.name);

  std::vector<const NamedTensor*> matched;
  std::vector<std::string> missing;
  std::vector<std::string> unfit;
  for (const ParameterSpec& spec : expected) {
    const NamedTensor* tensor = find(tensors, spec.name);
    matched.push_back(tensor);
    if (tensor == nullptr) {
      const std::string hint = did_you_mean(spec.name, unexpected);
      missing.push_back(in_quotes(spec.name) + (hint.empty() ? "" : " (" + shown(hint) + ")"));
    } else if (tensor->shape != spec.shape) {
      unfit.push_back(fmt::format("{} is {}, not {}", in_quotes(spec.name), text_of(tensor->shape),
                                  text_of(spec.shape)));
    } else if (!std::ranges::all_of(tensor->values, [](float v) { return std::isfinite(v); })) {
      // A rectifier would hide it from the loss.
      unfit.push_back(in_quotes(spec.name) + " holds values that are not finite");
    }
  }
  for (std::string& name : unexpected) name = in_quotes(name);

  std::vector<std::string> complaints;
  if (!missing.empty()) complaints.push_back("it lacks " + few(missing, kListed));
  if (!unfit.empty()) complaints.push_back(few(unfit, kListed));
  if (!unexpected.empty()) complaints.push_back("the model has no " + few(unexpected, kListed));
  if (!complaints.empty())
    throw usage_error(fmt::format("the weights in '{}' do not fit the model: {}", printable(path),
                                  fmt::join(complaints, "; ")),
                      "give weights that were saved from the same workload");
  return matched;
}

}  // namespace ptbench
