#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <span>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/data/npy_file.h"

namespace ptbench {
namespace {

/// Reads what numpy writes of Python's syntax: a dictionary of strings, booleans and a tuple of
/// whole numbers, {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name, const NpyRemedies& remedies)
      : rest_(text), name_(name), remedies_(remedies) {}

  NpyHeader parse() {
    expect('{');
    while (!take('}')) {
      read_entry();
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (!rest_.empty()) throw damaged("something follows its dictionary");
    if (!has_type_ || !has_order_ || !has_shape_)
      throw damaged("it lacks one of 'descr', 'fortran_order' and 'shape'");
    return header_;
  }

 private:
  [[nodiscard]] Error wrong(const std::string& what) const {
    return usage_error(fmt::format("{} {}", name_, what), remedies_.damaged);
  }
  [[nodiscard]] Error damaged(const std::string& what) const {
    return wrong(fmt::format("has a damaged NPY header: {}", what));
  }

  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }

  /// Whether `character` came next, which is then behind us.
  bool take(char character) {
    skip_space();
    if (!rest_.starts_with(character)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char character) {
    if (!take(character)) throw damaged(fmt::format("it has no '{}' where one belongs", character));
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void read_entry() {
    const std::string_view key = read_string();
    expect(':');
    if (key == "descr") {
      note_first(has_type_);
      read_type();
    } else if (key == "fortran_order") {
      note_first(has_order_);
      read_order();
    } else if (key == "shape") {
      note_first(has_shape_);
      read_shape();
    } else {
      throw damaged(fmt::format("it has the unknown key '{}'", shown(key)));
    }
  }

  void note_first(bool& seen) const {
    if (seen) throw damaged("it has a key twice");
    seen = true;
  }

  std::string_view read_string() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end =
        quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) throw damaged("it has no string where one belongs");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void read_type() {
    skip_space();
    if (rest_.starts_with('[') || rest_.starts_with('('))
      throw usage_error(
          fmt::format("{} holds records of several fields (a structured type)", name_),
          remedies_.records);
    header_.type = shown(read_string());
  }

  void read_order() {
    header_.fortran_order = take_word("True");
    if (!header_.fortran_order && !take_word("False"))
      throw damaged("its 'fortran_order' is neither True nor False");
  }

  /// A tuple: (), (3,), (3, 4) or (3, 4,).
  void read_shape() {
    std::array<Size, Shape::kMaximumRank> dimensions{};
    std::size_t rank = 0;
    bool comma = true;
    expect('(');
    while (!take(')')) {
      if (!comma) throw damaged("its 'shape' is not a tuple of whole numbers");
      if (rank == dimensions.size())
        throw wrong(fmt::format("has more than {} dimensions", dimensions.size()));
      dimensions.at(rank++) = read_dimension();
      comma = take(',');
    }
    if (rank == 1 && !comma) throw damaged("its 'shape' is not a tuple of whole numbers");
    header_.shape = Shape(std::span<const Size>(dimensions).first(rank));
  }

  Size read_dimension() {
    skip_space();
    Size dimension = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dimension);
    if (error == std::errc::result_out_of_range || dimension < 0)
      throw damaged("its 'shape' has an absurd number");
    if (error != std::errc{}) throw damaged("its 'shape' is not a tuple of whole numbers");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    (void)(rest_.starts_with('L') && take('L'));  // how Python 2 wrote long numbers
    return dimension;
  }

  /// Text from the file, fit for a message whatever it is.
  static std::string shown(std::string_view text) {
    constexpr std::size_t kShown = 40;
    return printable(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "");
  }

  std::string_view rest_;
  const std::string& name_;
  const NpyRemedies& remedies_;
  NpyHeader header_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name,
                           const NpyRemedies& remedies) {
  return HeaderParser(text, name, remedies).parse();
}

}  // namespace ptbench
