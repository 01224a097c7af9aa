# What Troupe's libraries stand on, as Debian packages (`./dev setup`). The build looks for all of it. The installed
# troupeConfig.cmake looks with this same file for what its targets name, COMPONENTS <target>..., and for no headers of mere
# libraries: installed headers include cereal and fmt only.
set(_troupe_found_with)  # variables that are true where all is found
set(_troupe_missing)  # Debian's packages of what is not

# troupe_find_package(<target> <Debian's package> <package of CMake> <argument of find_package>...)
macro(troupe_find_package target debian package)
  if(NOT TroupeDependencies_FIND_COMPONENTS OR "${target}" IN_LIST TroupeDependencies_FIND_COMPONENTS)
    find_package(${package} QUIET ${ARGN})
    list(APPEND _troupe_found_with ${package}_FOUND)
    if(NOT ${package}_FOUND)
      list(APPEND _troupe_missing ${debian})
    endif()
  endif()
endmacro()

# troupe_find_library(<namespace>::<name> <Debian's package> <library> <header> [<Debian's package of the header>]): an imported
# target for what ships no usable CMake package (that of oneDNN asks for OpenCL headers).
macro(troupe_find_library target debian library header)
  if(NOT TroupeDependencies_FIND_COMPONENTS OR "${target}" IN_LIST TroupeDependencies_FIND_COMPONENTS)
    string(MAKE_C_IDENTIFIER "${target}" _troupe_id)
    find_library(${_troupe_id}_LIBRARY ${library})
    mark_as_advanced(${_troupe_id}_LIBRARY)
    list(APPEND _troupe_found_with ${_troupe_id}_LIBRARY)
    if(NOT TroupeDependencies_FIND_COMPONENTS)
      find_path(${_troupe_id}_INCLUDE_DIR ${header})
      mark_as_advanced(${_troupe_id}_INCLUDE_DIR)
      list(APPEND _troupe_found_with ${_troupe_id}_INCLUDE_DIR)
    endif()
    if(NOT ${_troupe_id}_LIBRARY)
      list(APPEND _troupe_missing ${debian})
    elseif(NOT TroupeDependencies_FIND_COMPONENTS AND NOT ${_troupe_id}_INCLUDE_DIR)
      list(APPEND _troupe_missing ${debian} ${ARGN})
    elseif(NOT TARGET ${target})
      add_library(${target} UNKNOWN IMPORTED)
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${_troupe_id}_LIBRARY}"
                                                 INTERFACE_INCLUDE_DIRECTORIES "${${_troupe_id}_INCLUDE_DIR}")
    endif()
  endif()
endmacro()

troupe_find_library(ZeroMQ::zmq libzmq3-dev zmq zmq.hpp cppzmq-dev)
troupe_find_library(sodium::sodium libsodium-dev sodium sodium.h)
troupe_find_library(BLAS::openblas libopenblas-dev openblas cblas.h)
troupe_find_library(DNNL::dnnl libdnnl-dev dnnl dnnl.hpp)
troupe_find_library(libzip::zip libzip-dev zip zip.h)  # its package asks for programs that Debian ships apart
troupe_find_library(sleef::sleef libsleef-dev sleef sleef.h)
troupe_find_library(CAF::core libcaf-dev caf_core caf/all.hpp)
troupe_find_library(gloo::gloo libgloo-dev gloo gloo/allreduce.h)
troupe_find_package(fmt::fmt libfmt-dev fmt CONFIG)
troupe_find_package(spdlog::spdlog libspdlog-dev spdlog CONFIG)
troupe_find_package(cereal::cereal libcereal-dev cereal CONFIG)
troupe_find_package(tomlplusplus::tomlplusplus libtomlplusplus-dev tomlplusplus CONFIG)
troupe_find_package(CLI11::CLI11 libcli11-dev CLI11 CONFIG)
troupe_find_package(nlohmann_json::nlohmann_json nlohmann-json3-dev nlohmann_json CONFIG)
set(_troupe_openmp g++)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(_troupe_openmp libomp-dev)
endif()
troupe_find_package(OpenMP::OpenMP_CXX ${_troupe_openmp} OpenMP COMPONENTS CXX)

# GPUs can be used where the toolkit is. A program needs it where the library was compiled with it.
if(TroupeDependencies_FIND_COMPONENTS)
  troupe_find_package(CUDA::cudart_static nvidia-cuda-toolkit CUDAToolkit)
elseif(TROUPE_CUDA STREQUAL "ON" OR (TROUPE_CUDA STREQUAL "AUTO" AND EXISTS /proc/driver/nvidia))
  find_package(CUDAToolkit QUIET)
endif()

list(REMOVE_DUPLICATES _troupe_missing)
list(JOIN _troupe_missing " " _troupe_missing)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TroupeDependencies REQUIRED_VARS ${_troupe_found_with}
                                  REASON_FAILURE_MESSAGE "On Debian: apt-get install ${_troupe_missing}")
