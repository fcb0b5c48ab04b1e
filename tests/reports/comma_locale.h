#pragma once

#include <clocale>
#include <locale>
#include <string>

namespace ptbench::testing {

/// While it lives, numbers have a decimal comma and points between thousands wherever the program's
/// locale is asked: in C++ streams, and in C where the machine has a German locale.
class CommaLocale {
 public:
  CommaLocale()
      : before_(std::locale::global(std::locale(std::locale::classic(), new Punctuation))),
        c_before_(std::setlocale(LC_ALL, nullptr)) {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE"})
      if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  ~CommaLocale() {
    std::locale::global(before_);
    (void)std::setlocale(LC_ALL, c_before_.c_str());
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

 private:
  class Punctuation final : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };

  std::locale before_;
  std::string c_before_;
};

}  // namespace ptbench::testing
