# Everything Troupe's libraries stand on, or with COMPONENTS port what troupe::port does; all are Debian packages (`./dev setup`).
# The build and the installed troupeConfig.cmake look for them with this same file.
include(CMakeFindDependencyMacro)
set(_troupe_port_only FALSE)
if("${TroupeDependencies_FIND_COMPONENTS}" STREQUAL "port")
  set(_troupe_port_only TRUE)
endif()

find_dependency(Threads)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(spdlog CONFIG)
find_dependency(fmt CONFIG)
if(NOT _troupe_port_only)
  find_dependency(tomlplusplus CONFIG)
  find_dependency(cereal CONFIG)
  find_dependency(CLI11 CONFIG)
  find_dependency(nlohmann_json CONFIG)
endif()
# GPUs can be used where the toolkit is. A program that uses the installed library looks for it always: the library may need it.
if(NOT DEFINED TROUPE_CUDA OR TROUPE_CUDA STREQUAL "ON" OR (TROUPE_CUDA STREQUAL "AUTO" AND EXISTS /proc/driver/nvidia))
  find_package(CUDAToolkit QUIET)
endif()

# troupe_find_library(<namespace>::<name> <header> <library>): an imported target for what ships no usable CMake package
# (that of oneDNN asks for OpenCL headers).
macro(troupe_find_library target header library)
  string(MAKE_C_IDENTIFIER "${target}" _troupe_id)
  find_path(${_troupe_id}_INCLUDE_DIR ${header})
  find_library(${_troupe_id}_LIBRARY ${library})
  mark_as_advanced(${_troupe_id}_INCLUDE_DIR ${_troupe_id}_LIBRARY)
  list(APPEND _troupe_found_with ${_troupe_id}_INCLUDE_DIR ${_troupe_id}_LIBRARY)
  if(${_troupe_id}_INCLUDE_DIR AND ${_troupe_id}_LIBRARY AND NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${_troupe_id}_LIBRARY}"
                                               INTERFACE_INCLUDE_DIRECTORIES "${${_troupe_id}_INCLUDE_DIR}")
  endif()
endmacro()

set(_troupe_found_with)
troupe_find_library(ZeroMQ::zmq zmq.hpp zmq)
troupe_find_library(sodium::sodium sodium.h sodium)
if(NOT _troupe_port_only)
  troupe_find_library(BLAS::openblas cblas.h openblas)
  troupe_find_library(DNNL::dnnl dnnl.hpp dnnl)
  troupe_find_library(libzip::zip zip.h zip)  # its package asks for programs that Debian ships apart
  troupe_find_library(sleef::sleef sleef.h sleef)
  troupe_find_library(CAF::core caf/all.hpp caf_core)
  troupe_find_library(gloo::gloo gloo/allreduce.h gloo)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TroupeDependencies REQUIRED_VARS ${_troupe_found_with}
                                  REASON_FAILURE_MESSAGE "On Debian `./dev setup` installs what is missing")
