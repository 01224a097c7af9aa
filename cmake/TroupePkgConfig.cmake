# troupe_write_pkg_config(<file>)
# Writes the file for pkg-config that is installed in ${CMAKE_INSTALL_LIBDIR}/pkgconfig, however deep that is below the prefix.
function(troupe_write_pkg_config file)
  file(RELATIVE_PATH prefix_from_pc "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/troupe.pc.in" "${file}" @ONLY)
endfunction()
