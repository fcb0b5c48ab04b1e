extern "C" int ptbench_test_gone();

extern "C" const void* ptbench_module_interface(const char* name, unsigned /*abi*/) {
  return ptbench_test_gone() == 0 ? nullptr : name;
}
