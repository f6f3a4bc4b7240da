# The rule files shipped with the library become part of eg_rewrites.
file(GLOB rule_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/rewrites/rules/*.rules")
set(builtin_rules "${CMAKE_BINARY_DIR}/generated/builtin_rules.c")
add_custom_command(
  OUTPUT ${builtin_rules}
  COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/generated"
  COMMAND ${CMAKE_COMMAND} -DOUT=${builtin_rules} -DDIR=${CMAKE_SOURCE_DIR}/rewrites/rules
          -P "${CMAKE_SOURCE_DIR}/cmake/EmbedRules.cmake"
  DEPENDS ${rule_files} "${CMAKE_SOURCE_DIR}/cmake/EmbedRules.cmake"
  COMMENT "Embedding rule files" VERBATIM)
target_sources(eg_rewrites PRIVATE ${builtin_rules})
