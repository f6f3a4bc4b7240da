# Third-party libraries as interface targets. find_library where a package has no usable config
# (GLPK has none; oneDNN's asks for OpenCL headers). Libraries elsewhere: -DCMAKE_PREFIX_PATH=FOLDER.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# eg_header_version(<variable> <file> <macros>): the values of version macros, with dots between them.
function(eg_header_version out file)
  set(version "")
  foreach(macro IN LISTS ARGN)
    set(pattern "^#[ \t]*define[ \t]+${macro}[ \t]+\"?([0-9.]+)\"?.*")
    file(STRINGS "${file}" line REGEX "${pattern}" LIMIT_COUNT 1)
    string(REGEX REPLACE "${pattern}" "\\1" value "${line}")
    list(APPEND version "${value}")
  endforeach()
  list(JOIN version "." version)
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# eg_dependency_library(<name> <header> <library> <package> [VERSIONS <least> <below> HEADER <file> MACROS <macros>]):
# with VERSIONS, the library is refused unless its version is least <= version < below. What is called here is in
# the least one; Debian 12's and 13's are tested.
function(eg_dependency_library name header library package)
  cmake_parse_arguments(ARG "" "HEADER" "VERSIONS;MACROS" ${ARGN})
  find_path(${name}_include ${header})
  find_library(${name}_library ${library})
  if(NOT ${name}_include OR NOT ${name}_library)
    message(FATAL_ERROR "${library} not found: apt-get install ${package}, or name the folder where it is: "
                        "-DCMAKE_PREFIX_PATH=FOLDER")
  endif()
  if(ARG_VERSIONS)
    list(GET ARG_VERSIONS 0 least)
    list(GET ARG_VERSIONS 1 below)
    eg_header_version(version "${${name}_include}/${ARG_HEADER}" ${ARG_MACROS})
    if(NOT version OR version VERSION_LESS least OR NOT version VERSION_LESS below)
      message(FATAL_ERROR
        "lib${library} '${version}' (${${name}_include}/${ARG_HEADER}) is not known here; versions from ${least} to "
        "below ${below} are. Install one of these (apt-get install ${package} on Debian 12 and 13, Ubuntu 24.04) "
        "and name its folder when it is not the system's: -DCMAKE_PREFIX_PATH=FOLDER in a build folder that is new")
    endif()
    set(egraph_${name}_version "${version}" PARENT_SCOPE)
  endif()
  add_library(egraph_dep_${name} INTERFACE)
  target_include_directories(egraph_dep_${name} SYSTEM INTERFACE ${${name}_include})
  target_link_libraries(egraph_dep_${name} INTERFACE ${${name}_library})
endfunction()

eg_dependency_library(zlib zlib.h z zlib1g-dev)
eg_dependency_library(protobuf protobuf-c/protobuf-c.h protobuf-c libprotobuf-c-dev
  VERSIONS 1.3 2 HEADER protobuf-c/protobuf-c.h MACROS PROTOBUF_C_VERSION)
eg_dependency_library(sqlite sqlite3.h sqlite3 libsqlite3-dev
  VERSIONS 3.8.2 4 HEADER sqlite3.h MACROS SQLITE_VERSION)
eg_dependency_library(glpk glpk.h glpk libglpk-dev
  VERSIONS 4.65 6 HEADER glpk.h MACROS GLP_MAJOR_VERSION GLP_MINOR_VERSION)
# 2.6: softmax of two tensors, pooling with dilations.
eg_dependency_library(dnnl dnnl.h dnnl libdnnl-dev
  VERSIONS 2.6 4 HEADER oneapi/dnnl/dnnl_version.h MACROS DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH)
message(STATUS "oneDNN ${egraph_dnnl_version}: ${dnnl_library}")
find_path(uthash_include uthash.h)
if(NOT uthash_include)
  message(FATAL_ERROR "uthash.h not found: apt-get install uthash-dev")
endif()

# Optional: ranks in several processes.
option(EGRAPH_MPI "Build the channel over MPI when MPI is found" ON)
set(EGRAPH_HAVE_MPI OFF)
if(EGRAPH_MPI)
  find_package(MPI 3.0 COMPONENTS C QUIET)
  if(MPI_C_FOUND)
    set(EGRAPH_HAVE_MPI ON)
  endif()
endif()
add_library(egraph_dep_mpi INTERFACE)
if(EGRAPH_HAVE_MPI)
  target_include_directories(egraph_dep_mpi SYSTEM INTERFACE ${MPI_C_INCLUDE_DIRS})
  target_link_libraries(egraph_dep_mpi INTERFACE ${MPI_C_LIBRARIES})
else()
  message(STATUS "No channel over MPI in this build: it needs MPI 3.0 (apt-get install libopenmpi-dev)")
endif()
