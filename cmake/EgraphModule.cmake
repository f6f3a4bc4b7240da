# eg_module(<folder> DEPENDS <targets>): one static library eg_<folder> from every .c below it; rewrites/lab is a module of
# its own (eg_rewrites_lab).
# eg_flags(<target>): the warnings and instrumentation that every own target gets.

add_library(egraph_flags INTERFACE)
target_include_directories(egraph_flags INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
target_compile_options(egraph_flags INTERFACE
  -fvisibility=hidden -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wswitch-enum -Wvla)
# Nothing here reads errno after a math function, nor the floating-point flags of an expression in C. Flags are read in
# one place, exec/cpu/kernel_threads.c: "invalid operation", around kernels of oneDNN and around passes that raise it by
# feraiseexcept (a flag too many computes a node once more). Without these options the loops of the kernels could not
# become vector code.
target_compile_options(egraph_flags INTERFACE -fno-math-errno -fno-trapping-math)
target_compile_definitions(egraph_flags INTERFACE EG_CHECK_LEVEL=${EGRAPH_CHECK_LEVEL})
if(EGRAPH_WERROR)
  target_compile_options(egraph_flags INTERFACE -Werror)
endif()
if(EGRAPH_SANITIZE)
  target_compile_options(egraph_flags INTERFACE
    -fsanitize=${EGRAPH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # Instrumented calls hide from gcc that a value is set where its function succeeds.
    $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    # clang reports NULL + 0, which C2y defines and every compiler computes.
    $<$<C_COMPILER_ID:Clang>:-fno-sanitize=pointer-overflow>)
  target_link_options(egraph_flags INTERFACE -fsanitize=${EGRAPH_SANITIZE})
endif()
if(EGRAPH_COVERAGE)
  # Atomic: counts of threads that race come out negative, and gcovr stops.
  target_compile_options(egraph_flags INTERFACE --coverage -fprofile-update=atomic -O0)
  target_link_options(egraph_flags INTERFACE --coverage)
endif()
if(EGRAPH_FUZZ)
  target_compile_options(egraph_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(eg_module folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  string(REPLACE "/" "_" name "${folder}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.c")
  list(FILTER sources EXCLUDE REGEX "/exec/(cuda|mpi|nccl|plugin)/")
  if(NOT folder STREQUAL rewrites/lab)
    list(FILTER sources EXCLUDE REGEX "/rewrites/lab/")
  endif()
  add_library(eg_${name} STATIC ${sources})
  # Loops over polynomials take two thirds of the time where products and sums become one instruction, and sums and maxima
  # of rows are in the order of vectors (no runtime of OpenMP is needed for that).
  set_source_files_properties("${CMAKE_SOURCE_DIR}/exec/cpu/pointwise.c" PROPERTIES
    COMPILE_OPTIONS "-ffp-contract=fast;-fopenmp-simd;$<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>")
  # clang takes a quarter of an hour for these with checks of undefined behaviour, and seconds with those of addresses.
  set_source_files_properties("${CMAKE_SOURCE_DIR}/exec/cpu/tiles_avx2.c" "${CMAKE_SOURCE_DIR}/exec/cpu/tiles_avx512.c"
    PROPERTIES COMPILE_OPTIONS "$<$<C_COMPILER_ID:Clang>:-fno-sanitize=undefined>")
  if(EGRAPH_SANITIZE) # the library runs long; tests, which are compiled at -O0, take half of the time to compile at -O1
    target_compile_options(eg_${name} PRIVATE -O1)
  endif()
  set_target_properties(eg_${name} PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(eg_${name} PUBLIC ${ARG_DEPENDS} PRIVATE egraph_flags m)
  set_property(GLOBAL APPEND PROPERTY EG_MODULES eg_${name})
endfunction()
