# Kernels of GPUs, where nvcc is.

# troupe_cuda_objects(<variable> <file>.cu...): sets <variable> to the object files of these sources.
#
# They are made by commands of their own and not by CMake's language CUDA: with that, every program that links them would be
# linked as a CUDA program, without the options of the C++ compiler (the sanitizers', for one), and every project that uses
# the installed library would need nvcc.
function(troupe_cuda_objects variable)
  set(flags -std=c++20 -O3 --expt-relaxed-constexpr -Xcompiler -fPIC,-Wall,-Wextra,-ffp-contract=off -I${PROJECT_SOURCE_DIR})
  # A product and a sum are never fused here either. PTX of the newest serves GPUs that come later.
  list(APPEND flags --fmad=false)
  if(TROUPE_CUDA_PTX_ONLY)
    list(APPEND flags -gencode arch=compute_80,code=compute_80)
  else()
    foreach(architecture ${TROUPE_CUDA_ARCHITECTURES})
      list(APPEND flags -gencode arch=compute_${architecture},code=sm_${architecture})
    endforeach()
    list(GET TROUPE_CUDA_ARCHITECTURES -1 newest)
    list(APPEND flags -gencode arch=compute_${newest},code=compute_${newest})
    # Kernels that differ in types or operators are much alike: packed for size they take a sixth of the bytes.
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
      list(APPEND flags --compress-mode=size)
    endif()
  endif()
  if(TROUPE_WERROR)
    list(APPEND flags -Werror all-warnings)
  endif()
  set(objects)
  foreach(source ${ARGN})
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${source}.o")
    get_filename_component(folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${object}"
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${CUDAToolkit_NVCC_EXECUTABLE}" ${flags} -MD -MF "${object}.d"
              -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
      DEPENDS "${source}" DEPFILE "${object}.d" COMMENT "Building GPU object ${source}.o" VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()
