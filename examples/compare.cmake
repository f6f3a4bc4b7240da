# Runs PROGRAM with ARGUMENTS and compares its standard output with the file EXPECTED, which
# EG_TEST_UPDATE=1 rewrites.
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS} OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "exit status ${result}\n${output}")
endif()
if("$ENV{EG_TEST_UPDATE}" STREQUAL "1")
  file(WRITE "${EXPECTED}" "${output}")
endif()
file(READ "${EXPECTED}" expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "expected:\n${expected}\ngot:\n${output}")
endif()
