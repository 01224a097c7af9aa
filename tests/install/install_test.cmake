# cmake -D build=<build folder> -D work=<folder of ours> -D bridge=<samples/bridge/bridge.cc> -D compiler=<c++>
#       -D flags=<compiler flags> -P install_test.cmake
# The consumers see only the installed prefix: they must need nothing of the source tree.
file(REMOVE_RECURSE ${work}/prefix ${work}/by_hand ${work}/pc ${work}/consumer ${work}/bridge ${work}/refused)

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message("${output}")
    message(FATAL_ERROR "status ${status}: ${command}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix)

# build_consumer(<folder beside this file> <option>...)
function(build_consumer name)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${name} -B ${work}/${name} -G Ninja -D CMAKE_PREFIX_PATH=${work}/prefix
      -D CMAKE_CXX_COMPILER=${compiler} -D "CMAKE_CXX_FLAGS=${flags}" ${ARGN})
  run(${CMAKE_COMMAND} --build ${work}/${name})
endfunction()

build_consumer(consumer)
# Its results are on stdout. Its log, which warns that it ends before the other node, is on stderr.
execute_process(COMMAND ${work}/consumer/consumer OUTPUT_VARIABLE results ERROR_VARIABLE log RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT results STREQUAL "14\n32\n")
  message(FATAL_ERROR "the consumer ended with status ${status} and printed: ${results}${log}")
endif()
# Builds the same program with the compiler only, and with the folder's name in its include.
file(READ ${CMAKE_CURRENT_LIST_DIR}/consumer/main.cc program)
string(REPLACE "#include \"troupe.h\"" "#include <troupe/troupe.h>" program "${program}")
file(WRITE ${work}/by_hand/main.cc "${program}")
file(GLOB_RECURSE pc_file ${work}/prefix/*/troupe.pc)
get_filename_component(pc_folder "${pc_file}" DIRECTORY)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} pkg-config --cflags --libs troupe)
separate_arguments(by_hand UNIX_COMMAND "${flags} ${output}")
run(${compiler} ${work}/by_hand/main.cc -o ${work}/by_hand/consumer ${by_hand})
get_filename_component(library_folder "${pc_folder}" DIRECTORY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${library_folder} ${work}/by_hand/consumer
                OUTPUT_VARIABLE results ERROR_VARIABLE log RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT results STREQUAL "14\n32\n")
  message(FATAL_ERROR "the consumer built with pkg-config ended with status ${status} and printed: ${results}${log}")
endif()
# The same file where libraries lie elsewhere: its paths begin at its own folder.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/TroupePkgConfig.cmake)
foreach(folder lib lib/x86_64-linux-gnu a/b/c)
  set(CMAKE_INSTALL_LIBDIR ${folder})
  set(CMAKE_INSTALL_INCLUDEDIR headers/of)
  troupe_write_pkg_config(${work}/pc/${folder}/pkgconfig/troupe.pc)
  foreach(variable_and_path libdir=${folder} includedir=headers/of)
    string(REPLACE "=" ";" variable_and_path ${variable_and_path})
    list(POP_FRONT variable_and_path variable path)
    run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${work}/pc/${folder}/pkgconfig pkg-config --variable=${variable} troupe)
    string(STRIP "${output}" output)
    get_filename_component(found "${output}" ABSOLUTE)
    if(NOT found STREQUAL "${work}/pc/${path}")
      message(FATAL_ERROR "in ${folder}, ${variable} of troupe.pc is ${output}, not ${work}/pc/${path}")
    endif()
  endforeach()
endforeach()
run(${work}/prefix/bin/troupe --version)
message("the consumer printed 14 and 32; troupe --version: ${output}")

# A bridge uses the raw port in C++17, without actors, tensors and their libraries. It is built as on a machine without the
# dependencies that the port does not link.
set(missing)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../../cmake/FindTroupeDependencies.cmake looks REGEX "^ *(find_dependency|troupe_find_library)\\(")
foreach(look IN LISTS looks)
  string(REGEX REPLACE "^[^(]*\\(([A-Za-z0-9_:]+).*" "\\1" name "${look}")
  string(MAKE_C_IDENTIFIER ${name} variable)
  if(name MATCHES "^(Threads|OpenMP|spdlog|fmt|ZeroMQ::zmq|sodium::sodium)$")
    continue()
  elseif(look MATCHES "find_dependency")
    list(APPEND missing -D CMAKE_DISABLE_FIND_PACKAGE_${name}=ON)
  else()
    list(APPEND missing -D ${variable}_LIBRARY=IGNORE)  # false, and not looked for again
  endif()
endforeach()

# refuse_bridge(<text of CMake> <option>...): CMake refuses to configure the bridge with these options.
function(refuse_bridge why)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/bridge -B ${work}/refused -G Ninja -D CMAKE_PREFIX_PATH=${work}/prefix
                          -D CMAKE_CXX_COMPILER=${compiler} -D "CMAKE_CXX_FLAGS=${flags}" ${ARGN}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "${why}")
    message(FATAL_ERROR "expected: ${why}. Status ${status}, CMake printed: ${output}")
  endif()
  file(REMOVE_RECURSE ${work}/refused)
endfunction()

# A request for all of troupe fails without them.
refuse_bridge("Could NOT find TroupeDependencies.*CAF__core_LIBRARY" -D bridge=${bridge} -D CAF__core_LIBRARY=IGNORE)
refuse_bridge("CMAKE_DISABLE_FIND_PACKAGE_tomlplusplus" -D bridge=${bridge} ${missing})
refuse_bridge("troupe has no component \"actors\": there is port" -D bridge=${bridge} "-D components=port\\;actors")
build_consumer(bridge -D bridge=${bridge} -D components=port ${missing})
run(${work}/bridge/bridge)
if(NOT output MATCHES "(^|\n)sum of 1 to 1000, by another process = 500500, by hand: 500500\n$")
  message(FATAL_ERROR "the bridge printed: ${output}")
endif()
# Without debug info, which is several times as large. The whole runtime is 25 MB, the raw port 1.5 MB.
run(${CMAKE_COMMAND} -E copy ${work}/bridge/bridge ${work}/bridge/stripped)
run(strip ${work}/bridge/stripped)
file(SIZE ${work}/bridge/bridge linked)
file(SIZE ${work}/bridge/stripped stripped)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${work}/bridge/bridge RESOLVED_DEPENDENCIES_VAR dependencies
     UNRESOLVED_DEPENDENCIES_VAR unresolved)
message("the bridge has ${linked} bytes, ${stripped} without debug info")
if(stripped GREATER 4000000 AND NOT flags MATCHES "sanitize")
  message(FATAL_ERROR "the bridge links ${stripped} bytes, at most 4000000")
endif()
if("${dependencies}" MATCHES "caf_core|dnnl|openblas|sleef|gloo")
  message(FATAL_ERROR "the bridge needs libraries of the runtime: ${dependencies}")
endif()
