extern "C" int ptbench_test_gone() { return 1; }
