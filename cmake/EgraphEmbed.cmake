# eg_embed(<target> <folder> <suffix> <header> <name>): the files *.<suffix> of a folder become part of the
# target, as the header declares them (cmake/EmbedFiles.cmake).
function(eg_embed target folder kind header list)
  get_filename_component(stem ${header} NAME_WE)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.${kind}")
  set(source "${CMAKE_BINARY_DIR}/generated/${stem}.c")
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/generated"
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DDIR=${CMAKE_SOURCE_DIR}/${folder} -DKIND=${kind}
            -DHEADER=${header} -DLIST=${list} -P "${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    DEPENDS ${files} "${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    COMMENT "Embedding ${folder}/*.${kind}" VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
