# `cmake --install`: libraries, headers under include/troupe (that directory is exported, so `#include "tensor/ops.h"`
# reads the same here and there), programs, and the package that `find_package(troupe)` reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
# The raw port is a component of the package: its targets stand in a file of their own.
set(port_libraries troupe_port troupe_links troupe_addresses troupe_sessions troupe_frames troupe_memory)
get_property(libraries GLOBAL PROPERTY TROUPE_LIBRARIES)
list(REMOVE_ITEM libraries ${port_libraries})
install(TARGETS ${port_libraries} EXPORT troupePortTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${libraries} troupe_troupe EXPORT troupeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS troupe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT troupePortTargets NAMESPACE troupe:: DESTINATION ${package_dir})
install(EXPORT troupeTargets NAMESPACE troupe:: DESTINATION ${package_dir})

foreach(folder tensor autograd optim messages actors node)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES troupe.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe)

write_basic_package_version_file(troupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/troupeConfig.cmake cmake/FindTroupeDependencies.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/troupeConfigVersion.cmake
        DESTINATION ${package_dir})
