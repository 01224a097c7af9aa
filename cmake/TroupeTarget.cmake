# What every target of Troupe has in common; nothing is set globally.

set(TROUPE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion)

function(troupe_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${TROUPE_WARNINGS} $<$<BOOL:${TROUPE_WERROR}>:-Werror>)
endfunction()

# troupe_library(<folder> SOURCES <file>... LINKS <target>... [PRIVATE_LINKS <target>...])
# Makes troupe::<folder> out of the folder's sources. LINKS mirrors who may include whom.
function(troupe_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(troupe_${folder} STATIC ${arg_SOURCES})
  add_library(troupe::${folder} ALIAS troupe_${folder})
  set_target_properties(troupe_${folder} PROPERTIES EXPORT_NAME ${folder} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(troupe_${folder} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                     $<INSTALL_INTERFACE:include/troupe>)
  target_link_libraries(troupe_${folder} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  troupe_compile_options(troupe_${folder})
endfunction()

# troupe_test(<folder> SOURCES <file>_test.cc... LINKS <target>...)
# One Boost.Test executable per folder, run by CTest as <folder>; a test that hangs is ended after 30 s.
function(troupe_test folder)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 30)
  endif()
  add_executable(${folder}_test ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/test_main.cc)
  target_link_libraries(${folder}_test PRIVATE ${arg_LINKS} Boost::unit_test_framework)
  target_compile_definitions(${folder}_test PRIVATE BOOST_TEST_DYN_LINK TROUPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  troupe_compile_options(${folder}_test)
  add_test(NAME ${folder} COMMAND ${folder}_test --log_level=test_suite --report_level=short)
  set_tests_properties(${folder} PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
