# eg_embed(<target> <folder> <suffix|...> <header> <name>): the files of a folder with these suffixes become
# part of the target, as the header declares them (cmake/EmbedFiles.cmake).
function(eg_embed target folder kinds header list)
  get_filename_component(stem ${header} NAME_WE)
  string(REPLACE "|" ";${CMAKE_SOURCE_DIR}/${folder}/*." patterns "${CMAKE_SOURCE_DIR}/${folder}/*.${kinds}")
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  set(source "${CMAKE_BINARY_DIR}/generated/${stem}.c")
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/generated"
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DDIR=${CMAKE_SOURCE_DIR}/${folder} -DKINDS=${kinds}
            -DHEADER=${header} -DLIST=${list} -P "${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    DEPENDS ${files} "${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    COMMENT "Embedding ${folder}" VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
