# ptbench_cuda_architectures(VARIABLE VERSION): for which devices nvcc of that version builds where nobody says.
# Machine code of all, and PTX of 8.0 alone, which devices that are not in the list compile for themselves.
function(ptbench_cuda_architectures variable version)
  set(architectures 75-real 80 90-real)
  if(version VERSION_GREATER_EQUAL 12.8)
    list(APPEND architectures 100-real)
  endif()
  set(${variable} "${architectures}" PARENT_SCOPE)
endfunction()
