# cmake -D build=<build folder> -D work=<folder of ours> -D compiler=<c++> -D flags=<compiler flags> -P install_test.cmake
# Nothing of the source tree may be needed: the consumer sees the installed prefix only.
set(source ${CMAKE_CURRENT_LIST_DIR}/consumer)
file(REMOVE_RECURSE ${work}/prefix ${work}/consumer)

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
run(${CMAKE_COMMAND} -S ${source} -B ${work}/consumer -G Ninja -D CMAKE_PREFIX_PATH=${work}/prefix
    -D CMAKE_CXX_COMPILER=${compiler} -D "CMAKE_CXX_FLAGS=${flags}")
run(${CMAKE_COMMAND} --build ${work}/consumer)
# Its results are what it prints; the log, where it warns that it ends before the other node, is on stderr.
execute_process(COMMAND ${work}/consumer/consumer OUTPUT_VARIABLE results ERROR_VARIABLE log RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT results STREQUAL "14\n32\n")
  message(FATAL_ERROR "the consumer ended with status ${status} and printed: ${results}${log}")
endif()
run(${work}/prefix/bin/troupe --version)
message("the consumer printed 14 and 32; troupe --version: ${output}")
