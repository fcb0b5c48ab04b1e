#include "tests/cuda_emulator/device/report.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace ptbench::emulator {

void remark(const std::string& what) { std::fprintf(stderr, "cuda emulator: %s\n", what.c_str()); }

void report(const std::string& what) {
  remark(what);
  std::fflush(nullptr);
  std::_Exit(kFaultStatus);
}

std::string readable_name(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  std::string name = demangled ? demangled.get() : symbol;
  // "void (anonymous namespace)::scale<float>(float*, int)": from the last word before the
  // parameters, which are the last pair of brackets.
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) {
      name.resize(at);
      break;
    }
  }
  const std::string anonymous = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = name.find(anonymous)) != std::string::npos;)
    name.erase(at, anonymous.size());
  if (name.starts_with("void ")) name.erase(0, 5);
  const std::size_t scope = name.rfind("::", name.find('<'));
  if (scope != std::string::npos) name.erase(0, scope + 2);
  return name;
}

std::string file_name(const char* path) {
  const std::string all = path;
  return all.substr(all.find_last_of('/') + 1);
}

}  // namespace ptbench::emulator
