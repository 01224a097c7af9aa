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
set(roots troupe.h actors/pipeline.h tensor/format.h autograd/format.h node/environment.h node/log.h node/port.h node/sim/world.h)")
install(SCRIPT cmake/install_headers.cmake)
install(FILES tensor/passive_waits.cc DESTINATION share/troupe)

write_basic_package_version_file(troupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/troupeConfig.cmake cmake/FindTroupeDependencies.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/troupeConfigVersion.cmake
        DESTINATION ${package_dir})

# What is installed, without tests and samples: `./dev install`.
add_custom_target(installed DEPENDS ${libraries} ${port_libraries} troupe)

# pkg-config: all libraries, static ones in a group, and what they stand on. Shared ones name that themselves, but for what
# the headers call.
set(troupe_pc_libraries)
foreach(library IN LISTS libraries port_libraries)
  string(APPEND troupe_pc_libraries " -l${library}")
endforeach()
if(BUILD_SHARED_LIBS)
  set(troupe_pc_links "${troupe_pc_libraries} -lfmt -lpthread")
else()
  set(troupe_pc_dependencies "-lcaf_core -lzmq -lsodium -lopenblas -ldnnl -lzip -lsleef -lgloo -lspdlog -lfmt -lgomp -lpthread -ldl -lrt")
  if(TARGET CUDA::cudart_static)
    get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
    string(PREPEND troupe_pc_dependencies "${cudart} ")
  endif()
  set(troupe_pc_links " -Wl,--gc-sections -Wl,--start-group${troupe_pc_libraries} -Wl,--end-group ${troupe_pc_dependencies}")
endif()
include(TroupePkgConfig)
troupe_write_pkg_config(${CMAKE_CURRENT_BINARY_DIR}/troupe.pc)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/troupe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
