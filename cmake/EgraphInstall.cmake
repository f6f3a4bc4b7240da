# cmake --install: headers below include/egraph, both libraries, the command with its manual pages and
# completion, a pkg-config file and a CMake package with the targets egraph::egraph (shared) and egraph::static. The package files are
# written by hand instead of exported, so that they carry no path of the machine they were built on.
include(CMakePackageConfigHelpers)

set(egraph_private_libraries glpk z protobuf-c sqlite3 dnnl ${CMAKE_DL_LIBS})

install(FILES include/egraph.h include/egraph_extract.h include/egraph_arrays.h include/egraph_plan.h include/egraph_optimize.h
              include/egraph_simulate.h include/egraph_generate.h include/egraph_refine.h include/egraph_terms.h include/egraph_walk.h include/egraph_search.def
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/egraph)
install(TARGETS egraph_static egraph_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS egraph_command check_certificate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/man/" DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/bash-completion" "${CMAKE_BINARY_DIR}/share/zsh"
        DESTINATION ${CMAKE_INSTALL_DATADIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
foreach(document GLOSSARY.md machines/README.md rewrites/README.md rewrites/CLASSES.md rewrites/rules/LANGUAGE.md
                 docs/optimize.md docs/plan.md docs/rules.md docs/terms.md docs/compare.md) # README and headers cite them
  get_filename_component(folder ${document} DIRECTORY)
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
file(GLOB schemas CONFIGURE_DEPENDS schema/*.json)
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/egraph/schema)

list(TRANSFORM egraph_private_libraries PREPEND "-l" OUTPUT_VARIABLE private_flags)
list(JOIN private_flags " " EGRAPH_PRIVATE_FLAGS)
configure_file(cmake/egraph.pc.in "${CMAKE_BINARY_DIR}/egraph.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/egraph.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/egraph)
configure_package_config_file(cmake/egraphConfig.cmake.in
  "${CMAKE_BINARY_DIR}/egraphConfig.cmake" INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/egraphConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/egraphConfig.cmake" "${CMAKE_BINARY_DIR}/egraphConfigVersion.cmake"
        DESTINATION ${package_folder})
