# eg_plugin(<name> SOURCES <files> LINK <libraries>): a shared object that the library loads when a run asks
# for it (exec/plugins.c), so that the library itself needs no vendor's libraries. It shares no symbols with
# the library; what it needs of the lower layers it links for itself.
file(GLOB plugin_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/exec/plugin/*.c")
file(WRITE "${CMAKE_BINARY_DIR}/plugin.map" "{ global: eg_*_plugin; local: *; };\n")

function(eg_plugin name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} MODULE ${ARG_SOURCES} ${plugin_sources})
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINKER_LANGUAGE C)
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE eg_pcg eg_ops eg_base ${ARG_LINK} m)
  target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/plugin.map -Wl,--gc-sections)
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}) # found beside the library
endfunction()

# The channel between processes.
if(EGRAPH_HAVE_MPI)
  eg_plugin(egraph_mpi SOURCES exec/mpi/mpi_channel.c exec/channel.c
            LINK egraph_dep_mpi egraph_flags)
endif()
