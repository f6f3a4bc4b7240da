# Checks of the source tree as tests (label lint), and of the installed package (label install).
set(tools "${CMAKE_SOURCE_DIR}/tools")
find_program(cxx_compiler NAMES c++ g++ clang++)
if(NOT cxx_compiler)
  set(cxx_compiler "")
endif()
add_test(NAME lint_layers COMMAND ${tools}/check_layers.sh)
add_test(NAME lint_callers COMMAND ${tools}/check_callers.sh)
add_test(NAME lint_symbols COMMAND ${tools}/check_symbols.py ${CMAKE_BINARY_DIR})
add_test(NAME lint_style COMMAND ${tools}/check_style.sh)
add_test(NAME lint_headers COMMAND ${tools}/check_headers.sh ${CMAKE_C_COMPILER} "${cxx_compiler}"
  ${CMAKE_BINARY_DIR})
add_test(NAME lint_format COMMAND ${tools}/format.sh --check)
set_tests_properties(lint_layers lint_callers lint_symbols lint_style lint_headers lint_format PROPERTIES
  LABELS lint SKIP_RETURN_CODE 77)

# A program of somebody else is built without sanitizers, so the library must be, too.
if(NOT EGRAPH_SANITIZE AND NOT EGRAPH_COVERAGE AND NOT EGRAPH_FUZZ)
  add_test(NAME install_package
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/install/check_install.sh ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(install_package PROPERTIES LABELS install TIMEOUT 300)
endif()
