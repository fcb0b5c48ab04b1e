extern "C" const void* ptbench_module_interface(const char* /*name*/, unsigned /*abi*/) {
  return nullptr;
}
