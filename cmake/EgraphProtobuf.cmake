# eg_protobuf(<target> <folder>/<name>.proto): compiles the messages with protoc-c into the target.
# The header is "<folder>/<name>.pb-c.h", included from the build folder; generated code gets no warnings.
find_program(protoc_c protoc-c)
if(NOT protoc_c)
  message(FATAL_ERROR "protoc-c not found: apt-get install protobuf-c-compiler")
endif()

function(eg_protobuf target proto)
  get_filename_component(folder ${proto} DIRECTORY)
  get_filename_component(name ${proto} NAME_WE)
  set(source "${CMAKE_SOURCE_DIR}/${folder}")
  set(output "${CMAKE_BINARY_DIR}/${folder}")
  file(MAKE_DIRECTORY ${output})
  add_custom_command(OUTPUT ${output}/${name}.pb-c.c ${output}/${name}.pb-c.h
    COMMAND ${protoc_c} -I${source} --c_out=${output} ${source}/${name}.proto
    DEPENDS ${source}/${name}.proto VERBATIM)
  target_sources(${target} PRIVATE ${output}/${name}.pb-c.c ${output}/${name}.pb-c.h)
  set_source_files_properties(${output}/${name}.pb-c.c PROPERTIES COMPILE_OPTIONS -w)
endfunction()
