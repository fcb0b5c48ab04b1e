extern "C" int ptbench_test_other_function() { return 1; }
