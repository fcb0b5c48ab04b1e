// That the real NVRTC is found where the module looks for it, with the library that it opens
// itself.
#include "src/device/cuda/runtime_compiler.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "tests/support/skip.h"

namespace ptbench::testing {

TEST_CASE("the runtime compiler is opened with the library that it opens by name") {
  const RuntimeCompiler compiler = open_runtime_compiler();
  if (compiler.version.empty()) skip(compiler.reason);
  CHECK(compiler.reason.empty());
  CHECK(compiler.remedy.empty());
  CHECK(compiler.library ==
        "libnvrtc.so." + compiler.version.substr(0, compiler.version.find('.')));
  const std::string own = "libnvrtc-builtins.so." + compiler.version;
  CHECK(dlopen(own.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr);
}

}  // namespace ptbench::testing
