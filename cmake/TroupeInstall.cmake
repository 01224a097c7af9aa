# `cmake --install`: libraries, public headers under include/troupe, programs, the package that `find_package(troupe)` reads, and a file
# for pkg-config. Both include/ and include/troupe are exported: `#include <troupe/troupe.h>` and `#include "tensor/ops.h"` work.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
# The raw port is a component of the package: its targets stand in a file of their own.
set(port_libraries troupe_port troupe_links troupe_keys troupe_addresses troupe_sessions troupe_frames troupe_memory)
get_property(libraries GLOBAL PROPERTY TROUPE_LIBRARIES)
list(REMOVE_ITEM libraries ${port_libraries})
# Installed libraries and programs find each other wherever the prefix is moved to.
set_target_properties(${libraries} ${port_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
file(RELATIVE_PATH libraries_from_programs ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(troupe PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries_from_programs}")
install(TARGETS ${port_libraries} EXPORT troupePortTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${libraries} troupe_troupe troupe_passive_waits EXPORT troupeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS troupe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT troupePortTargets NAMESPACE troupe:: DESTINATION ${package_dir})
install(EXPORT troupeTargets NAMESPACE troupe:: DESTINATION ${package_dir})

# What users include first; tests/tidy_reach.cc lists the internal headers and the libraries that these may reach.
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")
set(destination \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/troupe\")
set(roots troupe.h actors/pipeline.h tensor/format.h autograd/format.h node/environment.h node/log.h node/port.h node/sim/faulty_link.h node/sim/world.h)")
install(SCRIPT cmake/install_headers.cmake)
install(FILES tensor/passive_waits.cc DESTINATION share/troupe)

# troupe_named_targets(<variable> <library>...): sets <variable> to the targets of packages that installed targets of these
# libraries name.
function(troupe_named_targets variable)
  set(named)
  foreach(library ${ARGN})
    get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
    string(REGEX REPLACE "[$]<BUILD_INTERFACE:[^>]*>" "" links "${links}")
    string(REGEX MATCHALL "[A-Za-z0-9_]+::[A-Za-z0-9_]+" links "${links}")
    list(APPEND named ${links})
  endforeach()
  list(FILTER named EXCLUDE REGEX "^troupe::")
  list(REMOVE_DUPLICATES named)
  set(${variable} "${named}" PARENT_SCOPE)
endfunction()

troupe_named_targets(named_targets ${libraries} ${port_libraries})
troupe_named_targets(port_named_targets ${port_libraries})
configure_file(cmake/troupeConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/troupeConfig.cmake @ONLY)
write_basic_package_version_file(troupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/FindTroupeDependencies.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/troupeConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/troupeConfigVersion.cmake
        DESTINATION ${package_dir})

# What is installed, without tests and samples: `./dev install`.
add_custom_target(installed DEPENDS ${libraries} ${port_libraries} troupe)

# pkg-config: all libraries, static ones in a group, and what they name beside fmt, which has a file of its own. No user
# asks for `--static`: the libraries that static ones call are linked either way.
set(troupe_pc_links)
foreach(library IN LISTS libraries port_libraries)
  string(APPEND troupe_pc_links " -l${library}")
endforeach()
if(NOT BUILD_SHARED_LIBS)
  set(troupe_pc_links " -Wl,--gc-sections -Wl,--start-group${troupe_pc_links} -Wl,--end-group")
endif()
foreach(target IN LISTS named_targets)
  get_target_property(type ${target} TYPE)
  if(target STREQUAL "OpenMP::OpenMP_CXX")
    string(APPEND troupe_pc_links " -lgomp")
  elseif(NOT type STREQUAL "INTERFACE_LIBRARY" AND NOT target STREQUAL "fmt::fmt")
    get_target_property(file ${target} LOCATION)
    get_filename_component(folder "${file}" DIRECTORY)
    if(folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      string(REGEX REPLACE "^.*/lib([^./]+)[^/]*$" "-l\\1" file "${file}")
    endif()
    string(APPEND troupe_pc_links " ${file}")
  endif()
endforeach()
string(APPEND troupe_pc_links " -lpthread")
if(NOT BUILD_SHARED_LIBS)
  string(APPEND troupe_pc_links " -ldl -lrt")
endif()
include(TroupePkgConfig)
troupe_write_pkg_config(${CMAKE_CURRENT_BINARY_DIR}/troupe.pc)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/troupe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
