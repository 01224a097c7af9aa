# cmake -D build=<build folder> -D work=<folder of ours> -D bridge=<samples/bridge/bridge.cc> -D compiler=<c++>
#       -D flags=<compiler flags> -D shared=<are the libraries shared?> [-D hello=<program hello of a release>] -P install_test.cmake
# The consumers see only the installed prefix: they must need nothing of the source tree.
file(REMOVE_RECURSE ${work}/prefix ${work}/by_hand ${work}/pc ${work}/consumer ${work}/bridge ${work}/refused ${work}/stripped)

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

# Beside the standard library the headers include cereal and fmt, which the package looks for.
file(GLOB_RECURSE headers ${work}/prefix/include/*.h)
if(NOT headers)
  message(FATAL_ERROR "no headers are installed")
endif()
foreach(header IN LISTS headers)
  file(STRINGS ${header} foreign REGEX "^ *# *include *<[^>]*[./]")
  list(FILTER foreign EXCLUDE REGEX "<(cereal|fmt)/")
  if(foreign)
    message(FATAL_ERROR "${header} has ${foreign}")
  endif()
endforeach()

# build_consumer(<folder beside this file> <option>...)
function(build_consumer name)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${name} -B ${work}/${name} -G Ninja -D CMAKE_PREFIX_PATH=${work}/prefix
      -D CMAKE_CXX_COMPILER=${compiler} -D "CMAKE_CXX_FLAGS=${flags}" ${ARGN})
  run(${CMAKE_COMMAND} --build ${work}/${name})
endfunction()

# machine_with(<variable> <expression>): sets <variable> to CMake's options as of a machine that has, of what Troupe's build looks
# for, only what targets of that name need for linking: no header of libraries that ship no package.
function(machine_with variable kept)
  set(options)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../../cmake/FindTroupeDependencies.cmake looks REGEX "^ *troupe_find_[a-z]+\\(")
  foreach(look IN LISTS looks)
    if(NOT look MATCHES "^ *troupe_find_([a-z]+)\\(([A-Za-z0-9_:]+) [^ ]+ ([A-Za-z0-9_]+)")
      message(FATAL_ERROR "not understood: ${look}")
    endif()
    set(kind ${CMAKE_MATCH_1})
    set(target ${CMAKE_MATCH_2})
    set(package ${CMAKE_MATCH_3})
    string(MAKE_C_IDENTIFIER ${target} id)
    if(kind STREQUAL "library")
      list(APPEND options -D ${id}_INCLUDE_DIR=IGNORE)  # false, and not looked for again
    endif()
    if(target MATCHES "^(${kept})::")
      continue()
    elseif(kind STREQUAL "library")
      list(APPEND options -D ${id}_LIBRARY=IGNORE)
    else()
      list(APPEND options -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
    endif()
  endforeach()
  set(${variable} ${options} PARENT_SCOPE)
endfunction()

# Shared libraries bring what they link: their users have what the headers include. Static ones are linked with it.
if(shared)
  machine_with(machine "cereal|fmt")
  machine_with(port_machine "none")
else()
  set(port_links "fmt|spdlog|OpenMP|CUDA|ZeroMQ|sodium")
  machine_with(machine "cereal|tomlplusplus|BLAS|DNNL|libzip|sleef|CAF|gloo|${port_links}")
  machine_with(port_machine "${port_links}")
endif()

build_consumer(consumer ${machine})
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
run(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} pkg-config --variable=passive_waits troupe)
string(STRIP "${output}" passive_waits)
run(${compiler} ${work}/by_hand/main.cc ${passive_waits} -o ${work}/by_hand/consumer ${by_hand})
get_filename_component(library_folder "${pc_folder}" DIRECTORY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${library_folder} --unset=OMP_WAIT_POLICY OMP_DISPLAY_ENV=verbose
                        ${work}/by_hand/consumer
                OUTPUT_VARIABLE results ERROR_VARIABLE log RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT results STREQUAL "14\n32\n" OR NOT log MATCHES "GOMP_SPINCOUNT = '0'")
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

# A request for all of troupe fails where only the port's libraries are, and says what is missing.
set(packages "libcereal-dev")
if(NOT shared)
  set(packages "libopenblas-dev .*libcaf-dev .*libcereal-dev libtomlplusplus-dev")
endif()
refuse_bridge("Could NOT find TroupeDependencies.*cereal_FOUND.*On Debian: apt-get install .*${packages}" -D bridge=${bridge} ${port_machine})
refuse_bridge("troupe has no component \"actors\": there is port" -D bridge=${bridge} "-D components=port\\;actors")
# A bridge uses the raw port in C++17, without actors, tensors and their libraries.
build_consumer(bridge -D bridge=${bridge} -D components=port ${port_machine})
run(${work}/bridge/bridge)
if(NOT output MATCHES "(^|\n)sum of 1 to 1000, by another process = 500500, by hand: 500500\n$")
  message(FATAL_ERROR "the bridge printed: ${output}")
endif()

# check_size(<program> <bytes>): the program has at most these, without debug info, which is several times as large.
function(check_size program most)
  get_filename_component(name ${program} NAME)
  file(MAKE_DIRECTORY ${work}/stripped)
  run(strip -o ${work}/stripped/${name} ${program})
  file(SIZE ${program} linked)
  file(SIZE ${work}/stripped/${name} stripped)
  message("${name} has ${linked} bytes, ${stripped} without debug info")
  if(stripped GREATER most AND NOT flags MATCHES "sanitize")
    message(FATAL_ERROR "${name} links ${stripped} bytes, at most ${most}")
  endif()
endfunction()

check_size(${work}/bridge/bridge 4000000)  # the raw port has 1.5 MB
if(hello)
  check_size(${hello} 18000000)  # with the whole runtime 14.4 MB, of which kernels for one kind of GPU and for later ones have 2.1
endif()
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${work}/bridge/bridge RESOLVED_DEPENDENCIES_VAR dependencies
     UNRESOLVED_DEPENDENCIES_VAR unresolved)
if("${dependencies}" MATCHES "caf_core|dnnl|openblas|sleef|gloo")
  message(FATAL_ERROR "the bridge needs libraries of the runtime: ${dependencies}")
endif()
