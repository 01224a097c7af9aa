# How Troupe's targets are made; nothing is set globally.
include(GNUInstallDirs)

set(TROUPE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion)

function(troupe_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${TROUPE_WARNINGS} $<$<BOOL:${TROUPE_WERROR}>:-Werror>)
  # A product and a sum are never fused behind our back: loops compiled for several processors agree (tensor/cpu/vectorized.h).
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # Reports name lines of the tree, not of the machine that built them. Debug info keeps the paths.
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
endfunction()

# troupe_compile_in_groups(<target> [TEST])
# Compiles a target's sources in groups of twelve where TROUPE_UNITY says so. For targets of many sources that share headers.
# Sources of a group are one translation unit: what a test needs for itself stands in its suite, so that two may use one name.
function(troupe_compile_in_groups target)
  if(TROUPE_UNITY AND (NOT TROUPE_UNITY STREQUAL "TESTS" OR "TEST" IN_LIST ARGN))  # then GCC takes a source's own types for types of a header
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# What nearly every source includes. Precompiled only where TROUPE_PCH says so: elsewhere (release, tidy) a source that
# forgets an include is found.
set(TROUPE_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <stop_token> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)

# troupe_precompile(<target> <header>...)
# Precompiles these headers, and the standard ones, for the sources of one library.
function(troupe_precompile target)
  if(TROUPE_PCH)
    target_precompile_headers(${target} PRIVATE ${TROUPE_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

# Precompiles troupe.h once for the small programs: reading it is two thirds of compiling one. Targets of a folder that sets
# TROUPE_USES_TROUPE_H use it. Not suites: their groups gain little, and would be compiled again after a change of any header.
function(troupe_precompile_troupe_h)
  if(TROUPE_PCH)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/troupe_h.cc" CONTENT "")
    add_library(troupe_h OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/troupe_h.cc")
    # Not linked: GCC refuses what was precompiled with a macro (FMT_SHARED) that the program's own source lacks.
    target_include_directories(troupe_h PRIVATE $<TARGET_PROPERTY:troupe::troupe,INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_options(troupe_h PRIVATE ${TROUPE_PROGRAM_OPTIONS})
    troupe_compile_options(troupe_h)
    target_precompile_headers(troupe_h PRIVATE "${PROJECT_SOURCE_DIR}/troupe.h")
  endif()
endfunction()

function(troupe_use_troupe_h target)
  if(TROUPE_USES_TROUPE_H AND TARGET troupe_h)
    target_precompile_headers(${target} REUSE_FROM troupe_h)
  endif()
endfunction()

# troupe_not_exported(<variable> <target>...)
# Sets <variable> to these targets, those of headers alone marked so that no installed target names them: who links a library
# needs no headers of its sources.
function(troupe_not_exported variable)
  set(links)
  foreach(link ${ARGN})
    if(TARGET ${link})
      get_target_property(type ${link} TYPE)
      get_target_property(linked ${link} INTERFACE_LINK_LIBRARIES)
      if(type STREQUAL "INTERFACE_LIBRARY" AND NOT linked)
        set(link "$<BUILD_INTERFACE:${link}>")
      endif()
    endif()
    list(APPEND links "${link}")
  endforeach()
  set(${variable} "${links}" PARENT_SCOPE)
endfunction()

# troupe_library(<folder> SOURCES <file>... LINKS <target>... [PRIVATE_LINKS <target>...])
# Makes troupe::<folder> out of the folder's sources. LINKS mirrors who may include whom.
function(troupe_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(troupe_${folder} ${arg_SOURCES})  # static, or shared where BUILD_SHARED_LIBS says so
  add_library(troupe::${folder} ALIAS troupe_${folder})
  set_target_properties(troupe_${folder} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON
                                                  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                                  DEFINE_SYMBOL "" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  target_include_directories(troupe_${folder} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/troupe>
                                                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  troupe_not_exported(private_links ${arg_PRIVATE_LINKS})
  target_link_libraries(troupe_${folder} PUBLIC ${arg_LINKS} PRIVATE ${private_links})
  troupe_compile_options(troupe_${folder})
  troupe_compile_in_groups(troupe_${folder})
  if(NOT BUILD_SHARED_LIBS)  # a program keeps the functions that it can reach
    target_compile_options(troupe_${folder} PRIVATE -ffunction-sections -fdata-sections)
    target_link_options(troupe_${folder} INTERFACE LINKER:--gc-sections)
  endif()
  set_property(GLOBAL APPEND PROPERTY TROUPE_LIBRARIES troupe_${folder})
endfunction()

# troupe_program(<name> SOURCES <file>... LINKS <target>...)
# An executable in bin/ of the build folder, which is first in the PATH of `./dev demo`. Built by target `programs`; those of
# samples/NAME also by target `sample_NAME_programs`.
function(troupe_program name)
  troupe_executable(${name} bin programs ${ARGN})
  target_link_libraries(${name} PRIVATE troupe::passive_waits)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  list(GET arg_SOURCES 0 first)
  get_filename_component(folder "${first}" DIRECTORY)
  if(folder AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/" AND CMAKE_CURRENT_SOURCE_DIR STREQUAL "${PROJECT_SOURCE_DIR}/samples")
    if(NOT TARGET sample_${folder}_programs)
      add_custom_target(sample_${folder}_programs)
    endif()
    add_dependencies(sample_${folder}_programs ${name})
  endif()
endfunction()

# troupe_benchmark(<name> SOURCES <file>... LINKS <target>...)
# An executable in bench/ of the build folder, for `./dev bench <name>`. Built by target `benchmarks`.
function(troupe_benchmark name)
  troupe_executable(${name}_benchmark bench benchmarks ${ARGN})
  set_target_properties(${name}_benchmark PROPERTIES OUTPUT_NAME ${name})
endfunction()

function(troupe_executable name folder group)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  troupe_compile_options(${name})
  troupe_use_troupe_h(${name})
  if(NOT TARGET ${group})
    add_custom_target(${group})
  endif()
  add_dependencies(${group} ${name})
endfunction()

# troupe_test(<folder> SOURCES <file>_test.cc... LINKS <target>... [TIMEOUT <seconds>])
# One Boost.Test executable per folder, run by CTest as <folder>; a test that hangs is ended after 30 s.
function(troupe_test folder)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 30)
  endif()
  add_executable(${folder}_test ${arg_SOURCES})
  target_link_libraries(${folder}_test PRIVATE ${arg_LINKS} troupe_test_main)
  target_compile_definitions(${folder}_test PRIVATE TROUPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  troupe_compile_options(${folder}_test)
  troupe_compile_in_groups(${folder}_test TEST)
  troupe_suite(${folder} ${arg_TIMEOUT} ${folder}_test --report_level=short)
endfunction()

# troupe_suite(<name> <timeout> <command>...)
# A CTest test that runs a Boost.Test executable and leaves test_results/<name> for the acceptance table.
function(troupe_suite name timeout)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")  # explorations of millions of states take ten times as long
    math(EXPR timeout "10 * ${timeout}")
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/test_results")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS suite
    # OpenMP waits as in processes of `troupe up`: what spins beside another suite takes four times as long.
    ENVIRONMENT_MODIFICATION "TROUPE_TEST_RESULTS=set:${PROJECT_BINARY_DIR}/test_results/${name};OMP_WAIT_POLICY=set:passive")
  set_property(GLOBAL APPEND PROPERTY TROUPE_SUITES ${name})
endfunction()

# troupe_chaos(SUITES <name>_test.cc... SOURCES <file>... LINKS <target>... TIMEOUT <seconds>)
# One Boost.Test executable, each of its suites a CTest test chaos_<name> that runs alone, under the label `chaos`. `./dev chaos` counts what they leave in chaos_results/<name>.
function(troupe_chaos)
  cmake_parse_arguments(arg "" "TIMEOUT" "SUITES;SOURCES;LINKS" ${ARGN})
  add_executable(chaos_test EXCLUDE_FROM_ALL ${arg_SUITES} ${arg_SOURCES})
  target_link_libraries(chaos_test PRIVATE ${arg_LINKS} troupe_test_main)
  troupe_compile_options(chaos_test)
  troupe_compile_in_groups(chaos_test TEST)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/chaos_results")
  foreach(file ${arg_SUITES})
    string(REPLACE "_test.cc" "" suite ${file})
    add_test(NAME chaos_${suite} COMMAND chaos_test --run_test=${suite} --report_level=short)
    set_tests_properties(chaos_${suite} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS chaos RUN_SERIAL ON
      ENVIRONMENT_MODIFICATION "TROUPE_TEST_RESULTS=set:${PROJECT_BINARY_DIR}/chaos_results/${suite};OMP_WAIT_POLICY=set:passive")
  endforeach()
endfunction()

# troupe_attacks(<name>)
# A CTest test of the suite's cases that attack a node: `ctest -L attack` runs them alone.
function(troupe_attacks name)
  add_test(NAME attack_${name} COMMAND ${name}_test --run_test=@attack --report_level=short)
  set_tests_properties(attack_${name} PROPERTIES TIMEOUT 60 LABELS attack)
endfunction()
